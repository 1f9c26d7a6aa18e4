package pod

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/secrets"
	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// maxViolations limits the number of reported violations of one template.
const maxViolations = 50

// maxPath is longer than any path of fields in the API. A longer path contains names that users chose, and is shortened
// in violations.
const maxPath = 250

// fieldCheck checks JSON against the Go types of the API: the names of fields and the types and form of their values.
// It collects the violations in bad.
type fieldCheck struct {
	bad document.Violations
	// unsure holds the paths of objects that have an unknown field or could not be parsed. Such an object's missing
	// fields are not reported, because they may be the misspelt ones.
	unsure map[string]bool
}

// violate records a violation of the field at a path. It ignores a second violation of the same field, and all
// violations after maxViolations. It shows the value only if that is a string, a boolean or a number.
func (c *fieldCheck) violate(path string, value any, format string, args ...any) {
	if len(c.bad) >= maxViolations || c.hasViolation(path) {
		return
	}
	shown := ""
	switch v := value.(type) {
	case string:
		shown = v
	case bool, json.Number:
		shown = fmt.Sprint(v)
	}
	violation := document.Violate(path, shown, format, args...)
	if len(path) <= maxPath {
		violation.Field = path // Violate shortens even the paths of fields in the API
	}
	c.bad = append(c.bad, violation)
}

// hasViolation reports whether a violation of the field at a path is recorded.
func (c *fieldCheck) hasViolation(path string) bool {
	return slices.ContainsFunc(c.bad, func(v document.Violation) bool { return v.Field == path })
}

// checkValue checks the value at a path against a type, and returns the part of it that can be parsed as that type. A
// null stands for a missing value of any type, so it is no violation.
func (c *fieldCheck) checkValue(path string, value any, t reflect.Type) (good any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil {
		return nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		if !parsesAs(value, t) {
			c.violate(path, value, "is not a %s", typeText(t))
			return nil
		}
		return value
	}
	switch t.Kind() {
	case reflect.Struct:
		if given, ok := value.(map[string]any); ok {
			return c.checkFields(path, given, t)
		}
	case reflect.Map:
		if given, ok := value.(map[string]any); ok {
			return c.checkEntries(path, given, t.Elem())
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			break
		}
		if given, ok := value.([]any); ok {
			return c.checkList(path, given, t.Elem())
		}
	default:
		if text, ok := value.(string); ok && secrets.HideURLs(text) != text {
			c.violate(path, nil, "contains credentials, and everyone who may see the app would see them; put it into a Secret and refer to that")
		}
		if parsesAs(value, t) {
			c.checkEnum(path, value, t)
			return value
		}
	}
	c.unsure[path] = true
	c.violate(path, value, "%s is expected, found %s", expected(t), found(value))
	return nil
}

// parsesAs reports whether a value can be parsed as a type.
func parsesAs(value any, t reflect.Type) bool {
	text, err := json.Marshal(value)
	return err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
}

// checkEntries checks the values of a map against their type. It rejects keys that begin with $, which
// StrategicMergePatch would take for directives.
func (c *fieldCheck) checkEntries(path string, given map[string]any, t reflect.Type) map[string]any {
	good := map[string]any{}
	for _, name := range sorted(given) {
		if strings.HasPrefix(name, "$") {
			c.violate(path+"."+name, given[name], "patch directives are not supported; null removes a value")
			continue
		}
		good[name] = c.checkValue(path+"."+name, given[name], t)
	}
	return good
}

// checkList checks the elements of a list against their type. Unlike a field, an element cannot be null.
func (c *fieldCheck) checkList(path string, given []any, t reflect.Type) []any {
	good := make([]any, len(given))
	for i, element := range given {
		at := fmt.Sprintf("%s[%d]", path, i)
		if element == nil {
			c.unsure[at] = true
			c.violate(at, nil, "%s is expected, found nothing", expected(t))
		}
		good[i] = c.checkValue(at, element, t)
	}
	return good
}

// checkFields checks that an object has only the fields of a struct type, and checks their values and the constraints
// of the type.
func (c *fieldCheck) checkFields(path string, given map[string]any, t reflect.Type) map[string]any {
	known, good := map[string]reflect.Type{}, map[string]any{}
	fieldsOf(t, known)
	for _, name := range sorted(given) {
		fieldType, ok := known[name]
		if !ok {
			message := "unknown field; known are " + strings.Join(sorted(known), ", ")
			if near := spelling.Nearest(name, sorted(known)); near != "" {
				message = "unknown field; did you mean " + near + "?"
			}
			c.unsure[path] = true
			c.violate(path+"."+name, given[name], "%s", message)
			continue
		}
		good[name] = c.checkValue(path+"."+name, given[name], fieldType)
	}
	c.checkConstraints(path, good, t)
	return good
}

// fieldsOf adds the types of a struct's fields to into, by their JSON names. It includes the fields of embedded
// structs.
func fieldsOf(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fieldsOf(f.Type, into)
		case name != "" && name != "-":
			into[name] = f.Type
		}
	}
}

// expected names the kind of value that a type requires, for the message of a violation.
func expected(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return "a list"
		}
		return "a text in base64"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default:
		return "a whole number"
	}
}

// found names the kind of value that was given, for the message of a violation.
func found(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case nil:
		return "nothing"
	default:
		return "a number"
	}
}

// typeText names a type that parses its own JSON, for the message of a violation.
func typeText(t reflect.Type) string {
	switch t.Name() {
	case "Quantity":
		return "quantity, such as 100m or 64Mi"
	case "IntOrString":
		return "number or name"
	case "Time", "MicroTime":
		return "time, such as 2026-01-02T15:04:05Z"
	}
	return t.Name()
}

func sorted[V any](entries map[string]V) []string { return slices.Sorted(maps.Keys(entries)) }

// readTree parses a text that is one JSON value. It keeps numbers as they are written.
func readTree(text []byte) (tree any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err = dec.Decode(&tree); err == nil && !json.Valid(text) {
		err = errors.New("there is data after its end")
	}
	return tree, err
}

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

// maxPath is longer than any path of fields in the API. Longer paths, which contain names chosen by users, are cut.
const maxPath = 250

// fieldCheck checks JSON against the Go types of the API: field names, types of values, and their form.
type fieldCheck struct {
	bad document.Violations
	// unsure holds the paths of objects that have an unknown field or could not be parsed. Such an object's missing
	// fields are not reported, because they may be the misspelt ones.
	unsure map[string]bool
}

// violate records one violation per field; further ones are ignored.
func (c *fieldCheck) violate(path string, value any, format string, args ...any) {
	if len(c.bad) >= maxViolations || c.violates(path) {
		return
	}
	shown := ""
	switch v := value.(type) {
	case string:
		shown = v
	case bool, json.Number:
		shown = fmt.Sprint(v)
	}
	one := document.Violate(path, shown, format, args...)
	if len(path) <= maxPath {
		one.Field = path
	}
	c.bad = append(c.bad, one)
}

// violates reports whether a field has a violation.
func (c *fieldCheck) violates(path string) bool {
	return slices.ContainsFunc(c.bad, func(one document.Violation) bool { return one.Field == path })
}

// value checks the value at a path against a type, and returns the part of it that can be parsed as that type. null
// stands for a missing value of any type.
func (c *fieldCheck) value(path string, value any, t reflect.Type) (good any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil {
		return nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		if !reads(value, t) {
			c.violate(path, value, "is not a %s", typeText(t))
			return nil
		}
		return value
	}
	switch t.Kind() {
	case reflect.Struct:
		if given, ok := value.(map[string]any); ok {
			return c.fields(path, given, t)
		}
	case reflect.Map:
		if given, ok := value.(map[string]any); ok {
			return c.entries(path, given, t.Elem())
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			break
		}
		if given, ok := value.([]any); ok {
			return c.list(path, given, t.Elem())
		}
	default:
		if text, ok := value.(string); ok && secrets.HideURLs(text) != text {
			c.violate(path, nil, "contains credentials, and everyone who may see the app would see them; put it into a Secret and refer to that")
		}
		if reads(value, t) {
			c.enumValue(path, value, t)
			return value
		}
	}
	c.unsure[path] = true
	c.violate(path, value, "%s is expected, found %s", expected(t), found(value))
	return nil
}

// reads reports whether a value can be parsed as a type.
func reads(value any, t reflect.Type) bool {
	text, err := json.Marshal(value)
	return err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
}

func (c *fieldCheck) entries(path string, given map[string]any, t reflect.Type) map[string]any {
	good := map[string]any{}
	for _, name := range sorted(given) {
		if strings.HasPrefix(name, "$") {
			c.violate(path+"."+name, given[name], "patch directives are not supported; null removes a value")
			continue
		}
		good[name] = c.value(path+"."+name, given[name], t)
	}
	return good
}

func (c *fieldCheck) list(path string, given []any, t reflect.Type) []any {
	good := make([]any, len(given))
	for i, one := range given {
		at := fmt.Sprintf("%s[%d]", path, i)
		if one == nil {
			c.unsure[at] = true
			c.violate(at, nil, "%s is expected, found nothing", expected(t))
		}
		good[i] = c.value(at, one, t)
	}
	return good
}

// fields checks that an object has only fields of the type, and checks their values.
func (c *fieldCheck) fields(path string, given map[string]any, t reflect.Type) map[string]any {
	known, good := map[string]reflect.Type{}, map[string]any{}
	fieldsOf(t, known)
	for _, name := range sorted(given) {
		of, ok := known[name]
		if !ok {
			message := "unknown field; known are " + strings.Join(sorted(known), ", ")
			if near := spelling.Nearest(name, sorted(known)); near != "" {
				message = "unknown field; did you mean " + near + "?"
			}
			c.unsure[path] = true
			c.violate(path+"."+name, given[name], "%s", message)
			continue
		}
		good[name] = c.value(path+"."+name, given[name], of)
	}
	c.constraints(path, good, t)
	return good
}

// fieldsOf collects the fields of a struct by their JSON names, including those of embedded structs.
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

// expected describes a type for people.
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

// typeText describes, for people, a type that parses its own JSON.
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

// readTree parses one JSON value and keeps numbers as they are written.
func readTree(text []byte) (tree any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err = dec.Decode(&tree); err == nil && !json.Valid(text) {
		err = errors.New("there is data after its end")
	}
	return tree, err
}

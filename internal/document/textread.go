package document

import (
	"encoding/json"
	"reflect"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// textReader reads a text that is an object, key by key.
type textReader struct {
	path  string
	text  Text
	given []string // the keys except secret
	bad   Violations
}

var textKeys = []string{"value", "secret", "fromFile", "fromEnv"}

// violate adds a violation of a key, or of the whole text if key is "". It leaves the value out, because that may
// contain a secret.
func (r *textReader) violate(key, format string, args ...any) {
	path := r.path
	if key != "" {
		path += "." + key
	}
	r.bad = append(r.bad, Violate(path, "", format, args...))
}

// set reads one key with the function read, which returns false if the value does not have the type of into.
func (r *textReader) set(key string, read func(into reflect.Value) bool) {
	var into reflect.Value
	expected := "a string"
	switch key {
	case "value":
		into = reflect.ValueOf(&r.text.Value)
	case "secret":
		into, expected = reflect.ValueOf(&r.text.Secret), "true or false"
	case "fromFile":
		into = reflect.ValueOf(&r.text.FromFile)
	case "fromEnv":
		into = reflect.ValueOf(&r.text.FromEnv)
	default:
		message := "unknown key; known are value, secret, fromFile and fromEnv"
		if near := spelling.Nearest(key, textKeys); near != "" {
			message = "unknown key; did you mean " + near + "?"
		}
		r.violate(key, "%s", message)
		return
	}
	switch {
	case !read(into.Elem()):
		r.violate(key, "%s is expected", expected)
	case key != "secret":
		r.given = append(r.given, key)
		if key != "value" && into.Elem().IsZero() {
			r.violate(key, "is empty; say which one")
		}
	}
}

// done returns the text, or the violations of its keys.
func (r *textReader) done() (Text, Violations) {
	switch {
	case len(r.bad) > 0:
	case len(r.given) != 1:
		r.violate("", "give one of value, fromFile and fromEnv")
	case r.text.Secret && r.text.IsReference():
		r.violate("secret", "is allowed with value only: the content of a file or variable is never shown")
	}
	return r.text, r.bad
}

// readText reads an entry of a map from JSON.
func readText(path string, raw json.RawMessage) (Text, Violations) {
	var plain string
	if raw[0] == '"' && json.Unmarshal(raw, &plain) == nil {
		return Text{Value: plain}, nil
	}
	if raw[0] != '{' {
		return Text{}, Violations{Violate(path, "",
			"a string, or an object with value, fromFile or fromEnv, is expected, found %s", describe(raw))}
	}
	members, err := splitObject(raw)
	if err != nil {
		return Text{}, Violations{Violate(path, "", "%s", err.Error())}
	}
	r, seen := textReader{path: path}, map[string]bool{}
	for _, m := range members {
		switch {
		case len(r.bad) > maxFieldViolations:
			return r.done()
		case seen[m.name]:
			r.violate(m.name, "is given more than once")
		default:
			r.set(m.name, func(into reflect.Value) bool {
				return !isNull(m.raw) && len(readValue(m.name, m.raw, into)) == 0
			})
		}
		seen[m.name] = true
	}
	return r.done()
}

// storedText reads an entry of a map from a stored document, in which duplicate names were already refused.
func storedText(path string, e *entry) (Text, Violations) {
	switch e.kind {
	case isScalar:
		return Text{Value: e.text}, nil
	case isList:
		return Text{}, Violations{Violate(path, "", "a string is expected")}
	}
	r := textReader{path: path}
	for i := range e.fields {
		f := &e.fields[i]
		if len(r.bad) > maxFieldViolations {
			break
		}
		r.set(f.name, func(into reflect.Value) bool { return !f.isNull() && len(setStored(f, into)) == 0 })
	}
	return r.done()
}

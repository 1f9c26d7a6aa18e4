package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Object is a field with an object of any depth, which another system interprets. It is JSON with sorted names, so that
// equal objects are equal strings. An empty or missing object is "".
type Object string

// List is a field with a list of texts, as JSON. An empty or missing list is "".
type List string

// ListOf returns the list of texts.
func ListOf(texts ...string) List {
	if len(texts) == 0 {
		return ""
	}
	text, _ := EncodeJSON(texts) // never fails for strings
	return List(text)
}

// Texts returns the elements of the list.
func (l List) Texts() (texts []string) {
	if l != "" {
		_ = json.Unmarshal([]byte(l), &texts) // written by ListOf or a Schema, so it is valid
	}
	return texts
}

// MarshalJSON writes the object unchanged.
func (o Object) MarshalJSON() ([]byte, error) { return orNull(string(o)), nil }

// MarshalJSON writes the list unchanged.
func (l List) MarshalJSON() ([]byte, error) { return orNull(string(l)), nil }

func orNull(text string) []byte {
	if text == "" {
		return []byte("null")
	}
	return []byte(text)
}

// UnmarshalJSON reads the output of MarshalJSON. Input from users is read by a Schema, which is strict.
func (o *Object) UnmarshalJSON(data []byte) error {
	bad := readObject("object", data, o)
	return bad.OrNil()
}

// UnmarshalJSON reads the output of MarshalJSON.
func (l *List) UnmarshalJSON(data []byte) error {
	bad := readList("list", data, l)
	return bad.OrNil()
}

// EncodeJSON returns a value as JSON. The names of maps are sorted, and <, > and & are not escaped, so that users can
// read them.
func EncodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// readObject reads an object. It leaves values out of violations, because they may be secrets.
func readObject(name string, raw json.RawMessage, into *Object) Violations {
	if isNull(raw) {
		*into = ""
		return nil
	}
	if raw[0] != '{' {
		return Violations{Violate(name, "", "an object is expected, found %s", describe(raw))}
	}
	r := new(nestedReader)
	value := r.read(name, raw, 0)
	if len(r.bad) > 0 {
		return r.bad
	}
	return setObject(name, value, into)
}

func setObject(name string, value any, into *Object) Violations {
	if fields, ok := value.(map[string]any); ok && len(fields) == 0 {
		*into = ""
		return nil
	}
	text, err := EncodeJSON(value)
	if err != nil {
		return Violations{Violate(name, "", "%s", err.Error())}
	}
	*into = Object(text)
	return nil
}

func readList(name string, raw json.RawMessage, into *List) Violations {
	if isNull(raw) {
		*into = ""
		return nil
	}
	var values []any
	if raw[0] != '[' || json.Unmarshal(raw, &values) != nil {
		return Violations{Violate(name, shownRaw(raw), "a list of strings is expected, found %s", describe(raw))}
	}
	return setList(name, values, into)
}

func setList(name string, values []any, into *List) (bad Violations) {
	texts := make([]string, len(values))
	for i, value := range values {
		text, ok := value.(string)
		if !ok && len(bad) < maxFieldViolations {
			bad = append(bad, Violate(fmt.Sprintf("%s[%d]", name, i), "", "a string is expected"))
		}
		texts[i] = text
	}
	if len(bad) == 0 {
		*into = ListOf(texts...)
	}
	return bad
}

// nestedReader reads JSON of any form. It keeps the notation of numbers, and reports duplicate names, because another
// reader might use the other value.
type nestedReader struct{ bad Violations }

func (r *nestedReader) violate(path, format string, args ...any) {
	if len(r.bad) < maxFieldViolations {
		r.bad = append(r.bad, Violate(path, "", format, args...))
	}
}

func (r *nestedReader) read(path string, raw json.RawMessage, depth int) (value any) {
	if depth > maxDepth {
		r.violate(path, "is nested too deep: at most %d objects and lists are", maxDepth)
		return nil
	}
	switch raw[0] {
	case '{':
		members, err := splitObject(raw)
		if err != nil {
			r.violate(path, "%s", err.Error())
		}
		fields := make(map[string]any, len(members))
		for _, m := range members {
			fieldPath := path + "." + m.name
			if _, repeated := fields[m.name]; repeated {
				r.violate(fieldPath, "is given more than once")
			}
			fields[m.name] = r.read(fieldPath, m.raw, depth+1)
		}
		return fields
	case '[':
		var raws []json.RawMessage
		if err := json.Unmarshal(raw, &raws); err != nil {
			r.violate(path, "%s", err.Error())
		}
		list := make([]any, len(raws))
		for i, element := range raws {
			list[i] = r.read(fmt.Sprintf("%s[%d]", path, i), element, depth+1)
		}
		return list
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		r.violate(path, "%s", err.Error())
	}
	return value
}

// nested converts an entry of a stored document to its JSON value. An unquoted scalar may be a number, a boolean or
// null.
func (e *entry) nested() any {
	switch e.kind {
	case isMap:
		return fieldsOf(e.fields)
	case isList:
		list := make([]any, len(e.fields))
		for i := range e.fields {
			list[i] = e.fields[i].nested()
		}
		return list
	}
	if !e.plain {
		return e.text
	}
	if isNumber(e.text) {
		return json.Number(e.text)
	}
	var value any
	if (&yaml.Node{Kind: yaml.ScalarNode, Value: e.text}).Decode(&value) != nil {
		return e.text
	}
	switch v := value.(type) {
	case nil, bool, int, int64, uint64:
		return v
	case float64:
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v
		}
	}
	return e.text // a date stays text
}

func fieldsOf(entries []entry) map[string]any {
	fields := make(map[string]any, len(entries))
	for i := range entries {
		fields[entries[i].name] = entries[i].nested()
	}
	return fields
}

// isNumber reports whether a text is a JSON number.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// Node returns a decoded JSON value as YAML. The function text returns the node of a text.
func Node(value any, text func(string) *yaml.Node) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		object := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			object.Content = append(object.Content, text(name), Node(v[name], text))
		}
		return object
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, element := range v {
			list.Content = append(list.Content, Node(element, text))
		}
		return list
	case string:
		return text(v)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(value)}
}

// nodeOfJSON returns JSON as YAML.
func nodeOfJSON(text string) *yaml.Node {
	return Node(new(nestedReader).read("", json.RawMessage(text), 0), textNode)
}

package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A stored document comes from a registry, to which users and the original write too. It is YAML, as ElasticJob-Cloud
// 3.x writes it (contract 2.1), or JSON, as 2.x and this scheduler write it.

// entry is one field of a stored document: a scalar, or a map or list of entries.
type entry struct {
	name string
	kind entryKind
	// text is a scalar as it was written. plain means that it has no quotes, so that it may be a number, a boolean or
	// null.
	text  string
	plain bool
	// fields are the fields of a map, or the elements of a list.
	fields []entry
}

type entryKind int

const (
	isScalar entryKind = iota
	isMap
	isList
)

// describe describes the entry for messages.
func (e *entry) describe() string {
	switch e.kind {
	case isMap:
		return "a map"
	case isList:
		return "a list"
	default:
		return strconv.Quote(shorten(Text{Value: e.text}.Shown(e.name).Value, shortStored))
	}
}

func (e *entry) isNull() bool { return e.kind == isScalar && e.plain && isNullWord(e.text) }

func isNullWord(text string) bool {
	return slices.Contains([]string{"", "~", "null", "Null", "NULL"}, text)
}

// isNeutral reports whether a value is empty, false, 0 or -1. An ignored field with such a value needs no note.
func (e *entry) isNeutral() bool {
	if e.kind != isScalar {
		return e.kind == isMap && len(e.fields) == 0
	}
	return e.text == "" || e.plain && (isNullWord(e.text) || e.text == "false" || e.text == "0" || e.text == "-1")
}

// DecodeStored reads a document from the registry, as YAML or JSON. Missing fields get their defaults. As in the
// original, the field determines the type: a text may be unquoted, and numbers follow YAML 1.1. Java class tags are
// skipped. The notes name fields that have a value but no effect, and the error names the fields that can't be read.
// The caller must still check the document's rules.
func (s *Schema[C]) DecodeStored(doc []byte) (C, []string, error) {
	given, err := entriesOf(doc)
	if err != nil {
		return s.Default(), nil, err
	}
	c := s.Default()
	into := reflect.ValueOf(&c).Elem()
	var bad Violations
	var notes []string
	for i := range given {
		e := &given[i]
		if f := s.find(e.name); f != nil {
			bad = append(bad, setStored(e, into.Field(f.index))...)
		} else if !e.isNeutral() && len(notes) < maxFieldViolations {
			note := cmp.Or(s.ignored[e.name], "is not a field that is known here: it has no effect")
			notes = append(notes, e.name+" "+note)
		}
	}
	return c, notes, bad.OrNil()
}

// Fields reads a document with any fields, as YAML or JSON. The values have the types of decoded JSON. Numbers keep
// their notation, and a date is a text.
func Fields(doc []byte) (map[string]any, error) {
	given, err := entriesOf(doc)
	if err != nil {
		return nil, err
	}
	return fieldsOf(given), nil
}

// entriesOf parses a document. A document that begins with a brace but is not JSON may still be YAML.
func entriesOf(doc []byte) ([]entry, error) {
	if err := checkSize(doc); err != nil {
		return nil, err
	}
	trimmed := bytes.TrimLeft(doc, " \t\r\n\ufeff")
	if len(trimmed) > 0 && trimmed[0] == '{' {
		if err := checkBraces(trimmed); err != nil {
			return nil, err
		}
		given, err := parseObject(trimmed)
		if err == nil {
			return jsonEntries(given, 0)
		}
		if yaml, yamlErr := parseYAML(doc); yamlErr == nil {
			return yaml, nil
		}
		return nil, fmt.Errorf("neither JSON nor YAML: %w", err)
	}
	return parseYAML(doc)
}

// jsonEntries converts the fields of an object, or the elements of a list, at any depth.
func jsonEntries(given []member, depth int) ([]entry, error) {
	out := make([]entry, 0, len(given))
	seen := make(map[string]bool, len(given))
	for _, m := range given {
		if seen[m.name] {
			return nil, fmt.Errorf("field %s is given more than once", shorten(m.name, shortStored))
		}
		seen[m.name] = true
		e, err := jsonEntry(m, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func jsonEntry(m member, depth int) (entry, error) {
	e := entry{name: m.name}
	var err error
	switch m.raw[0] {
	case '"':
		if err = json.Unmarshal(m.raw, &e.text); err != nil {
			return e, fmt.Errorf("field %s: %w", shorten(m.name, shortStored), err)
		}
	case '{', '[':
		var inner []member
		if depth >= maxDepth {
			return e, errTooDeep
		}
		if e.kind = isMap; m.raw[0] == '[' {
			e.kind = isList
			inner, err = splitList(m.raw)
		} else {
			inner, err = splitObject(m.raw)
		}
		if err != nil {
			return e, fmt.Errorf("field %s: %w", shorten(m.name, shortStored), err)
		}
		e.fields, err = jsonEntries(inner, depth+1)
		if err != nil {
			return e, fmt.Errorf("in %s: %w", shorten(m.name, shortStored), err)
		}
	default:
		e.text, e.plain = string(m.raw), true
	}
	return e, nil
}

// splitList splits a list that is valid JSON into elements, which are named by their index.
func splitList(list []byte) ([]member, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(list, &raws); err != nil {
		return nil, err
	}
	members := make([]member, len(raws))
	for i, raw := range raws {
		members[i] = member{strconv.Itoa(i), raw}
	}
	return members, nil
}

// setStored sets a field to its stored value; null keeps the default.
func setStored(e *entry, into reflect.Value) Violations {
	wrong := func(expected string) Violations {
		return Violations{Violate(e.name, "", "%s is expected, found %s", expected, e.describe())}
	}
	if e.isNull() {
		return nil
	}
	switch p := into.Addr().Interface().(type) {
	case *string:
		if e.kind != isScalar {
			return wrong("a string")
		}
		*p = e.text
	case *bool:
		b, ok := yamlBool(e.text)
		if e.kind != isScalar || !ok {
			return wrong("true or false")
		}
		*p = b
	case *float64:
		n, err := strconv.ParseFloat(strings.ReplaceAll(e.text, "_", ""), 64)
		if e.kind != isScalar || err != nil {
			return wrong("a number")
		}
		*p = n
	case *int:
		n, ok := yamlInt(e.text)
		if e.kind != isScalar || !ok {
			return wrong("a whole number")
		}
		*p = n
	case *Texts:
		if e.kind != isMap {
			return wrong("a map of strings")
		}
		return setStoredMap(e, p)
	case *Object:
		if e.kind != isMap {
			return wrong("an object")
		}
		return setObject(e.name, e.nested(), p)
	case *List:
		if e.kind != isList {
			return wrong("a list of strings")
		}
		return setStoredList(e, p)
	}
	return nil
}

// setStoredMap reads a map of texts. It leaves values out of violations, because they may be secrets.
func setStoredMap(e *entry, into *Texts) Violations {
	var bad Violations
	read := make(Texts, len(e.fields))
	for i := range e.fields {
		if f := &e.fields[i]; !f.isNull() {
			value, violations := storedText(e.name+"."+f.name, f)
			read[f.name], bad = value, append(bad, violations...)
		}
	}
	if len(read) > 0 {
		*into = read
	}
	return bad
}

// setStoredList reads a list of texts. It accepts all scalars as texts, as setStored does for a string.
func setStoredList(e *entry, into *List) Violations {
	values := make([]any, len(e.fields))
	for i := range e.fields {
		if f := &e.fields[i]; f.kind == isScalar && !f.isNull() {
			values[i] = f.text
		}
	}
	return setList(e.name, values, into)
}

// shortStored is the greatest length, in bytes, of a name or value of a stored document in a message.
const shortStored = 40

// yamlBool parses the boolean words of YAML 1.1.
func yamlBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// yamlInt parses a whole number of YAML 1.1, where 010 is 8, or a number such as 3.0 whose fraction is 0.
func yamlInt(text string) (int, bool) {
	text = strings.ReplaceAll(text, "_", "")
	n, err := strconv.ParseInt(text, 0, 32)
	if err == nil {
		return int(n), !strings.ContainsAny(text, "oO")
	}
	f, err := strconv.ParseFloat(text, 64)
	isWhole := err == nil && f == math.Trunc(f) && f >= math.MinInt32 && f <= math.MaxInt32
	if !isWhole || !strings.ContainsAny(text, ".eE") {
		return 0, false
	}
	return int(f), true
}

package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A stored document is one from a registry that people and the original write to, too:
// YAML as ElasticJob-Cloud 3.x writes it (contract 2.1), or JSON as 2.x did and we do.

// scalar is a value as it was written; plain means without quotes, so that its
// text may stand for a number, a boolean or nothing.
type scalar struct {
	text  string
	plain bool
}

func (v scalar) isNull() bool {
	if !v.plain {
		return false
	}
	switch v.text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// isNeutral reports whether a value of a field without effect says nothing.
func (v scalar) isNeutral() bool {
	return v.isNull() || v.text == "" || v.plain && (v.text == "false" || v.text == "0" || v.text == "-1")
}

// entry is one field of a stored document: a scalar, a map of scalars, or what no
// field can hold.
type entry struct {
	name   string
	value  scalar
	isMap  bool
	fields []entry
	other  string // what it is, such as "a list"
}

// DecodeStored reads a whole document from the registry, YAML or JSON, with the defaults for
// what it leaves out. Types are read as the original reads them, by the field: a text
// may be unquoted, a number as YAML 1.1 has it. Java class tags are skipped. The notes name
// fields that have no effect. The error says what can't be read; the document still has to pass Check.
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
		f := s.find(e.name)
		if f != nil {
			bad = append(bad, setStored(e, into.Field(f.at))...)
			continue
		}
		if !e.isMap && e.other == "" && e.value.isNeutral() || e.isMap && len(e.fields) == 0 {
			continue
		}
		note, known := s.ignored[e.name]
		if !known {
			note = "is not a field that is known here: it has no effect"
		}
		if len(notes) < maxStrays {
			notes = append(notes, e.name+" "+note)
		}
	}
	return c, notes, bad.OrNil()
}

// entriesOf parses a document. What looks like JSON and is none may be YAML.
func entriesOf(doc []byte) ([]entry, error) {
	if err := boundStored(doc); err != nil {
		return nil, err
	}
	trimmed := bytes.TrimLeft(doc, " \t\r\n\ufeff")
	if len(trimmed) > 0 && trimmed[0] == '{' {
		if err := boundBraces(trimmed); err != nil {
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

// jsonEntries reads the fields of a document, and those of maps among them; what is
// deeper no field can hold.
func jsonEntries(given []member, depth int) ([]entry, error) {
	out := make([]entry, 0, len(given))
	seen := make(map[string]bool, len(given))
	for _, m := range given {
		if seen[m.name] {
			return nil, fmt.Errorf("field %s is given more than once", shortText(m.name))
		}
		seen[m.name] = true
		e := entry{name: m.name}
		switch m.raw[0] {
		case '"':
			if err := json.Unmarshal(m.raw, &e.value.text); err != nil {
				return nil, fmt.Errorf("field %s: %w", shortText(m.name), err)
			}
		case '{':
			if e.isMap = true; depth > 0 {
				break
			}
			inner, err := splitObject(m.raw)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", shortText(m.name), err)
			}
			if e.fields, err = jsonEntries(inner, depth+1); err != nil {
				return nil, fmt.Errorf("in %s: %w", shortText(m.name), err)
			}
		case '[':
			e.other = "a list"
		default:
			e.value = scalar{string(m.raw), true}
		}
		out = append(out, e)
	}
	return out, nil
}

// setStored sets a field to what was stored; nothing leaves its default.
func setStored(e *entry, into reflect.Value) Violations {
	wrong := func(expected string) Violations {
		found := e.other
		switch {
		case e.isMap:
			found = "a map"
		case found == "":
			found = strconv.Quote(shortText(e.value.text))
		}
		return Violations{Violate(e.name, "", "%s is expected, found %s", expected, found)}
	}
	if !e.isMap && e.other == "" && e.value.isNull() {
		return nil
	}
	isScalar := !e.isMap && e.other == ""
	switch p := into.Addr().Interface().(type) {
	case *string:
		if !isScalar {
			return wrong("a string")
		}
		*p = e.value.text
	case *bool:
		b, ok := yamlBool(e.value.text)
		if !isScalar || !ok {
			return wrong("true or false")
		}
		*p = b
	case *float64:
		n, err := strconv.ParseFloat(strings.ReplaceAll(e.value.text, "_", ""), 64)
		if !isScalar || err != nil {
			return wrong("a number")
		}
		*p = n
	case *int:
		n, ok := yamlInt(e.value.text)
		if !isScalar || !ok {
			return wrong("a whole number")
		}
		*p = n
	case *map[string]string:
		if !e.isMap {
			return wrong("a map of strings")
		}
		return setStoredMap(e, p)
	}
	return nil
}

// setStoredMap leaves values out of violations: they may be secrets.
func setStoredMap(e *entry, into *map[string]string) Violations {
	var bad Violations
	read := make(map[string]string, len(e.fields))
	for i := range e.fields {
		switch f := &e.fields[i]; {
		case f.isMap || f.other != "":
			bad = append(bad, Violate(e.name+"."+f.name, "", "a string is expected"))
		case !f.value.isNull():
			read[f.name] = f.value.text
		}
	}
	if len(read) > 0 {
		*into = read
	}
	return bad
}

func shortText(text string) string {
	const most = 40
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// yamlBool knows the words of YAML 1.1.
func yamlBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// yamlInt reads a whole number of YAML 1.1, where 010 is 8, or a whole fraction such as 3.0.
func yamlInt(text string) (int, bool) {
	text = strings.ReplaceAll(text, "_", "")
	n, err := strconv.ParseInt(text, 0, 32)
	if err == nil {
		return int(n), !strings.ContainsAny(text, "oO")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 || !strings.ContainsAny(text, ".eE") {
		return 0, false
	}
	return int(f), true
}

// EncodeYAML writes a document as the original does: block style, sorted by name, what is
// nothing left out. The original does not know our own fields and refuses documents that
// hold one, so these are left out where they say nothing.
func (s *Schema[C]) EncodeYAML(c C) []byte {
	var b []byte
	values := reflect.ValueOf(c)
	for _, f := range s.sorted {
		v := values.Field(f.at)
		if f.omitEmpty && (v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0) {
			continue
		}
		b = append(append(b, f.name...), ':')
		switch x := v.Interface().(type) {
		case string:
			b = append(appendText(append(b, ' '), x), '\n')
		case bool:
			b = append(strconv.AppendBool(append(b, ' '), x), '\n')
		case int:
			b = append(strconv.AppendInt(append(b, ' '), int64(x), 10), '\n')
		case float64:
			b = append(append(append(b, ' '), javaDouble(x)...), '\n')
		case map[string]string:
			b = append(b, '\n')
			keys := make([]string, 0, len(x))
			for k := range x {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				b = appendName(append(b, "  "...), k)
				b = append(appendText(append(b, ": "...), x[k]), '\n')
			}
		}
	}
	return b
}

// javaDouble writes a number so that it is one with a fraction.
func javaDouble(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

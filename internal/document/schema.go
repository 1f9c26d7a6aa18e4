// Package document reads and writes the documents of apps and jobs: JSON from users, strictly, with all violations in
// one error, and YAML or JSON from a registry, as ElasticJob-Cloud wrote it.
//
//	struct with tags ──MustSchema──▶ Schema ── Decode ──────▶ from the API
//	                                        ── DecodeStored ─▶ from the registry
//	                                        ── EncodeYAML ──▶ to the registry
//
// The packages app and jobs define the fields and their rules. This package imports only spelling and secrets from
// this repository.
package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
)

// Schema reads and writes documents of type C. The struct C defines each field: its name by the json tag, its type by
// the Go type, and its default by the tag "default", written as JSON. Without that tag the default is the zero value.
//
// The types are string, float64, int, bool, Texts, Object, List, and *string for a text whose absence differs from the
// empty text. A document with a *string is never stored. A Schema is immutable and may be used concurrently.
type Schema[C any] struct {
	identity string
	fields   []field
	sorted   []field // by name
	ignored  map[string]string
}

type field struct {
	name  string
	index int // in the struct
	// omitEmpty is set if an empty field is left out of YAML.
	omitEmpty    bool
	defaultValue reflect.Value
}

// MustSchema builds the schema of C. identity is the json name of the string field that names a document and never
// changes; it is empty for documents without a name. ignored contains fields that are accepted without effect, each
// with a note that says what to do instead. MustSchema is for package variables: it panics if C has a field of another
// type or an invalid default, or lacks the identity.
func MustSchema[C any](identity string, ignored map[string]string) *Schema[C] {
	s := &Schema[C]{identity: identity, ignored: ignored}
	t := reflect.TypeFor[C]()
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		f := field{name: name, index: i, omitEmpty: options == "omitempty",
			defaultValue: reflect.New(t.Field(i).Type).Elem()}
		if text, ok := t.Field(i).Tag.Lookup("default"); ok {
			if bad := readValue(name, []byte(text), f.defaultValue); len(bad) > 0 {
				panic("document: default of " + name + ": " + bad.Error())
			}
		} else if !isReadable(f.defaultValue) {
			panic("document: " + name + " has a type that no document can hold")
		}
		s.fields = append(s.fields, f)
	}
	s.sorted = slices.Clone(s.fields)
	slices.SortFunc(s.sorted, func(a, b field) int { return strings.Compare(a.name, b.name) })
	if identity != "" && s.find(identity) == nil {
		panic("document: no field " + identity)
	}
	return s
}

// Default returns a document whose fields all have their defaults.
func (s *Schema[C]) Default() C {
	var c C
	into := reflect.ValueOf(&c).Elem()
	for _, f := range s.fields {
		into.Field(f.index).Set(f.defaultValue)
	}
	return c
}

// Fields returns the names of all fields with an effect, in order.
func (s *Schema[C]) Fields() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

func (s *Schema[C]) find(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// Decode merges the fields of the JSON object in body into a copy of base. null sets a field to its default. A map,
// object or list replaces the old one as a whole. The notes name the ignored fields.
//
// The error is a *SyntaxError if body is not a JSON object. Otherwise it is Violations for all fields that are unknown,
// duplicate, of the wrong type or out of range, or that would change the name of a base that has one. The returned
// document then contains the other fields, so that their rules can be checked for the same answer (Violations.And).
func (s *Schema[C]) Decode(body []byte, base C) (C, []string, error) {
	given, err := parseObject(body)
	if err != nil {
		return base, nil, err
	}
	merged := base
	into := reflect.ValueOf(&merged).Elem()
	var (
		bad     Violations
		notes   []string
		refused int // the number of unknown and repeated fields
		seen    = make(map[string]bool, len(given))
	)
	for _, m := range given {
		f := s.find(m.name)
		note, ignored := s.ignored[m.name]
		switch {
		case seen[m.name] || f == nil && !ignored:
			if refused++; refused > maxFieldViolations {
				continue
			}
			message := "is given more than once"
			if !seen[m.name] {
				message = s.unknown(m.name)
			}
			bad = append(bad, Violate(m.name, shownRaw(m.raw), "%s", message))
		case f != nil:
			bad = append(bad, s.merge(f, m.raw, into)...)
		default:
			notes = append(notes, m.name+" "+note)
		}
		seen[m.name] = true
	}
	if refused > maxFieldViolations {
		bad = append(bad, Violate("", "", "%s unknown or given more than once",
			moreOf(refused-maxFieldViolations, "field is", "fields are")))
	}
	return merged, notes, bad.OrNil()
}

// maxFieldViolations bounds the number of listed violations, so that the answer to a large document stays small.
const maxFieldViolations = 50

// merge sets one field to a JSON value.
func (s *Schema[C]) merge(f *field, raw json.RawMessage, into reflect.Value) Violations {
	old := into.Field(f.index)
	value := reflect.New(old.Type()).Elem()
	if isNull(raw) {
		value.Set(f.defaultValue)
	} else if bad := readValue(f.name, raw, value); len(bad) > 0 {
		return bad
	}
	if f.name == s.identity && !old.IsZero() && value.String() != old.String() {
		return Violations{Violate(f.name, value.String(),
			"cannot be changed: this is the document of %q; create one of the new name instead", old.String())}
	}
	old.Set(value)
	return nil
}

// Name reads only the identity field of the JSON object in body. The error is a *SyntaxError, or Violations if the
// field is missing or not a string.
func (s *Schema[C]) Name(body []byte) (string, error) {
	given, err := parseObject(body)
	if err != nil {
		return "", err
	}
	f := s.find(s.identity)
	name := reflect.New(f.defaultValue.Type()).Elem()
	i := slices.IndexFunc(given, func(m member) bool { return m.name == s.identity })
	if i < 0 || isNull(given[i].raw) {
		return "", Violations{Violate(s.identity, "", "is missing: it says what to change")}
	}
	if bad := readValue(s.identity, given[i].raw, name); len(bad) > 0 {
		return "", bad
	}
	return name.String(), nil
}

// CheckText refuses strings that can't be passed to a process: those with a NUL character, and those that are not
// UTF-8. Documents from the API are always UTF-8, but stored documents may not be.
func (s *Schema[C]) CheckText(c C) Violations {
	var bad Violations
	check := func(name, value string) {
		if strings.ContainsRune(value, 0) {
			bad = append(bad, Violate(name, "", "must not hold a NUL character: processes cannot be given one"))
		} else if !utf8.ValidString(value) {
			bad = append(bad, Violate(name, "", "is not UTF-8 text"))
		}
	}
	values := reflect.ValueOf(c)
	for _, f := range s.fields {
		switch v := values.Field(f.index).Interface().(type) {
		case string:
			check(f.name, v)
		case Texts:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				check(f.name, key)
				check(f.name+"."+key, v[key].Value+v[key].FromFile+v[key].FromEnv)
			}
		case Object:
			check(f.name, strings.ReplaceAll(strings.ReplaceAll(string(v), `\\`, ""), `\u0000`, "\x00"))
		case List:
			check(f.name, strings.Join(v.Texts(), ""))
		}
	}
	return bad
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }

// unknown returns the message for an unknown field, with the most similar name.
func (s *Schema[C]) unknown(name string) string {
	if near := spelling.Nearest(name, s.Fields()); near != "" {
		return "unknown field; did you mean " + near + "?"
	}
	return "unknown field; known are " + strings.Join(s.Fields(), ", ")
}

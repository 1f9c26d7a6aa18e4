// Package jsonschema checks JSON values against schemas. It knows the part of JSON Schema (2020-12) that the API's
// description uses, and refuses to read a schema with anything else, so that no rule is passed over. test/conformance
// holds it against a complete implementation, which the product's module would otherwise have to require.
package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Schema is a schema, read from JSON. A name in a $ref must be resolved before a value is checked. An object has no
// fields beside its properties, unless additionalProperties says so: a field that is answered and not described is
// found thereby.
type Schema struct {
	Ref        string `json:"$ref"`
	Type       types
	Enum       []string
	Properties map[string]*Schema
	Required   []string
	Items      *Schema
	AnyOf      []*Schema
	Pattern    *regexp.Regexp
	Format     string

	AdditionalProperties *Schema
	Minimum, Maximum     *float64
	MinLength, MaxLength *int

	// What these say is for people.
	Title, Description string
	Default            any
	Deprecated         bool

	never  bool    // it is the schema false
	target *Schema // what Ref names
}

// types are the types that a value may be of; any, if there are none.
type types []string

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// UnmarshalJSON reads one type or several.
func (t *types) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = types{one}
	} else if err := json.Unmarshal(text, (*[]string)(t)); err != nil {
		return err
	}
	for _, name := range *t {
		if !slices.Contains(typeNames, name) {
			return fmt.Errorf("there is no type %q", name)
		}
	}
	return nil
}

// UnmarshalJSON reads a schema, which may be true or false. It returns an error for a keyword or a format that this
// package does not know.
func (s *Schema) UnmarshalJSON(text []byte) error {
	if string(text) == "true" || string(text) == "false" {
		s.never = string(text) == "false"
		return nil
	}
	type plain Schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(s)); err != nil {
		return fmt.Errorf("read the schema %.200s: %w", text, err)
	}
	if _, ok := formats[s.Format]; !ok && s.Format != "" {
		return fmt.Errorf("read the schema %.200s: unknown format %q", text, s.Format)
	}
	return nil
}

// Resolve finds the schemas that a schema and those below it name as #/components/schemas/NAME. It returns an error
// that says which ones are not among the shared schemas.
func (s *Schema) Resolve(shared map[string]*Schema) (bad error) {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		name, here := strings.CutPrefix(s.Ref, "#/components/schemas/")
		if s.target = shared[name]; !here || s.target == nil {
			bad = fmt.Errorf("there is no schema %s", s.Ref)
		}
	}
	for _, p := range s.Properties {
		bad = errors.Join(bad, p.Resolve(shared))
	}
	for _, one := range append(slices.Clone(s.AnyOf), s.Items, s.AdditionalProperties) {
		bad = errors.Join(bad, one.Resolve(shared))
	}
	return bad
}

// Decode reads a JSON value, as Check takes it: its numbers keep all their digits.
func Decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the value")
	}
	return value, nil
}

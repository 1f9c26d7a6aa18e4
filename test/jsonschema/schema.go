// Package jsonschema checks JSON values against schemas. It implements the part of JSON Schema (2020-12) that the
// API's description uses, and rejects schemas with other keywords, so that no rule is ignored. test/conformance
// compares it with a complete implementation, which the product's module would otherwise require.
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

// Schema is a schema decoded from JSON. References must be resolved before a value is checked. An object must not
// have fields other than its properties, unless additionalProperties permits them, so that fields without a
// description are detected.
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

	// These are for people.
	Title, Description string
	Default            any
	Deprecated         bool

	never  bool    // the schema false
	target *Schema // the schema that Ref names
}

// types are the permitted types of a value; empty for any type.
type types []string

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// UnmarshalJSON decodes one type or a list of types.
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

// UnmarshalJSON decodes a schema, which may be true or false. It returns an error for an unknown keyword or format.
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

// Resolve resolves all references of the form #/components/schemas/NAME in a schema. It returns an error that lists
// references to schemas that are not in shared.
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

// Decode decodes a JSON value for Check. Numbers keep all their digits.
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

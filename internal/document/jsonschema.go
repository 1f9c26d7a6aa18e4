package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Hint adds to a field what its Go type does not express. Zero values add nothing.
type Hint struct {
	Description string
	Required    bool
	// Or names an alternative field: one of the two is required.
	Or string
	// Minimum and Maximum bound a number. A Maximum of 0 means that only Minimum applies.
	Minimum, Maximum float64
	// Enum lists the allowed values of a text.
	Enum []string
	// MaxLength is in characters. The limits of fields are in bytes, so MaxLength is exact for ASCII texts only.
	MaxLength       int
	Pattern, Format string
}

// JSONSchema is a JSON Schema (2020-12).
type JSONSchema struct {
	Schema      string     `json:"$schema,omitempty"`
	Title       string     `json:"title,omitempty"`
	Type        string     `json:"type,omitempty"`
	Description string     `json:"description,omitempty"`
	Default     any        `json:"default,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Minimum     *float64   `json:"minimum,omitempty"`
	Maximum     *float64   `json:"maximum,omitempty"`
	MinLength   int        `json:"minLength,omitempty"`
	MaxLength   int        `json:"maxLength,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	Format      string     `json:"format,omitempty"`
	Deprecated  bool       `json:"deprecated,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
	// AdditionalProperties is false, or the schema of all entries of a map.
	AdditionalProperties any           `json:"additionalProperties,omitempty"`
	Items                *JSONSchema   `json:"items,omitempty"`
	AnyOf                []*JSONSchema `json:"anyOf,omitempty"`
}

// Properties are the schemas of an object's fields, in display order.
type Properties []Property

// Property is the schema of one field.
type Property struct {
	Name string
	JSONSchema
}

// MarshalJSON writes an object in the order of the properties.
func (p Properties) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, property := range p {
		out.WriteByte("{,"[min(i, 1)])
		for _, part := range []any{property.Name, property.JSONSchema} {
			text, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			out.Write(text)
			if part == any(property.Name) {
				out.WriteByte(':')
			}
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// JSONSchema returns a JSON Schema of the documents that s reads, with all fields and their hints. A required field
// has no default, because its default would break its rules. Ignored fields are deprecated. A schema can't express
// every rule, so a document that matches it may still be invalid.
func (s *Schema[C]) JSONSchema(title string, hints map[string]Hint) *JSONSchema {
	schema := &JSONSchema{Schema: "https://json-schema.org/draft/2020-12/schema", Title: title, Type: "object",
		AdditionalProperties: false}
	for _, f := range s.fields {
		hint := hints[f.name]
		property := JSONSchema{Description: hint.Description, Enum: hint.Enum, MaxLength: hint.MaxLength,
			Pattern: hint.Pattern, Format: hint.Format}
		switch f.defaultValue.Interface().(type) {
		case string:
			property.Type = "string"
		case bool:
			property.Type = "boolean"
		case int:
			property.Type = "integer"
		case float64:
			property.Type = "number"
		case Texts:
			property.Type, property.AdditionalProperties = "object", textSchema()
		case Object:
			property.Type = "object"
		case List:
			property.Type, property.Items = "array", &JSONSchema{Type: "string"}
		}
		if property.Type == "integer" || property.Type == "number" {
			property.Minimum = &hint.Minimum
			if hint.Maximum != 0 {
				property.Maximum = &hint.Maximum
			}
		}
		switch {
		case hint.Required:
			schema.Required = append(schema.Required, f.name)
			if property.Type == "string" {
				property.MinLength = 1
			}
		case hint.Or != "":
			schema.AnyOf = append(schema.AnyOf, &JSONSchema{Required: []string{f.name}},
				&JSONSchema{Required: []string{hint.Or}})
		case property.Type == "object":
			property.Default = Texts{}
		case property.Type == "array":
			property.Default = []string{}
		default:
			property.Default = f.defaultValue.Interface()
		}
		schema.Properties = append(schema.Properties, Property{f.name, property})
	}
	for _, name := range slices.Sorted(maps.Keys(s.ignored)) {
		schema.Properties = append(schema.Properties,
			Property{name, JSONSchema{Description: s.ignored[name], Deprecated: true}})
	}
	return schema
}

// Without returns the schema without some fields. If the schema requires one of two alternative fields, the
// alternatives of the removed fields become required.
func (s *JSONSchema) Without(fields ...string) *JSONSchema {
	reduced := *s
	reduced.Properties = slices.DeleteFunc(slices.Clone(s.Properties),
		func(p Property) bool { return slices.Contains(fields, p.Name) })
	reduced.AnyOf, reduced.Required = nil, slices.Clone(s.Required)
	for _, alternative := range s.AnyOf {
		if !slices.Contains(fields, alternative.Required[0]) {
			reduced.Required = append(reduced.Required, alternative.Required...)
		}
	}
	return &reduced
}

// textSchema returns the schema of an entry of Texts.
func textSchema() *JSONSchema {
	text := JSONSchema{Type: "string"}
	object := func(required string, more ...Property) *JSONSchema {
		return &JSONSchema{Type: "object", Required: []string{required}, AdditionalProperties: false,
			Properties: append(Properties{{required, text}}, more...)}
	}
	hide := Property{"secret", JSONSchema{Type: "boolean", Description: "the value is never shown"}}
	return &JSONSchema{AnyOf: []*JSONSchema{&text, object("value", hide), object("fromFile", hide),
		object("fromEnv", hide)}}
}

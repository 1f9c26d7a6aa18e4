package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/swaggest/jsonschema-go"
)

// prefix is the path of the schemas within a document.
const prefix = "#/components/schemas/"

// Types holds the facts about Go types that reflection cannot find.
type Types struct {
	// Names are the names of schemas by Go type. Other types are named after the Go type, with a capital first letter.
	Names map[reflect.Type]string
	// Enums are all values of types that have only a few.
	Enums map[reflect.Type][]string
	// Schemas are the schemas of types that marshal themselves. A type in Schemas must not be in Enums.
	Schemas map[reflect.Type]Schema
	// About returns the description of a field of a struct, "" for none. It may be nil.
	About func(of reflect.Type, field string) string
	// Examples are examples of fields, by the field's name in JSON.
	Examples map[string]any
}

// schemas collects the schemas that others refer to by name, and the first error.
type schemas struct {
	types     Types
	reflector jsonschema.Reflector
	named     map[string]Schema
	err       error
}

// of returns the schema of a value's type.
func (s *schemas) of(value any) Schema {
	if schema, ok := s.types.Schemas[reflect.TypeOf(value)]; ok {
		return schema
	}
	schema, err := s.reflector.Reflect(value,
		jsonschema.RootRef, jsonschema.DefinitionsPrefix(prefix),
		jsonschema.CollectDefinitions(func(name string, schema jsonschema.Schema) {
			plain, err := asSchema(schema)
			s.named[name] = plain
			s.fail(err)
		}),
		jsonschema.InterceptDefName(func(t reflect.Type, _ string) string { return s.nameOf(t) }),
		jsonschema.InterceptSchema(s.ofType),
		jsonschema.InterceptProp(s.ofField),
		jsonschema.InterceptNullability(removeNull),
	)
	s.fail(err)
	plain, err := asSchema(schema)
	s.fail(err)
	return plain
}

func (s *schemas) fail(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("describe a type: %w", err)
	}
}

func asSchema(schema jsonschema.Schema) (plain Schema, err error) {
	text, err := json.Marshal(schema)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	return plain, err
}

func (s *schemas) nameOf(t reflect.Type) string {
	if name := s.types.Names[t]; name != "" {
		return name
	}
	first := []rune(t.Name())
	if len(first) > 0 {
		first[0] = unicode.ToUpper(first[0])
	}
	return string(first)
}

// ofType replaces the schemas of types for which reflection would find the wrong one.
func (s *schemas) ofType(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := p.Value.Type()
	if own, ok := s.types.Schemas[t]; ok && !p.Processed {
		text, err := json.Marshal(own)
		if err == nil {
			err = json.Unmarshal(text, p.Schema)
		}
		return true, err
	}
	if values := s.types.Enums[t]; values != nil && !p.Processed {
		p.Schema.WithType(jsonschema.String.Type())
		for _, value := range values {
			p.Schema.Enum = append(p.Schema.Enum, value)
		}
		return true, nil
	}
	return false, nil
}

// ofField marks the fields that are always present, which are those without omitempty and omitzero, as required. It
// also adds their descriptions.
func (s *schemas) ofField(p jsonschema.InterceptPropParams) error {
	if !p.Processed {
		return nil
	}
	_, options, _ := strings.Cut(p.Field.Tag.Get("json"), ",")
	if !strings.Contains(options, "omit") && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}
	makeNullable(p, strings.Contains(options, "omit"))
	if s.types.About != nil && p.ParentSchema.ReflectType != nil {
		if about := s.types.About(p.ParentSchema.ReflectType, p.Name); about != "" && p.PropertySchema.Ref == nil {
			p.PropertySchema.WithDescription(about)
		}
	}
	return nil
}

// makeNullable makes a field nullable that points to a named schema, or whose tag says nullable.
func makeNullable(p jsonschema.InterceptPropParams, leftOut bool) {
	field := p.PropertySchema
	switch {
	case field.Ref != nil && p.Field.Type.Kind() == reflect.Pointer && !leftOut:
		reference := (&jsonschema.Schema{Ref: field.Ref}).ToSchemaOrBool()
		*field = jsonschema.Schema{AnyOf: []jsonschema.SchemaOrBool{jsonschema.Null.ToSchemaOrBool(), reference}}
	case field.Ref != nil:
		*field = jsonschema.Schema{Ref: field.Ref}
	case p.Field.Tag.Get("nullable") == "true":
		field.AddType(jsonschema.Null)
	}
}

// removeNull makes lists and maps not nullable, because answers have empty ones instead of null. A field whose tag
// says nullable is an exception.
func removeNull(p jsonschema.InterceptNullabilityParams) {
	if k := p.Type.Kind(); p.NullAdded && (k == reflect.Slice || k == reflect.Map) {
		p.Schema.RemoveType(jsonschema.Null)
	}
}

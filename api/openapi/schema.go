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

// schemaPrefix is the path of the schemas within a document.
const schemaPrefix = "#/components/schemas/"

// Types has the facts about Go types that reflection cannot find.
type Types struct {
	// Names are the names of schemas. The schema of any other type has the name of the Go type, with a capital first
	// letter.
	Names map[reflect.Type]string
	// Enums are the possible values of string types with few values.
	Enums map[reflect.Type][]string
	// Schemas are the schemas of types that marshal themselves. A type in Schemas must not be in Enums.
	Schemas map[reflect.Type]Schema
	// About returns the description of a field of a struct type, or "". It may be nil.
	About func(structType reflect.Type, field string) string
	// Examples are examples of fields, by the field's name in JSON.
	Examples map[string]any
}

// schemas builds the schemas of Go types. It collects the named ones and the first error.
type schemas struct {
	types     Types
	reflector jsonschema.Reflector
	named     map[string]Schema
	err       error
}

// schemaOf returns the schema of a value's type, and collects the schemas to which it refers.
func (s *schemas) schemaOf(value any) Schema {
	if schema, ok := s.types.Schemas[reflect.TypeOf(value)]; ok {
		return schema
	}
	schema, err := s.reflector.Reflect(value,
		jsonschema.RootRef, jsonschema.DefinitionsPrefix(schemaPrefix),
		jsonschema.CollectDefinitions(func(name string, schema jsonschema.Schema) {
			plain, err := toSchema(schema)
			s.named[name] = plain
			s.recordError(err)
		}),
		jsonschema.InterceptDefName(func(t reflect.Type, _ string) string { return s.nameOf(t) }),
		jsonschema.InterceptSchema(s.interceptType),
		jsonschema.InterceptProp(s.interceptField),
		jsonschema.InterceptNullability(removeNull),
	)
	s.recordError(err)
	plain, err := toSchema(schema)
	s.recordError(err)
	return plain
}

func (s *schemas) recordError(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("describe a type: %w", err)
	}
}

func toSchema(schema jsonschema.Schema) (plain Schema, err error) {
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

// interceptType sets the schema of a type in Types.Schemas or Types.Enums, for which reflection would find a wrong
// schema.
func (s *schemas) interceptType(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := p.Value.Type()
	if schema, ok := s.types.Schemas[t]; ok && !p.Processed {
		text, err := json.Marshal(schema)
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

// interceptField marks a field as required if it is always present, because its tag has neither omitempty nor
// omitzero. It also sets whether the field is nullable, and its description.
func (s *schemas) interceptField(p jsonschema.InterceptPropParams) error {
	if !p.Processed {
		return nil
	}
	_, options, _ := strings.Cut(p.Field.Tag.Get("json"), ",")
	mayBeOmitted := strings.Contains(options, "omit")
	if !mayBeOmitted && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}
	makeNullable(p, mayBeOmitted)
	if s.types.About != nil && p.ParentSchema.ReflectType != nil {
		if about := s.types.About(p.ParentSchema.ReflectType, p.Name); about != "" && p.PropertySchema.Ref == nil {
			p.PropertySchema.WithDescription(about)
		}
	}
	return nil
}

// makeNullable makes a field nullable if it is a pointer that is never omitted and refers to a named schema, or if its
// tag says nullable.
func makeNullable(p jsonschema.InterceptPropParams, mayBeOmitted bool) {
	field := p.PropertySchema
	switch {
	case field.Ref != nil && p.Field.Type.Kind() == reflect.Pointer && !mayBeOmitted:
		reference := (&jsonschema.Schema{Ref: field.Ref}).ToSchemaOrBool()
		*field = jsonschema.Schema{AnyOf: []jsonschema.SchemaOrBool{jsonschema.Null.ToSchemaOrBool(), reference}}
	case field.Ref != nil:
		*field = jsonschema.Schema{Ref: field.Ref}
	case p.Field.Tag.Get("nullable") == "true":
		field.AddType(jsonschema.Null)
	}
}

// removeNull makes lists and maps not nullable, because answers have empty lists and maps instead of null. Only fields
// whose tag says nullable are nullable (makeNullable).
func removeNull(p jsonschema.InterceptNullabilityParams) {
	if k := p.Type.Kind(); p.NullAdded && (k == reflect.Slice || k == reflect.Map) {
		p.Schema.RemoveType(jsonschema.Null)
	}
}

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

// prefix is where a document has its schemas.
const prefix = "#/components/schemas/"

// Types say of Go types what they do not say of themselves.
type Types struct {
	// Names are the schemas' names of types whose own would not do; of others it is the type's, with a capital letter.
	Names map[reflect.Type]string
	// Enums are all values of types that have few.
	Enums map[reflect.Type][]string
	// Schemas are those of types that write their JSON themselves. One that is a type's alone is not to be found in
	// Enums.
	Schemas map[reflect.Type]Schema
	// About describes a field of a struct; it may be nil.
	About func(of reflect.Type, field string) string
	// Words are the examples of fields, by the field's name in JSON.
	Words map[string]any
}

// schemas collects those that others refer to.
type schemas struct {
	types     Types
	reflector jsonschema.Reflector
	named     map[string]Schema
	err       error
}

// of is the schema of a value's type.
func (s *schemas) of(value any) Schema {
	if schema, ok := s.types.Schemas[reflect.TypeOf(value)]; ok {
		return schema
	}
	schema, err := s.reflector.Reflect(value,
		jsonschema.RootRef, jsonschema.DefinitionsPrefix(prefix),
		jsonschema.CollectDefinitions(func(name string, schema jsonschema.Schema) {
			plain, err := asSchema(schema)
			s.named[name] = plain
			s.note(err)
		}),
		jsonschema.InterceptDefName(func(t reflect.Type, _ string) string { return s.nameOf(t) }),
		jsonschema.InterceptSchema(s.ofType),
		jsonschema.InterceptProp(s.ofField),
		jsonschema.InterceptNullability(nullOnlyIfSo),
	)
	s.note(err)
	plain, err := asSchema(schema)
	s.note(err)
	return plain
}

func (s *schemas) note(err error) {
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

// ofType gives types their schemas that the reflector would not find out.
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

// ofField says which fields are always there: those that encoding/json leaves out under no condition.
func (s *schemas) ofField(p jsonschema.InterceptPropParams) error {
	if !p.Processed {
		return nil
	}
	_, options, _ := strings.Cut(p.Field.Tag.Get("json"), ",")
	if !strings.Contains(options, "omit") && !slices.Contains(p.ParentSchema.Required, p.Name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}
	nullOrElsewhere(p, strings.Contains(options, "omit"))
	if s.types.About != nil && p.ParentSchema.ReflectType != nil {
		if about := s.types.About(p.ParentSchema.ReflectType, p.Name); about != "" && p.PropertySchema.Ref == nil {
			p.PropertySchema.WithDescription(about)
		}
	}
	return nil
}

// nullOrElsewhere has a field be null that has a pointer to what is described elsewhere, or whose tag says nullable.
func nullOrElsewhere(p jsonschema.InterceptPropParams, leftOut bool) {
	field := p.PropertySchema
	switch {
	case field.Ref != nil && p.Field.Type.Kind() == reflect.Pointer && !leftOut:
		elsewhere := (&jsonschema.Schema{Ref: field.Ref}).ToSchemaOrBool()
		*field = jsonschema.Schema{AnyOf: []jsonschema.SchemaOrBool{jsonschema.Null.ToSchemaOrBool(), elsewhere}}
	case field.Ref != nil:
		*field = jsonschema.Schema{Ref: field.Ref}
	case p.Field.Tag.Get("nullable") == "true":
		field.AddType(jsonschema.Null)
	}
}

// nullOnlyIfSo has lists and maps not be null: an answer has empty ones instead, but where a field's tag says
// nullable.
func nullOnlyIfSo(p jsonschema.InterceptNullabilityParams) {
	if k := p.Type.Kind(); p.NullAdded && (k == reflect.Slice || k == reflect.Map) {
		p.Schema.RemoveType(jsonschema.Null)
	}
}

package openapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// exampleTime is the time in all examples.
var exampleTime = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// maxDepth bounds the depth of examples of recursive types.
const maxDepth = 12

// example returns the JSON of a value of a type with all its fields set.
func (s *schemas) example(t reflect.Type) json.RawMessage {
	value := reflect.New(t).Elem()
	s.fill(value, "", 0)
	text, err := json.Marshal(value.Interface())
	s.recordError(err)
	return text
}

// fill sets a value to the example for fields with this JSON name or, without one, to an example for its type. It
// fills structs, lists and maps recursively.
func (s *schemas) fill(v reflect.Value, name string, depth int) {
	if !v.CanSet() || depth > maxDepth {
		return
	}
	if example, ok := s.types.Examples[name]; ok && setExample(v, example) {
		return
	}
	switch t := v.Type(); {
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(exampleTime))
		return
	case t == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte("{}"))
		return
	case s.types.Enums[t] != nil && t.Kind() == reflect.String:
		v.SetString(s.types.Enums[t][0])
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("…")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.fill(v.Elem(), name, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		s.fill(v.Index(0), name, depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		s.fill(key, name+"{}", depth+1)
		s.fill(value, "", depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			fieldName, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if fieldName != "-" {
				s.fill(v.Field(i), fieldName, depth+1)
			}
		}
	}
}

// setExample sets a value to an example. It returns false if the value's type does not allow the example.
func setExample(v reflect.Value, example any) bool {
	text, err := json.Marshal(example)
	if err != nil {
		return false
	}
	decoded := reflect.New(v.Type())
	if json.Unmarshal(text, decoded.Interface()) != nil {
		return false
	}
	v.Set(decoded.Elem())
	return true
}

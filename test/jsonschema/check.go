package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// formats are the known formats of texts. The formats of numbers only limit their size.
var formats = map[string]func(string) error{
	"date-time": func(text string) error { _, err := time.Parse(time.RFC3339, text); return err },
	"uri": func(text string) error {
		u, err := url.Parse(text)
		if err == nil && !u.IsAbs() {
			err = errors.New("the address is not absolute")
		}
		return err
	},
	"int64": func(string) error { return nil },
}

// Check returns an error that lists where and how a decoded value deviates from the schema.
func (s *Schema) Check(value any) error { return errors.Join(s.check("", value)...) }

func (s *Schema) check(at string, value any) (bad []error) {
	wrong := func(format string, args ...any) {
		bad = append(bad, fmt.Errorf("at %q: "+format, append([]any{at}, args...)...))
	}
	if s.never {
		wrong("nothing may be here")
	}
	if s.target != nil {
		bad = append(bad, s.target.check(at, value)...)
	}
	if len(s.Type) > 0 && !slices.ContainsFunc(s.Type, func(name string) bool { return isOf(name, value) }) {
		wrong("%v is no %s", value, strings.Join(s.Type, " or "))
	}
	if text, ok := value.(string); s.Enum != nil && (!ok || !slices.Contains(s.Enum, text)) {
		wrong("%v is none of %q", value, s.Enum)
	}
	var refused []error
	for _, one := range s.AnyOf {
		why := one.check(at, value)
		if refused = append(refused, why...); len(why) == 0 {
			refused = nil
			break
		}
	}
	bad = append(bad, refused...)
	switch value := value.(type) {
	case string:
		s.checkText(value, wrong)
	case json.Number:
		n, err := value.Float64()
		if err != nil || s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
			wrong("%s is out of the range", value)
		}
	case []any:
		for i, one := range value {
			if s.Items != nil {
				bad = append(bad, s.Items.check(fmt.Sprintf("%s/%d", at, i), one)...)
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := value[name]; !ok {
				wrong("there is no %s", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if of, known := s.property(name); !known {
				wrong("%s is not described", name)
			} else if of != nil {
				bad = append(bad, of.check(at+"/"+name, value[name])...)
			}
		}
	}
	return bad
}

// property returns the schema of a field, nil if any value is valid, and whether the object may have the field.
func (s *Schema) property(name string) (of *Schema, known bool) {
	if of = s.Properties[name]; of == nil {
		of = s.AdditionalProperties
	}
	return of, of != nil || s.Properties == nil
}

func (s *Schema) checkText(text string, wrong func(format string, args ...any)) {
	n := utf8.RuneCountInString(text)
	if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		wrong("%q has %d characters", text, n)
	}
	if s.Pattern != nil && !s.Pattern.MatchString(text) {
		wrong("%q does not match %s", text, s.Pattern)
	}
	if s.Format != "" {
		if err := formats[s.Format](text); err != nil {
			wrong("%q is no %s: %w", text, s.Format, err)
		}
	}
}

// isOf reports whether a value is of a type.
func isOf(name string, value any) bool {
	switch value := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		n, err := value.Float64()
		return name == "number" || name == "integer" && err == nil && n == math.Trunc(n)
	case []any:
		return name == "array"
	}
	return name == "object"
}

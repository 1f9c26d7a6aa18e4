package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Violation is one rule that a document breaks: the field, its value (shortened), and the rule.
type Violation struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Message string `json:"message"`
}

// shortValue is the greatest length in bytes of a value in a Violation.
const shortValue = 80

// Violate creates a Violation. It shortens the value, and a field name from the user, to about 80 bytes, and hides
// secrets that the field's name or the value itself reveals.
func Violate(field, value, format string, args ...any) Violation {
	name := field
	if strings.HasSuffix(field, ".fromFile") || strings.HasSuffix(field, ".fromEnv") {
		name = "" // the value is a path or a name, not the text with that name
	}
	value = Text{Value: value}.Shown(name).Value
	return Violation{Field: shorten(field, shortValue), Value: shorten(value, shortValue),
		Message: fmt.Sprintf(format, args...)}
}

// shorten cuts a text to at most most bytes, between two characters.
func shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// Violations are all violations of one document. They are an error if there is at least one.
type Violations []Violation

// Error lists all violations in one line.
func (v Violations) Error() string {
	parts := make([]string, len(v))
	for i, one := range v {
		parts[i] = strings.TrimPrefix(one.Field+": "+one.Message, ": ")
	}
	return strings.Join(parts, "; ")
}

// OrNil returns v as an error, or nil if it is empty.
func (v Violations) OrNil() error {
	if len(v) == 0 {
		return nil
	}
	return v
}

// And returns v with those of more that concern other fields, so that Check does not report again what Decode could
// not read.
func (v Violations) And(more Violations) Violations {
	all := slices.Clone(v)
	for _, m := range more {
		named := func(one Violation) bool {
			whole, _, _ := strings.Cut(one.Field, ".")
			return one.Field == m.Field || whole == m.Field
		}
		if !slices.ContainsFunc(v, named) {
			all = append(all, m)
		}
	}
	return all
}

// moreOf formats the number of unlisted items: "1 more field is" or "3 more fields are".
func moreOf(n int, one, many string) string {
	if n == 1 {
		return "1 more " + one
	}
	return fmt.Sprintf("%d more %s", n, many)
}

package document

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Violation is one rule that a document breaks: which field, the value as it
// was given (shortened), and what would be right.
type Violation struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Message string `json:"message"`
}

// shortValue is how much of a value a Violation shows, in bytes.
const shortValue = 80

// Violate makes a Violation with the value, and a field's name that someone made up, shortened to about 80 bytes. What
// is secret in the value is hidden, as far as the field's name or the value itself tells.
func Violate(field, value, format string, args ...any) Violation {
	name := field
	if strings.HasSuffix(field, ".fromFile") || strings.HasSuffix(field, ".fromEnv") {
		name = "" // it is not the text of that name
	}
	value = Text{Value: value}.Shown(name).Value
	return Violation{Field: shorten(field, shortValue), Value: shorten(value, shortValue),
		Message: fmt.Sprintf(format, args...)}
}

// shorten cuts a text to at most so many bytes, between two characters.
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

// Violations is all that is wrong with one document. It is an error when it
// is not empty.
type Violations []Violation

// Error lists all violations in one line.
func (v Violations) Error() string {
	parts := make([]string, len(v))
	for i, one := range v {
		parts[i] = strings.TrimPrefix(one.Field+": "+one.Message, ": ")
	}
	return strings.Join(parts, "; ")
}

// OrNil returns v as an error, or nil when nothing is violated.
func (v Violations) OrNil() error {
	if len(v) == 0 {
		return nil
	}
	return v
}

// And is v with those of more that are about other fields: what Decode could
// not read is not judged a second time by Check.
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

// moreOf is how many more there are of what is not listed: "1 more field is" or "3 more fields are".
func moreOf(n int, one, many string) string {
	if n == 1 {
		return "1 more " + one
	}
	return fmt.Sprintf("%d more %s", n, many)
}

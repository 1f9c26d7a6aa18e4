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

// maxShown is the maximum length in bytes of the value and of the field's name in a Violation.
const maxShown = 80

// Violate creates a Violation. It shortens the value and the field's name, which may come from the user, and hides a
// value that the field's name or the value itself marks as a secret.
func Violate(field, value, format string, args ...any) Violation {
	name := field
	if strings.HasSuffix(field, ".fromFile") || strings.HasSuffix(field, ".fromEnv") {
		name = "" // the value is a path or a variable's name, not the secret
	}
	value = Text{Value: value}.Shown(name).Value
	return Violation{Field: shorten(field, maxShown), Value: shorten(value, maxShown),
		Message: fmt.Sprintf(format, args...)}
}

// shorten cuts a text to at most limit bytes, between two characters.
func shorten(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// Violations are the violations of one document. OrNil returns them as an error.
type Violations []Violation

// Error lists all violations in one line.
func (v Violations) Error() string {
	parts := make([]string, len(v))
	for i, violation := range v {
		parts[i] = strings.TrimPrefix(violation.Field+": "+violation.Message, ": ")
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

// And returns v and those violations of more whose field has none in v. Decode leaves a field empty that it could not
// read, so Check would report it again.
func (v Violations) And(more Violations) Violations {
	all := slices.Clone(v)
	for _, m := range more {
		sameField := func(other Violation) bool {
			field, _, _ := strings.Cut(other.Field, ".")
			return other.Field == m.Field || field == m.Field
		}
		if !slices.ContainsFunc(v, sameField) {
			all = append(all, m)
		}
	}
	return all
}

// moreOf formats the number of unlisted items: "1 more field is" or "3 more fields are".
func moreOf(n int, singular, plural string) string {
	if n == 1 {
		return "1 more " + singular
	}
	return fmt.Sprintf("%d more %s", n, plural)
}

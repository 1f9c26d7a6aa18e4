package app

import "strings"

// Violation is one rule that a document breaks: which field, the value as it
// was given (shortened), and what would be right.
type Violation struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Message string `json:"message"`
}

// Violations is all that is wrong with one document. It is an error when it
// is not empty.
type Violations []Violation

// Error lists all violations in one line.
func (v Violations) Error() string {
	parts := make([]string, len(v))
	for i, one := range v {
		parts[i] = one.Field + ": " + one.Message
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

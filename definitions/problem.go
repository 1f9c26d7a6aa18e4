package definitions

import (
	"fmt"
	"strings"
)

// Problem is a mistake in the files.
type Problem struct {
	At Position
	// Subject names the definition, such as "job nightly". Field and Value are "" if the problem does not concern a
	// field.
	Subject, Field, Value string
	// Message says what is wrong or missing, and how to correct it.
	Message string
}

// String returns the problem in one line, with the value unless the message contains it.
func (p Problem) String() string {
	var parts []string
	for _, part := range []string{p.At.String(), p.Subject, p.Field} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := p.Message
	isInMessage := len(p.Value) > 3 && strings.Contains(text, p.Value) // a shorter value may be there by chance
	if p.Value != "" && !isInMessage {
		text = fmt.Sprintf("%s (found %s)", text, p.Value)
	}
	return strings.Join(append(parts, text), ": ")
}

// Problems are all mistakes that were found.
type Problems []Problem

// Error lists the problems, one in each line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// orNil returns the problems as an error, or nil if there are none.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

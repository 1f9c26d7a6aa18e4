package definitions

import (
	"fmt"
	"strings"
)

// Problem is a mistake in the files: its position, its subject, and what is right.
type Problem struct {
	At Position
	// Subject names the definition, such as "job nightly". Field and Value are "" if the problem is not about a
	// field.
	Subject, Field, Value string
	Message               string
}

func (p Problem) String() string {
	var parts []string
	for _, part := range []string{p.At.String(), p.Subject, p.Field} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := p.Message
	if said := len(p.Value) > 3 && strings.Contains(text, p.Value); p.Value != "" && !said {
		text = fmt.Sprintf("%s (found %s)", text, p.Value)
	}
	return strings.Join(append(parts, text), ": ")
}

// Problems are all mistakes that were found. They are an error if there are any.
type Problems []Problem

// Error lists the problems, one in each line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
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

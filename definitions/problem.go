package definitions

import (
	"fmt"
	"strings"
)

// Problem is one mistake in the files: where, of what, and what would be right.
type Problem struct {
	At Place
	// Subject is what it is about, such as "job nightly"; Field and Value are "" where it is about no field.
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

// Problems are all mistakes that were found. They are an error where there are some.
type Problems []Problem

// Error lists them, one in each line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// orNil is an error, or nil where there is no problem.
func (p Problems) orNil() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

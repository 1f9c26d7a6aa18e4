// Package commandline is shared by all commands of the server. It has types of flag values, errors about flags, and a
// list of errors, so that a command can report all errors at once.
package commandline

import (
	"errors"
	"fmt"
)

// ErrUsage is the error of a command whose flags are wrong, after the command has printed an explanation.
var ErrUsage = errors.New("usage")

// Errors is a list of errors.
type Errors []error

// Add adds an error.
func (e *Errors) Add(format string, args ...any) { *e = append(*e, fmt.Errorf(format, args...)) }

// Unless adds an error if ok is false.
func (e *Errors) Unless(ok bool, format string, args ...any) {
	if !ok {
		e.Add(format, args...)
	}
}

// About adds an error about a subject, such as a flag, unless err is nil.
func (e *Errors) About(subject string, err error) {
	if err != nil {
		e.Add("%s: %w", subject, err)
	}
}

// Join returns all errors as one error with a line for each, or nil.
func (e Errors) Join() error { return errors.Join(e...) }

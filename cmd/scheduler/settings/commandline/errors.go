// Package commandline is shared by all commands of the server: kinds of flag values, errors about flags, and a list
// that collects errors so that a command reports all of them at once.
package commandline

import (
	"errors"
	"fmt"
)

// ErrUsage is returned for errors of the command line that have been printed already.
var ErrUsage = errors.New("usage")

// Errors collects errors.
type Errors []error

// Add adds an error.
func (e *Errors) Add(format string, args ...any) { *e = append(*e, fmt.Errorf(format, args...)) }

// Unless adds an error if ok is false.
func (e *Errors) Unless(ok bool, format string, args ...any) {
	if !ok {
		e.Add(format, args...)
	}
}

// About adds an error about what, unless err is nil.
func (e *Errors) About(what string, err error) {
	if err != nil {
		e.Add("%s: %w", what, err)
	}
}

// Join returns all errors as one, each on a line of its own, or nil.
func (e Errors) Join() error { return errors.Join(e...) }

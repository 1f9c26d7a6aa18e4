// Package commandline has what all commands of the server share about their flags: kinds of values, what is said of a
// flag that is wrong, and errors that are collected so that all of them are reported at once.
package commandline

import (
	"errors"
	"fmt"
)

// ErrUsage marks errors of the command line that were printed already.
var ErrUsage = errors.New("usage")

// Errors collect what is wrong.
type Errors []error

// Add adds an error.
func (e *Errors) Add(format string, args ...any) { *e = append(*e, fmt.Errorf(format, args...)) }

// Unless adds an error where something does not hold.
func (e *Errors) Unless(ok bool, format string, args ...any) {
	if !ok {
		e.Add(format, args...)
	}
}

// About adds what is wrong with something, if anything is.
func (e *Errors) About(what string, err error) {
	if err != nil {
		e.Add("%s: %w", what, err)
	}
}

// Join is all of them as one error, each on a line of its own, or nil.
func (e Errors) Join() error { return errors.Join(e...) }

package commandline

import (
	"errors"
	"fmt"
	"strconv"
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

// CheckMachine refuses less than a machine or an agent can use, and more than any has, which would not be exact in
// thousandths. NaN is in no range. Prefix is what the names of the flags begin with.
func (e *Errors) CheckMachine(prefix string, cpus, memory float64) {
	plain := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	e.Unless(cpus >= 0.01 && cpus <= 1_000_000, "%scpus %s: want 0.01 to 1,000,000", prefix, plain(cpus))
	e.Unless(memory >= 32 && memory <= 1_000_000_000, "%smemory %s: want 32 to 1,000,000,000 (MB)", prefix,
		plain(memory))
}

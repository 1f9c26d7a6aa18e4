package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// errNoReturn is the error of a run whose function neither returned nor panicked.
var errNoReturn = errors.New("the job's function ended its goroutine (runtime.Goexit) and returned nothing")

// panicError is a panic of a job's function.
type panicError struct{ value, stack string }

// Error begins with the panic's value, because the executor keeps only the first bytes of an error.
func (e panicError) Error() string { return e.value + "\n\n" + e.stack }

// newPanicError returns the error for a recovered panic. Only the deferred function that recovers may call it, because
// it reads the stack.
func newPanicError(value any) error {
	return panicError{fmt.Sprintf("panic: %v", value), trimStack(string(debug.Stack()))}
}

// writeFailure writes what and an error to w, which is standard error. For a panic it writes the stack first and the
// value last: if a process runs once, the last bytes of its standard error become the cause of its failure.
func writeFailure(w io.Writer, what string, err error) {
	var panicked panicError
	if errors.As(err, &panicked) {
		fmt.Fprintln(w, panicked.stack)
		err = errors.New(panicked.value)
	}
	fmt.Fprintf(w, "%s: %v\n", what, err)
}

// trimStack removes the frames above the call that panicked. They are the same in every stack.
func trimStack(stack string) string {
	if _, below, found := strings.Cut(stack, "\npanic("); found {
		if lines := strings.SplitN(below, "\n", 3); len(lines) == 3 {
			return lines[2]
		}
	}
	return stack
}

// earlyError is the error of a run that ended early because its context had ended, as it should.
type earlyError struct{ error }

func (e earlyError) Unwrap() error { return e.error }

// endedEarly reports whether an error of a run is an earlyError.
func endedEarly(err error) bool {
	var early earlyError
	return errors.As(err, &early)
}

// withCause returns err unchanged while ctx has not ended. Afterwards it returns an earlyError if err wraps the cause
// or the error of ctx. To an error that wraps only the error of ctx it adds the cause.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err == nil || cause == nil:
		return err
	case errors.Is(err, cause):
		return earlyError{err}
	case errors.Is(err, ctx.Err()):
		return earlyError{fmt.Errorf("%w (%w)", err, cause)}
	}
	return err
}

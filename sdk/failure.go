package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// errEnded is what a run failed with whose function neither returned nor panicked.
var errEnded = errors.New("the job's function ended its goroutine (runtime.Goexit) and returned nothing")

// panicError is a panic of a job's function.
type panicError struct{ value, stack string }

// Error begins with the panic's value: the executor keeps the first bytes of it.
func (e panicError) Error() string { return e.value + "\n\n" + e.stack }

// newPanicError must be called while the panic is being recovered: it takes the stack.
func newPanicError(value any) error {
	return panicError{fmt.Sprintf("panic: %v", value), fromPanic(string(debug.Stack()))}
}

// writeFailure says on standard error what failed. Of a panic the stack comes first: of what a process that runs once
// has written there the last bytes are kept as the cause of its failure.
func writeFailure(w io.Writer, what string, err error) {
	var panicked panicError
	if errors.As(err, &panicked) {
		fmt.Fprintln(w, panicked.stack)
		err = errors.New(panicked.value)
	}
	fmt.Fprintf(w, "%s: %v\n", what, err)
}

// fromPanic leaves out of a stack what stands above the call that panicked: it is the same in each.
func fromPanic(stack string) string {
	if _, below, found := strings.Cut(stack, "\npanic("); found {
		if lines := strings.SplitN(below, "\n", 3); len(lines) == 3 {
			return lines[2]
		}
	}
	return stack
}

// explained adds the cause to an error that says only that the context has ended.
func explained(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil || !errors.Is(err, ctx.Err()) || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w (%w)", err, cause)
}

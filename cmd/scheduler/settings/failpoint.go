package settings

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/elasticjob-go/elasticjob/scheduler"
)

// FailpointVariable is the environment variable that arms a failure point, in the form name or name:n. It is only for
// tests: no flag and no request sets it. docs/development.md describes it.
const FailpointVariable = "ELASTICJOB_FAILPOINT"

// failpoint returns a function that kills this process with SIGKILL when it is called with the armed name for the
// n-th time. It returns nil for an empty text.
func failpoint(text string) (func(name string), error) {
	if text == "" {
		return nil, nil
	}
	name, count, hasCount := strings.Cut(text, ":")
	if !slices.Contains(scheduler.Points(), name) {
		return nil, fmt.Errorf("%s=%q: unknown failure point; known are %s", FailpointVariable, text,
			strings.Join(scheduler.Points(), ", "))
	}
	n := int64(1)
	if hasCount {
		var err error
		if n, err = strconv.ParseInt(count, 10, 64); err != nil || n < 1 {
			return nil, fmt.Errorf("%s=%q: must be name or name:n, with a number from 1", FailpointVariable, text)
		}
	}
	var calls atomic.Int64
	return func(point string) {
		if point == name && calls.Add(1) == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // this goroutine must not continue before the signal arrives
		}
	}, nil
}

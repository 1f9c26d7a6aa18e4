// Package lifecycle has helpers that end goroutines and close resources.
package lifecycle

import (
	"context"
	"errors"
	"time"
)

// Background runs a function in a goroutine. end cancels its context and waits until it has returned.
func Background(run func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Within calls f with a new context that lasts for d. It does not inherit from a context that is done already, so it
// is for work at the end of a process.
func Within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}

// Closing is for defer: it calls f and joins its error with *err.
func Closing(err *error, f func() error) { *err = errors.Join(*err, f()) }

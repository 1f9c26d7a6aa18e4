// Package lifecycle has functions that run goroutines, and that call functions at the end of a process.
package lifecycle

import (
	"context"
	"errors"
	"time"
)

// Background calls run in a goroutine. stop cancels the context and waits until run has returned.
func Background(run func(ctx context.Context)) (stop func()) {
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

// Within calls f with a new context that ends after d. The context has no parent, so Within is for work at the end of
// a process, when other contexts are done.
func Within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}

// Closing calls f and joins its error with *err. It is called by defer.
func Closing(err *error, f func() error) { *err = errors.Join(*err, f()) }

// Package lifecycle ends what was begun.
package lifecycle

import (
	"context"
	"errors"
	"time"
)

// Background runs something until the function that it returns is called, which waits for its end.
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

// Within calls f with a context that lasts for so long, whatever was interrupted: it is for what is to end.
func Within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f(ctx)
}

// Closing is for defer: it adds the error of a close to that of a function.
func Closing(err *error, f func() error) { *err = errors.Join(*err, f()) }

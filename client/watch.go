package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"
)

const (
	// pollInterval is the interval at which a watched execution is read even without an event.
	pollInterval = 5 * time.Second
	// absenceTimeout is the time for which a watched server need not answer, because it may restart, or another server
	// may take over.
	absenceTimeout = 2 * time.Minute
	// reconnectPause is the pause before a stream of events is opened again.
	reconnectPause = time.Second
)

// Watch yields the present state of an execution, and then its state after each change, until the execution has ended.
// If the server does not answer, but has answered this client before, Watch waits up to two minutes for the server.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[Answer[Execution], error] {
	return func(yield func(Answer[Execution], error) bool) {
		changes, stop := c.Changes(ctx, func(event Changed) bool { return slices.Contains(event.Executions, id) })
		defer stop()
		var last []byte
		lastAnswer := time.Now()
		for {
			a, err := c.Execution(ctx, id)
			switch {
			case err == nil && !bytes.Equal(a.Raw, last):
				last = a.Raw
				if !yield(a, nil) {
					return
				}
				fallthrough
			case err == nil:
				lastAnswer = time.Now()
				c.presence.away.Store(false)
				if a.Value.Ended() {
					return
				}
			case ctx.Err() != nil || !c.shouldWait(err, lastAnswer):
				yield(a, err)
				return
			}
			wait := pollInterval
			if err != nil {
				wait = reconnectPause
			}
			if awaitChange(ctx, changes, wait) != nil {
				yield(Answer[Execution]{}, ctx.Err())
				return
			}
		}
	}
}

// awaitChange waits for a change, but at most for d. If ctx ends, it returns the error of ctx.
func awaitChange(ctx context.Context, changes <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changes:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Changes returns a channel that receives a value after each event changed for which concerns returns true, and after
// every other event, because something may have changed. A value stands for all changes since the last receive.
// Changes reconnects when the stream ends; the first event of the new stream then counts as a change. The caller must
// call stop, which waits until the goroutine has ended.
func (c *Client) Changes(ctx context.Context, concerns func(Changed) bool) (changes <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan struct{}, 1)
	signal := func() {
		select {
		case ch <- struct{}{}:
		default: // a value that was not received yet also stands for this change
		}
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		for ctx.Err() == nil {
			for e, err := range c.Events(ctx) {
				if err != nil {
					break // reconnect; the caller learns of the failure by its own requests
				}
				var event Changed
				isOther := e.Name != "changed" || json.Unmarshal(e.Data, &event) != nil
				if isOther || event.All || concerns(event) {
					signal()
				}
			}
			_ = sleep(ctx, reconnectPause) // the loop checks ctx itself
		}
	})
	return ch, func() { cancel(); reader.Wait() }
}

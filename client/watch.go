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
	// absenceTimeout is how long a watched server may be silent: it may restart, or another server may take over.
	absenceTimeout = 2 * time.Minute
	// reconnectPause is the pause before a stream of events is opened again.
	reconnectPause = time.Second
)

// Watch yields an execution as it is now, and again after each change, until the execution has ended. It waits up to
// two minutes for a server that does not answer, if the server has answered this client before.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[Answer[Execution], error] {
	return func(yield func(Answer[Execution], error) bool) {
		changes, stop := c.Changes(ctx, func(now Changed) bool { return slices.Contains(now.Executions, id) })
		defer stop()
		var last []byte
		heard := time.Now()
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
				heard = time.Now()
				c.presence.away.Store(false)
				if a.Value.Ended() {
					return
				}
			case ctx.Err() != nil || !c.shouldWait(err, heard):
				yield(a, err)
				return
			}
			wait := pollInterval
			if err != nil {
				wait = reconnectPause
			}
			if await(ctx, changes, wait) != nil {
				yield(Answer[Execution]{}, ctx.Err())
				return
			}
		}
	}
}

// await waits for a change, for d, or until ctx ends; then it returns ctx's error.
func await(ctx context.Context, changes <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changes:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Changes returns a channel that receives a value after an event for which of returns true; one value stands for all
// changes since the last receive. It reconnects when the stream ends, and counts that as a change. The caller must
// call stop, which waits until the goroutine has ended.
func (c *Client) Changes(ctx context.Context, of func(Changed) bool) (changes <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan struct{}, 1)
	tell := func() {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	var over sync.WaitGroup
	over.Go(func() {
		for ctx.Err() == nil {
			for e, err := range c.Events(ctx) {
				var now Changed
				if err != nil {
					break // reconnect; the caller sees the fault by its own requests
				}
				if e.Name != "changed" || json.Unmarshal(e.Data, &now) != nil || now.All || of(now) {
					tell()
				}
			}
			_ = sleep(ctx, reconnectPause) // the loop checks ctx itself
		}
	})
	return ch, func() { cancel(); over.Wait() }
}

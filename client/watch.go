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
	// lookAnyway is how often what is watched is read again without an event that says so.
	lookAnyway = 5 * time.Second
	// absence is how long a watched server may give no answer: it restarts, or another one takes over.
	absence = 2 * time.Minute
	// reconnect comes before a stream of events is asked for again.
	reconnect = time.Second
)

// Watch gives an execution as it is now and each time that it has changed, and ends with its end. A server that gives
// no answer for up to two minutes is waited for, if it has answered this client before.
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
			case ctx.Err() != nil || !c.waits(err, heard):
				yield(a, err)
				return
			}
			wait := lookAnyway
			if err != nil {
				wait = reconnect
			}
			if await(ctx, changes, wait) != nil {
				yield(Answer[Execution]{}, ctx.Err())
				return
			}
		}
	}
}

// await waits for a change, or so long.
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

// Changes tells by the channel that something has changed that is of interest, once for all changes since it was read
// the last time. It connects again when the stream ends, which counts as a change. The function that comes with it
// ends that.
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
					break // it is asked for again; whoever watches sees by its own requests what is wrong
				}
				if e.Name != "changed" || json.Unmarshal(e.Data, &now) != nil || now.All || of(now) {
					tell()
				}
			}
			_ = sleep(ctx, reconnect) // its error is that of the loop
		}
	})
	return ch, func() { cancel(); over.Wait() }
}

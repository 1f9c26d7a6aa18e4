// Package queue is a queue whose producers never block. The local cluster uses it for the events of frameworks and
// executors, for the orders of agents, and for what agents report to the master.
package queue

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed means that a queue is closed and empty.
var ErrClosed = errors.New("queue is closed")

// Queue is a queue with one consumer. Its methods may be called concurrently. Create it with New.
type Queue[T any] struct {
	limit int
	wake  chan struct{}

	mu     sync.Mutex
	items  []T
	closed bool
}

// New creates an empty queue that holds at most limit items, or any number if limit is 0.
func New[T any](limit int) *Queue[T] { return &Queue[T]{limit: limit, wake: make(chan struct{}, 1)} }

// Push appends items without blocking. If the queue is closed, it drops the items and returns false. If there is no
// room for all items, the consumer is too slow: Push then closes and empties the queue, and returns false.
func (q *Queue[T]) Push(items ...T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.limit > 0 && len(q.items)+len(items) > q.limit {
		q.closed, q.items = true, nil
	} else {
		q.items = append(q.items, items...)
	}
	q.signal()
	return !q.closed
}

// Close appends the last items and closes the queue. On a closed queue it does nothing.
func (q *Queue[T]) Close(last ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed, q.items = true, append(q.items, last...)
		q.signal()
	}
}

// Take removes and returns all queued items. open says whether more items may follow.
func (q *Queue[T]) Take() (items []T, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, nil
	return items, !q.closed
}

// Wake returns a channel that gets a token after Push and Close. Several of these calls may yield only one token.
func (q *Queue[T]) Wake() <-chan struct{} { return q.wake }

// Next waits for items, and removes and returns all of them. It returns ErrClosed if the queue is closed and empty, or
// ctx's error if ctx ends first.
func (q *Queue[T]) Next(ctx context.Context) ([]T, error) {
	for {
		items, open := q.Take()
		switch {
		case len(items) > 0:
			return items, nil
		case !open:
			return nil, ErrClosed
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-q.wake:
		}
	}
}

// signal wakes the consumer. The caller holds mu.
func (q *Queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Package queue is the queue that stands wherever the local cluster hands something on without waiting: events to
// frameworks and executors, orders to agents, and news to the master.
package queue

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed says that a queue was closed and is empty.
var ErrClosed = errors.New("queue is closed")

// Queue is a queue that one goroutine empties. Its methods may be called concurrently. Make it with New.
type Queue[T any] struct {
	limit int
	wake  chan struct{}

	mu     sync.Mutex
	items  []T
	closed bool
}

// New makes an empty queue. It holds as many items as limit says, or, with 0, any number.
func New[T any](limit int) *Queue[T] { return &Queue[T]{limit: limit, wake: make(chan struct{}, 1)} }

// Push appends items and never waits. It reports false, and drops them, when the queue is closed, and when it is full:
// then its reader is too far behind, and the queue is closed and emptied.
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

// Close ends the queue after what is queued and the last items. A closed queue stays as it is.
func (q *Queue[T]) Close(last ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed, q.items = true, append(q.items, last...)
		q.signal()
	}
}

// Take returns what is queued, and whether more may come.
func (q *Queue[T]) Take() (items []T, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, nil
	return items, !q.closed
}

// Wake delivers after each Push and Close; several may be one delivery.
func (q *Queue[T]) Wake() <-chan struct{} { return q.wake }

// Next returns what is queued, and waits while that is nothing. Its error is ErrClosed, or ctx's.
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

// signal wakes the reader. The mutex is held.
func (q *Queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

package kubernetes

import "sync"

// queue is an unbounded FIFO queue for any number of consumers. Create it with newQueue; the zero value is not usable.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	ready chan struct{} // holds a token while the queue is not empty
}

func newQueue[T any]() *queue[T] { return &queue[T]{ready: make(chan struct{}, 1)} }

func (q *queue[T]) put(items ...T) {
	q.mu.Lock()
	q.items = append(q.items, items...)
	q.mu.Unlock()
	q.signal()
}

// signal wakes one consumer.
func (q *queue[T]) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take waits for an item, and removes and returns the first one. If done is closed first, ok is false.
func (q *queue[T]) take(done <-chan struct{}) (next T, ok bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			next, q.items = q.items[0], q.items[1:]
			more := len(q.items) > 0
			if !more {
				q.items = nil
			}
			q.mu.Unlock()
			if more {
				q.signal()
			}
			return next, true
		}
		q.mu.Unlock()
		select {
		case <-q.ready:
		case <-done:
			return next, false
		}
	}
}

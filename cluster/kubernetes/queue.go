package kubernetes

import "sync"

// queue holds what is to be done, in order, for as many as take it. The zero value is not ready.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	some  chan struct{} // has a token while there is something
}

func newQueue[T any]() *queue[T] { return &queue[T]{some: make(chan struct{}, 1)} }

func (q *queue[T]) put(items ...T) {
	q.mu.Lock()
	q.items = append(q.items, items...)
	q.mu.Unlock()
	q.signal()
}

func (q *queue[T]) signal() {
	select {
	case q.some <- struct{}{}:
	default:
	}
}

// take waits for the next, or for done.
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
		case <-q.some:
		case <-done:
			return next, false
		}
	}
}

package scheduler

import (
	"sync"

	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// input reports an event to the term's machine.
type input func(*term.Machine)

// inbox has the inputs that the machine has not received. Goroutines add them, and the loop takes all of them.
type inbox struct {
	mu     sync.Mutex
	inputs []input
	closed bool
	ready  chan struct{} // receives a value when there are inputs
}

// put adds an input, and reports whether the machine will receive it.
func (b *inbox) put(in input) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.inputs = append(b.inputs, in)
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns all inputs and removes them.
func (b *inbox) take() []input {
	b.mu.Lock()
	defer b.mu.Unlock()
	inputs := b.inputs
	b.inputs = nil
	return inputs
}

// close makes put refuse further inputs.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

package scheduler

import (
	"sync"

	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// input hands something that has happened to the term's machine.
type input func(*term.Machine)

// inbox is what the machine was not told yet: goroutines put into it, the loop takes all.
type inbox struct {
	mu     sync.Mutex
	inputs []input
	closed bool
	ready  chan struct{}
}

// put reports whether the machine will be told.
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

func (b *inbox) take() []input {
	b.mu.Lock()
	defer b.mu.Unlock()
	inputs := b.inputs
	b.inputs = nil
	return inputs
}

// shut lets nothing more in.
func (b *inbox) shut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

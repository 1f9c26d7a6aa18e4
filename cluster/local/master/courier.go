package master

import "sync"

// courier makes the calls of one agent one after another, outside of the
// master's mutex.
type courier struct {
	mu     sync.Mutex
	queue  []func()
	closed bool
	wake   chan struct{}
}

func newCourier() *courier { return &courier{wake: make(chan struct{}, 1)} }

func (c *courier) send(call func()) {
	c.mu.Lock()
	if !c.closed {
		c.queue = append(c.queue, call)
	}
	c.mu.Unlock()
	c.nudge()
}

// close lets run return after what was sent before.
func (c *courier) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.nudge()
}

func (c *courier) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *courier) run() {
	for range c.wake {
		for {
			c.mu.Lock()
			calls, closed := c.queue, c.closed
			c.queue = nil
			c.mu.Unlock()
			for _, call := range calls {
				call()
			}
			if len(calls) == 0 {
				if closed {
					return
				}
				break
			}
		}
	}
}

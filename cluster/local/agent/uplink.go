package agent

import (
	"context"
	"sync"

	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// uplink brings what the agent has to tell to the master, in order, from one
// goroutine that holds none of the agent's locks. Until open, it only collects.
type uplink struct {
	upstream master.Upstream
	wake     chan struct{}

	mu     sync.Mutex
	opened bool
	queue  []func(master.Upstream)
}

func newUplink(upstream master.Upstream) *uplink {
	return &uplink{upstream: upstream, wake: make(chan struct{}, 1)}
}

// tell queues one call.
func (u *uplink) tell(call func(master.Upstream)) {
	u.mu.Lock()
	u.queue = append(u.queue, call)
	u.mu.Unlock()
	u.poke()
}

// open lets the calls go, first before all that was queued.
func (u *uplink) open(first func(master.Upstream)) {
	u.mu.Lock()
	u.opened = true
	u.queue = append([]func(master.Upstream){first}, u.queue...)
	u.mu.Unlock()
	u.poke()
}

func (u *uplink) poke() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *uplink) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.wake:
		}
		for _, call := range u.take() {
			if ctx.Err() != nil {
				return
			}
			call(u.upstream)
		}
	}
}

func (u *uplink) take() []func(master.Upstream) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.opened {
		return nil
	}
	batch := u.queue
	u.queue = nil
	return batch
}

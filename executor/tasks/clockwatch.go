package tasks

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// clockWatch notifies daemons' shards when the wall clock has been set. The timers of the shards run by the monotonic
// clock, which does not jump, so they would not notice such a change. One watch polls the wall clock for all shards.
type clockWatch struct {
	log *slog.Logger

	mu        sync.Mutex
	listeners map[chan struct{}]bool
}

const (
	clockCheckInterval = time.Second
	// minClockStep is the smallest step that is reported to the shards. Smaller steps add up until they reach it.
	minClockStep = 2 * time.Millisecond
	// minLoggedStep is the smallest step that is logged.
	minLoggedStep = time.Second
)

func newClockWatch(log *slog.Logger) *clockWatch {
	return &clockWatch{log: log, listeners: map[chan struct{}]bool{}}
}

// subscribe registers a channel, whose capacity must be one. The channel gets a value whenever the clock was set,
// until stop is called.
func (c *clockWatch) subscribe(listener chan struct{}) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[listener] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, listener)
	}
}

// watch polls the wall clock and notifies the listeners, until ctx ends.
func (c *clockWatch) watch(ctx context.Context) {
	begin := time.Now()
	// ahead returns how far the wall clock has moved ahead of the monotonic clock since begin.
	ahead := func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(begin.Round(0)) - now.Sub(begin)
	}
	ticker := time.NewTicker(clockCheckInterval)
	defer ticker.Stop()
	for last := ahead(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		step := ahead() - last
		if step.Abs() < minClockStep {
			continue
		}
		last += step
		c.mu.Lock()
		listeners := slices.Collect(maps.Keys(c.listeners))
		c.mu.Unlock()
		if step.Abs() >= minLoggedStep && len(listeners) > 0 {
			c.log.Warn("wall clock changed", "by", step)
		}
		for _, listener := range listeners {
			select {
			case listener <- struct{}{}:
			default: // the shard has not received the previous notice yet
			}
		}
	}
}

package tasks

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// clockWatch tells daemons' shards when the wall clock has been set: their timers run by another one, which goes on
// evenly. So one timer looks at the clock, and not one for each shard.
type clockWatch struct {
	log *slog.Logger

	mu   sync.Mutex
	told map[chan struct{}]bool
}

const (
	lookAtClock = time.Second
	// setByMore is from which step on shards hear of it. Smaller ones add up until then.
	setByMore = 2 * time.Millisecond
	// worthALog is the step that a person may want to know of.
	worthALog = time.Second
)

func newClockWatch(log *slog.Logger) *clockWatch {
	return &clockWatch{log: log, told: map[chan struct{}]bool{}}
}

// tell has a value sent to the channel, which has room for one, whenever the clock was set, until stop is called.
func (c *clockWatch) tell(set chan struct{}) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told[set] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.told, set)
	}
}

func (c *clockWatch) watch(ctx context.Context) {
	begin := time.Now()
	// How far the wall clock is ahead of where it would be by the other one.
	ahead := func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(begin.Round(0)) - now.Sub(begin)
	}
	ticker := time.NewTicker(lookAtClock)
	defer ticker.Stop()
	for last := ahead(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		step := ahead() - last
		if step.Abs() < setByMore {
			continue
		}
		last += step
		c.mu.Lock()
		all := slices.Collect(maps.Keys(c.told))
		c.mu.Unlock()
		if step.Abs() >= worthALog && len(all) > 0 {
			c.log.Warn("wall clock set: no fire is run twice, and those of more than a minute ago are skipped", "by",
				step)
		}
		for _, set := range all {
			select {
			case set <- struct{}{}:
			default:
			}
		}
	}
}

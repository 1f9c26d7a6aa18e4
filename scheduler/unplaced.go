package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

const (
	// unplacedEvery is how often it is looked what finds no room; unplacedFor how long a shard finds none before that
	// is shown, for room is often a matter of seconds; unplacedMost how many are shown.
	unplacedEvery, unplacedFor, unplacedMost = 5 * time.Second, 10 * time.Second, 100
)

// showUnplaced has a session that wants it show what finds no room, until ctx ends.
func (r *termRunner) showUnplaced(ctx context.Context, on cluster.Demander) {
	look := func() (found []cluster.Unplaced, err error) {
		err = r.look(ctx, func(c *core.Core) { found = c.Views().Unplaced(unplacedMost) })
		return found, err
	}
	showUnplaced(ctx, look, on, r.s.opt.Logger)
}

// showUnplaced shows what a look has found each time for long enough. What an earlier session has shown stays until
// there can be such.
func showUnplaced(ctx context.Context, look func() ([]cluster.Unplaced, error), on cluster.Demander,
	log *slog.Logger) {
	type key struct {
		execution string
		item      int
	}
	began, since, problem := time.Now(), map[key]time.Time{}, ""
	for {
		select {
		case <-time.After(unplacedEvery):
		case <-ctx.Done():
			return
		}
		found, err := look()
		if err != nil {
			continue // the registry is silent: what is shown stays
		}
		now, still, long := time.Now(), map[key]time.Time{}, []cluster.Unplaced(nil)
		for _, u := range found {
			k := key{u.Execution, u.Item}
			still[k] = now
			if first, known := since[k]; known {
				still[k] = first
			}
			if now.Sub(still[k]) >= unplacedFor {
				long = append(long, u)
			}
		}
		since = still
		if now.Sub(began) < unplacedFor+unplacedEvery {
			continue
		}
		text := ""
		if err := on.ShowUnplaced(ctx, long); err != nil && !errors.Is(err, context.Canceled) {
			text = err.Error()
		}
		if text != "" && text != problem {
			log.Warn("shards without room not shown to the cluster's autoscaler; jobs are not affected", "error", text)
		}
		problem = text
	}
}

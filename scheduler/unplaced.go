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
	// unplacedInterval is the interval of the checks for unplaced shards. minUnplacedTime is how long a shard must
	// stay unplaced before it is shown, because room is often found within seconds. maxUnplaced is the maximum number
	// of shown shards.
	unplacedInterval, minUnplacedTime, maxUnplaced = 5 * time.Second, 10 * time.Second, 100
)

// showUnplaced shows unplaced shards to a session that wants them, until ctx ends.
func (r *termRunner) showUnplaced(ctx context.Context, on cluster.Demander) {
	visit := func() (found []cluster.Unplaced, err error) {
		err = r.read(ctx, func(c *core.Core) { found = c.Views().Unplaced(maxUnplaced) })
		return found, err
	}
	showUnplaced(ctx, visit, on, r.s.opt.Logger)
}

// showUnplaced shows the shards that each check has found for long enough. Shards that an earlier session has shown
// stay shown until then.
func showUnplaced(ctx context.Context, visit func() ([]cluster.Unplaced, error), on cluster.Demander,
	log *slog.Logger) {
	type key struct {
		execution string
		item      int
	}
	began, since, problem := time.Now(), map[key]time.Time{}, ""
	for {
		select {
		case <-time.After(unplacedInterval):
		case <-ctx.Done():
			return
		}
		found, err := visit()
		if err != nil {
			continue // the registry does not answer: the shown shards stay
		}
		now, still, long := time.Now(), map[key]time.Time{}, []cluster.Unplaced(nil)
		for _, u := range found {
			k := key{u.Execution, u.Item}
			still[k] = now
			if first, known := since[k]; known {
				still[k] = first
			}
			if now.Sub(still[k]) >= minUnplacedTime {
				long = append(long, u)
			}
		}
		since = still
		if now.Sub(began) < minUnplacedTime+unplacedInterval {
			continue
		}
		text := ""
		if err := on.ShowUnplaced(ctx, long); err != nil && !errors.Is(err, context.Canceled) {
			text = err.Error()
		}
		if text != "" && text != problem {
			log.Warn("unplaced shards not shown to the cluster's autoscaler; jobs are not affected", "error", text)
		}
		problem = text
	}
}

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
func (r *termRunner) showUnplaced(ctx context.Context, demander cluster.Demander) {
	find := func() (found []cluster.Unplaced, err error) {
		err = r.read(ctx, func(c *core.Core) { found = c.Views().Unplaced(maxUnplaced) })
		return found, err
	}
	showUnplaced(ctx, find, demander, r.s.opt.Logger)
}

// showUnplaced shows the shards that every check has found for minUnplacedTime. It makes no call before a shard can
// have been found for that long, so that until then the shards of an earlier session stay shown.
func showUnplaced(ctx context.Context, find func() ([]cluster.Unplaced, error), demander cluster.Demander,
	log *slog.Logger) {
	type key struct {
		execution string
		item      int
	}
	began, firstFound, problem := time.Now(), map[key]time.Time{}, ""
	for {
		select {
		case <-time.After(unplacedInterval):
		case <-ctx.Done():
			return
		}
		found, err := find()
		if err != nil {
			continue // the registry does not answer: the shown shards stay
		}
		now, stillFound, shown := time.Now(), map[key]time.Time{}, []cluster.Unplaced(nil)
		for _, u := range found {
			k := key{u.Execution, u.Item}
			stillFound[k] = now
			if first, found := firstFound[k]; found {
				stillFound[k] = first
			}
			if now.Sub(stillFound[k]) >= minUnplacedTime {
				shown = append(shown, u)
			}
		}
		firstFound = stillFound
		if now.Sub(began) < minUnplacedTime+unplacedInterval {
			continue
		}
		text := ""
		if err := demander.ShowUnplaced(ctx, shown); err != nil && !errors.Is(err, context.Canceled) {
			text = err.Error()
		}
		if text != "" && text != problem {
			log.Warn("unplaced shards not shown to the cluster's autoscaler; jobs are not affected", "error", text)
		}
		problem = text
	}
}

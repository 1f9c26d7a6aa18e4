package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// recordStaged records, with each report to a leader, since when a task has been STAGING.
func (c *checker) recordStaged(u cluster.Update) {
	since, staged := c.staged[u.TaskID]
	switch {
	case u.State != cluster.Staging:
		delete(c.staged, u.TaskID)
	case !staged:
		c.staged[u.TaskID] = c.w.now
	case c.orphans[u.TaskID] != "" && c.w.now-since >= c.w.opt.StagingLost:
		c.w.count(OrphanStaysStaged)
	}
}

// staysStaged reports whether a task has been STAGING for about as long as a launched task may be (rule E5). A leader
// counts the time from the launch, and kills the task some minutes before it abandons it.
func (c *checker) staysStaged(task string) bool {
	since, staged := c.staged[task]
	given := c.w.opt.StagingLost - c.w.opt.StagingKill - time.Second // the committed time is slightly earlier
	return staged && (c.w.now-since >= given || c.w.lastJump >= since)
}

// checkStaged checks that an orphan that stays STAGING does not block its shard for too long. The limit is the time
// that a live attempt may be STAGING, the time in which an agent may come back, two rounds of reconciliation, and some
// minutes.
func (c *checker) checkStaged() {
	w := c.w
	limit := w.opt.StagingLost + w.opt.UnreachableAfter + 2*w.opt.ReconcileInterval + 5*time.Minute
	if !w.calm || w.now-w.quietSince < limit {
		return
	}
	for _, task := range sorted(c.staged) {
		if c.removedBy[task] != "" {
			continue // nothing reports the tasks of a removed framework any more (rule T7)
		}
		if since := c.staged[task]; c.seenAlive[task] && w.now-since > limit {
			w.fail("E5 an orphan that stays STAGING does not hold its shard",
				"orphan %s has been STAGING for %s", task, w.now-since)
		}
	}
}

package sim

import (
	"fmt"
	"strconv"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// runsRecord is the committed record of the runs of a daemon's shard.
type runsRecord struct {
	Open, Last *wire.Run
	Ended      int64
	Totals     wire.Totals
}

func (j *jobMirror) daemon() bool { return j.cfg != nil && j.cfg.JobExecutionType == jobs.Daemon }

func runsKey(job string, item int) string { return job + "@" + strconv.Itoa(item) }

// applyRuns applies a committed record: a fire whose repeated run has ended is no longer cut off.
func (c *checker) applyRuns(key string, r runsRecord) {
	if r.Last != nil && r.Last.State != wire.RunKilled && r.Last.Fire.Equal(c.cut[key].Fire) {
		delete(c.cut, key)
	}
	c.runs[key] = r
	cut, there := c.cut[key]
	switch {
	case !there:
	case r.Ended == 0: // the next attempt begins, and its first run repeats the one that was cut off
		cut.Number = 1
		c.cut[key] = cut
	case r.Ended >= cut.Number:
		delete(c.cut, key) // the end of the run was reported with the end of its task, or with that of a later run
	}
}

// attemptEnded records the fire whose run was cut off by the end of a daemon's attempt, if the run must be repeated:
// its begin was committed before, its job had failover before this commit and after it, and nobody requested its end.
func (c *checker) attemptEnded(e *execRecord, s shardRecord) {
	if s.Replacing {
		c.w.count(DaemonReplaced)
	}
	key := runsKey(e.Job, s.Item)
	switch open := c.runs[key].Open; {
	case !e.Kill.IsZero() && !e.Kill.Is(reason.ServerStopped) || e.killed || s.Kill.Is(reason.KilledOnRequest):
		delete(c.cut, key)
	case open != nil && e.Kill.IsZero() && e.Settings != nil && e.Settings.Job.Failover && e.failedOver:
		c.cut[key] = *open
	}
}

// checkDaemonLaunch checks that, with failover, the next attempt of a shard is to repeat the fire that was cut off.
func (c *checker) checkDaemonLaunch(t wire.Task) {
	if t.Daemon == nil {
		return
	}
	key := runsKey(t.JobName, t.Item)
	if !t.Daemon.Failover {
		delete(c.cut, key)
		if !t.Daemon.Rerun.IsZero() {
			c.w.fail("X8 without failover no run is run again",
				"job %s, item %d: the next attempt is to run the fire of %s again", t.JobName, t.Item, t.Daemon.Rerun)
		}
		return
	}
	if cut := c.cut[key].Fire; !cut.IsZero() && !t.Daemon.Rerun.Equal(cut) {
		c.w.fail("X8 with failover a run that was cut off is run again",
			"job %s, item %d: the fire of %s was cut off, the next attempt is to run that of %s again", t.JobName,
			t.Item, cut, t.Daemon.Rerun)
	}
}

// checkRollout checks that changed settings are rolled out to one shard after the other.
func (c *checker) checkRollout(e *execRecord) {
	if !e.daemon() {
		return
	}
	replacing := 0
	e.eachShard(func(s shardRecord) {
		if s.Replacing {
			replacing++
		}
	})
	if replacing > 1 {
		c.w.fail("X8 changed settings come to one shard at a time", "execution %s: %d shards are being replaced", e.ID,
			replacing)
	}
}

// daemonToKeep returns a daemon job that can come up, or "".
func (c *checker) daemonToKeep() string {
	for _, name := range sorted(c.jobs) {
		j := c.jobs[name]
		if _, there := c.w.store.entries[pathApps+"/"+appOf(j)]; j.daemon() && there && j.cfg.CPUCount != neverCPUs {
			return name
		}
	}
	return ""
}

func appOf(j *jobMirror) string {
	if j.cfg == nil {
		return ""
	}
	return j.cfg.AppName
}

// daemonDown returns which shard of a daemon job does not run as its document says, or "".
func (c *checker) daemonDown(name string) string {
	j := c.job(name)
	up := map[int]bool{}
	for _, id := range sorted(c.execs) {
		e := c.execs[id]
		if e.Job != name || e.Ended > 0 {
			continue
		}
		if e.Settings == nil || !e.daemon() {
			return fmt.Sprintf("execution %s is open%s", id, c.explanation(name))
		}
		e.eachShard(func(s shardRecord) {
			up[s.Item] = s.State == executions.Running && s.KillSince.IsZero() && c.runsAs(s, j.cfg)
		})
	}
	for item := range j.cfg.ShardingTotalCount {
		if !up[item] {
			return fmt.Sprintf("item %d of job %s is not up%s", item, name, c.explanation(name))
		}
	}
	return ""
}

// runsAs reports whether a shard's task runs with the settings of a document, and has no report that is not committed
// yet.
func (c *checker) runsAs(s shardRecord, cfg *jobs.Config) bool {
	for _, a := range c.w.agents {
		t := a.tasks[s.TaskID]
		if t == nil {
			continue
		}
		if x := a.executors[t.executor]; x == nil || x.stopped || len(x.deferred) > 0 {
			continue // it has not reported everything
		}
		if c.w.api != nil && c.w.api.unheard(s.TaskID) {
			continue
		}
		if t.process == nil || t.state != cluster.Running || t.forgotten || len(t.updates) > 0 || len(t.pending) > 0 {
			continue
		}
		if got := c.runs[runsKey(cfg.JobName, s.Item)].Totals; !sameCounts(got, t.totals) {
			c.w.fail("X8 no run is lost or counted twice", "task %s has run as %+v, %+v is committed", s.TaskID,
				t.totals, got)
		}
		return t.wire.JobParameter == cfg.JobParameter && t.wire.Total == cfg.ShardingTotalCount &&
			t.wire.Daemon.Cron == cfg.Cron &&
			t.launch.Resources == cfg.Resources()
	}
	return false
}

// sameCounts ignores skipped fires, because they are reported with the end of the next run.
func sameCounts(a, b wire.Totals) bool { return a.Runs == b.Runs && a.Failed == b.Failed }

func (c *checker) explanation(job string) string {
	if l := c.w.leading; l != nil && !l.dead {
		if x, err := l.core.Views().Explain(job); err == nil {
			return fmt.Sprintf("; explain: %s %q waiting %+v running %+v", x.State, x.Notes,
				x.Waiting[:min(len(x.Waiting), 2)], x.Running[:min(len(x.Running), 2)])
		}
	}
	return ""
}

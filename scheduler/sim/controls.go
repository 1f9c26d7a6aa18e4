package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	historyevent "github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// control pauses, resumes or shuts down a job, and usually undoes that later.
func (u *users) control(name string) {
	w := u.w
	later := w.between(0, 30*time.Second)
	switch n := w.rng.IntN(10); {
	case n < 5:
		w.count(JobPaused)
		u.pauseJob(name, true)
		w.after(later, func() { u.pauseJob(name, false) })
	case n < 6:
		u.pauseJob(name, false)
	default:
		w.count(JobShutDown)
		u.change("shut down "+name, config.SetJobDisabled{Name: name, Disabled: true, Shutdown: true})
		w.after(later, func() { u.disableJob(name, false) })
	}
}

func (u *users) pauseJob(name string, paused bool) {
	l := u.w.leading
	if l == nil || l.dead {
		return
	}
	u.w.trace.add("a user pauses %s: %v", name, paused)
	l.request(operator.PauseRequested{Job: name, Paused: paused, Actor: byUser}, nil)
}

// setLimits gives some jobs a timeout, a retry backoff or a kill grace. UnreachableSeconds is the same for all jobs of
// a world.
func (u *users) setLimits(cfg *jobs.Config) {
	w := u.w
	if w.rng.IntN(3) == 0 {
		cfg.TimeoutSeconds = []int{1, 3, 20}[w.rng.IntN(3)]
	}
	if w.rng.IntN(3) == 0 {
		cfg.RetryBackoffSeconds, cfg.MaxRetries = []int{1, 5, 300}[w.rng.IntN(3)], 1+w.rng.IntN(2)
	}
	if w.rng.IntN(3) == 0 {
		cfg.KillGraceSeconds = []int{1, 20, 40}[w.rng.IntN(3)]
	}
	cfg.UnreachableSeconds = []int{0, 15, 300}[w.cfg.Seed%3]
}

// begun is an execution that a commit has created or launched while its job was off. what says which of the two.
type begun struct{ job, id, what string }

// recordBeginWhileOff records an execution that is created or launched while its job is off. Only after the whole
// commit it is known whether that is wrong, because the commit may turn the job on. Executions that are imported from
// the original's queues do not depend on the state of their job.
func (c *checker) recordBeginWhileOff(j *jobMirror, r *record, what string) {
	if j.stored && j.off && !strings.Contains(r.ID, "@import-") {
		c.begunOff = append(c.begunOff, begun{r.Job, r.ID, what})
	}
}

// checkNothingBeginsOff checks rules F6, F10 and F11 after a commit.
func (c *checker) checkNothingBeginsOff(writes []registry.Write) {
	for _, b := range c.begunOff {
		// A job that was turned off in this step may have been on at the beginning of the step. The job's since does
		// not always show this: it never goes back, but the clock may. So an audit row of a pause also shows it.
		if j := c.job(b.job); j.stored && j.off && !j.since.Equal(c.decidedAt) && !pausedIn(writes, b.job) {
			c.w.fail("F10 nothing of a job that is paused, shut down or disabled is made or launched",
				"execution %s is %s, paused %v", b.id, b.what, j.paused)
		}
	}
	c.begunOff = c.begunOff[:0]
}

// pausedIn reports whether a commit has an audit row of a pause of the job.
func pausedIn(writes []registry.Write, job string) bool {
	return slices.ContainsFunc(writes, func(wr registry.Write) bool {
		var row historyevent.Audit
		dir, _ := splitPath(wr.Path)
		return dir == pathAudit && json.Unmarshal(wr.Value, &row) == nil && row.Action == "job.pause" &&
			row.TargetName == job
	})
}

// checkEndsNothing checks that neither a pause nor a shutdown ends launched executions.
func (c *checker) checkEndsNothing(old, now *record) {
	switch {
	case now.Kill.Equal(old.Kill):
	case now.Kill.Is(reason.Paused):
		c.w.fail("F10 a pause ends nothing", "execution %s: %s", now.ID, now.Kill)
	case now.Kill.Is(reason.ShutDown) && old.Settings != nil && !now.daemon():
		c.w.fail("F11 a shutdown kills nothing", "execution %s: %s", now.ID, now.Kill)
	}
}

// checkLimits checks rules K4 and E6 for a shard that a commit has changed.
func (c *checker) checkLimits(e *execRecord, was, now shardRecord) {
	w := c.w
	tell := func(invariant string) {
		w.fail(invariant, "execution %s, item %d: was %+v, now %+v", e.ID, now.Item, was, now)
	}
	sameTask := was.TaskID == now.TaskID
	switch {
	case was.TimedOut && !sameTask, now.State == executions.TimedOut && was.State != executions.TimedOut &&
		!was.TimedOut:
		tell("K4 what timed out was killed for it")
	case was.TimedOut && !live(now.State):
		switch now.State {
		case executions.TimedOut, executions.Finished, executions.Killed:
		case executions.Waiting:
			if now.Fails != was.Fails+1 && now.Type != executions.FailoverSource {
				tell("K4 what timed out is run again as a failure")
			}
		default:
			if !e.Settings.Job.Failover { // otherwise it was lost too often
				tell("K4 what timed out has timed out")
			}
		}
	}
	if w.lastJump < 0 && w.leading != nil && sameTask && live(now.State) &&
		(now.RunningAt.After(w.leading.termTime()) || !was.RunningAt.IsZero() && !now.RunningAt.Equal(was.RunningAt)) {
		tell("K4 the time of a task is counted from when it was heard of, under every leader")
	}
	if !was.TimedOut && now.TimedOut && sameTask {
		w.count(TaskTimedOut)
	}
	if e.Settings == nil {
		return
	}
	if now.Fails > e.Settings.Job.MaxRetries && !e.daemon() {
		tell("E6 no shard is run again more than maxRetries times")
	}
	if was.State == executions.Waiting && now.State == executions.Launching {
		if w.lastJump < 0 && w.leading != nil && w.leading.termTime().Before(was.NotBefore) {
			tell("E6 a shard waits for its backoff")
		}
		if j := c.job(e.Job); j.paused || j.off {
			w.count(RunsAgainWhileOff)
		}
	}
}

// checkOverdue checks that a task that exceeded its timeout is being killed (rule K4).
func (c *checker) checkOverdue(l *leader) {
	for _, id := range sorted(c.live) {
		e := c.execs[c.live[id]]
		if e == nil || e.Settings == nil || e.daemon() || e.Settings.Job.TimeoutSeconds == 0 {
			continue
		}
		limit := time.Duration(e.Settings.Job.TimeoutSeconds)*time.Second + 15*time.Second
		e.eachShard(func(s shardRecord) {
			if s.TaskID == id && !s.RunningAt.IsZero() && s.KillSince.IsZero() &&
				l.termTime().Sub(s.RunningAt) > limit {
				c.w.fail("K4 what has run for too long is killed", "%s runs since %s, its timeout is %s", id,
					s.RunningAt, fmt.Sprint(e.Settings.Job.TimeoutSeconds, " s"))
			}
		})
	}
}

// killGrace returns the grace of the tasks of an execution.
func (c *checker) killGrace(e *execRecord) time.Duration {
	if e.Settings != nil && e.Settings.Job.KillGraceSeconds > 0 {
		return time.Duration(e.Settings.Job.KillGraceSeconds) * time.Second
	}
	return c.w.opt.KillGrace
}

package core

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// appChanged takes a committed change of an app (rule T4).
func (c *Core) appChanged(e AppChanged) {
	c.NeedChanged()
	a, jobs, other := c.config.appChanged(e)
	if other {
		c.starts.forgetApp(e.Name)
		if a != nil {
			c.MatchAgain()
		}
	}
	c.applyJobStates(jobs)
	c.checkObsolete(e.Name)
}

func (c *Core) applyJobStates(jobs []*jobState) {
	for _, j := range jobs {
		c.applyJobState(j)
	}
}

// markChanged takes a disabled mark that an external edit has set or removed (rule F6).
func (c *Core) markChanged(e MarkChanged) {
	c.NeedChanged()
	c.applyJobStates(c.config.markChanged(e))
}

// jobChanged takes a committed change of a job (rule T4).
func (c *Core) jobChanged(e JobChanged) {
	c.NeedChanged()
	if j := c.config.jobChanged(e); j != nil {
		c.applyJobState(j)
	}
}

// applyJobState makes the core's state of a job follow its documents and disabled marks. It
// compares with what was stored, not with what was in memory, so that a leader
// that finds a change of which it saw only the document does the same (rule T4).
func (c *Core) applyJobState(j *jobState) {
	if j.cfg != nil && c.config.apps[j.cfg.AppName] != nil {
		c.config.apps[j.cfg.AppName].nextDue = time.Time{}
	}
	how := c.config.inactive(j)
	inactive := how != active
	// Whoever disables a job or shuts it down ends its pause: enabled, it starts clean (rule F6).
	want := jobRecord{Inactive: inactive, Paused: j.stored.Paused && !j.mark.disables()}
	j.schedule = nil
	if j.cfg != nil {
		want.Schedule = j.cfg.Cron + " " + j.cfg.TimeZone
		if j.isDaemon() {
			want.Schedule += " daemon" // its fires are made elsewhere, as long as it is one
		}
		s, err := c.fires.schedule(*j.cfg, c.Opt.Zone)
		if err != nil {
			c.Note(step.Note{Kind: step.NoteFaulty, Job: j.name, Problem: true, Detail: err.Error()})
		}
		j.schedule = s
	}
	switch {
	case c.config.isFaulty(j):
		// What runs has its settings and goes on; what waits, waits ([D15]).
		c.fires.timetable.Remove(j.name)
		c.schedules.remove(j)
		return
	case j.cfg == nil:
		c.notifications.drop(j.name)
		c.killExecutionsOf(j, reason.Of(reason.Deregistered))
	case how == jobPaused:
	case how == jobShutDown:
		c.endWaiting(j, c.config.endReason(j))
	case inactive:
		c.killExecutionsOf(j, c.config.endReason(j))
	}
	if j.schedule != nil && !inactive {
		c.schedules.set(j)
	} else {
		c.schedules.remove(j)
	}
	if j.cfg == nil {
		c.daemons.look(j.name)
		c.fires.timetable.Remove(j.name)
		c.OfJobs.Forget(j.name)
		if j.isStored {
			c.config.touch(j)
			j.isStored, j.stored, j.since = false, jobRecord{}, time.Time{}
		}
		c.config.removeEndedJob(j, c.executions.Busy(j.name))
		return
	}
	if !j.isStored || j.stored.Schedule != want.Schedule || j.stored.Inactive != want.Inactive || j.stored.Paused != want.Paused {
		// Registered, enabled, or its schedule changed: fires are made from now (rule F2).
		// Never from an earlier moment than before: the clock may have been ahead, and the fires up to then are made.
		if c.Wall().After(j.since) {
			j.since = c.Wall()
		}
		want.Since, want.Fires = j.since, j.stored.Fires
		j.stored, j.isStored = want, true
		c.config.touch(j)
	}
	if j.firedHere() && !inactive {
		from := c.fires.from(c.Wall())
		if !c.fires.loading && j.since.After(from) {
			from = j.since // its own group has nothing to catch up
		}
		c.fires.timetable.Set(j.name, j.schedule, from)
	} else {
		c.fires.timetable.Remove(j.name)
	}
	c.sendNotification(j.name)
	c.checkOverrides(j)
	c.daemons.look(j.name)
	if j.isDaemon() {
		c.MatchAgain() // its shards may have been held back
	}
	c.executions.HeadOfQueue(j.name)
	if len(c.executions.Queue(j.name)) > 0 && !c.executions.Queue(j.name)[0].Launched() {
		c.executions.SetUnplaced(c.executions.Queue(j.name)[0], executions.Unplaced{}) // it may take something else now
		c.MatchAgain()
	}
}

// checkOverrides ends what waits with settings of its own that the job, as it is now, can't be run with: it may have
// fewer shards. With other settings than were asked for it must not run.
func (c *Core) checkOverrides(j *jobState) {
	for _, e := range slices.Clone(c.executions.Queue(j.name)) {
		if e.Launched() || e.Overrides() == nil {
			continue
		}
		if e.OverridesMoved(j.cfg) {
			c.executions.Kill(e, reason.Of(reason.DestinationMoved))
		} else if bad := e.Overrides().Check(*j.cfg); len(bad) > 0 {
			c.executions.Kill(e, reason.OverridesDoNotFit(bad.Error()))
		}
	}
}

// killExecutionsOf ends what waits of a job and wants what runs killed (rule F6).
func (c *Core) killExecutionsOf(j *jobState, why reason.Reason) {
	for _, e := range slices.Clone(c.executions.Queue(j.name)) {
		c.executions.Kill(e, why)
	}
}

// requestChange plans a change. Its writes leave with the decision; what they lead to waits for ChangeCommitted.
func (c *Core) requestChange(e ChangeRequested) {
	p, err := e.Change.plan(&c.config)
	if err != nil {
		c.reply(Reply{Token: e.Token, Err: problem.Of(err)})
		return
	}
	if p.removed {
		p.answer = c.viewsOf(&p)
	}
	c.audit.plan(&p, c.config.auditOf(e.Actor, p.events...))
	c.config.planned, c.config.plannedToken = &p, e.Token
	c.decision.Change = p.writes
}

// answerChange answers the request for a change that was committed, and that the core has seen.
func (c *Core) answerChange(p *planned, token uint64) {
	if !p.removed {
		p.answer = c.viewsOf(p)
	}
	p.answer.Token = token
	c.reply(p.answer)
}

// viewsOf are the views of what a change is about. What has a document that can't be used has none: then it is the name.
func (c *Core) viewsOf(p *planned) (r Reply) {
	var err error
	if p.appName != "" {
		if r.App, err = c.App(p.appName); err != nil {
			r.App.Config.AppName = p.appName
		}
		return r
	}
	if r.Job, err = c.Job(p.jobName); err != nil {
		r.Job.Config.JobName = p.jobName
	}
	return r
}

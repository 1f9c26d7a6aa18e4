package core

import "github.com/elasticjob-go/elasticjob/scheduler/core/problem"

// JobState is what people have asked of a job.
type JobState string

// States of a job. One that is shut down is SHUTTING_DOWN until what was launched of it has ended, and DISABLED then.
const (
	JobEnabled      JobState = "ENABLED"
	JobPaused       JobState = "PAUSED"
	JobShuttingDown JobState = "SHUTTING_DOWN"
	JobDisabled     JobState = "DISABLED"
)

// state is what people have asked of a job; busy says that executions of it are open.
func (j *jobState) state(busy bool) JobState {
	switch {
	case j.mark == markedShutdown && busy:
		return JobShuttingDown
	case j.mark.disables():
		return JobDisabled
	case j.stored.Paused:
		return JobPaused
	}
	return JobEnabled
}

// jobState is what a job does, for people: see Explanation.State.
func (c *Core) jobState(j *jobState, running, waiting int, fires bool) string {
	a := c.config.apps[j.cfg.AppName]
	switch {
	case j.state(c.executions.Busy(j.name)) == JobDisabled:
		return string(JobDisabled)
	case a == nil || a.disabled:
		return "APP_DISABLED"
	case j.state(c.executions.Busy(j.name)) != JobEnabled:
		return string(j.state(c.executions.Busy(j.name)))
	case running > 0:
		return "RUNNING"
	case waiting > 0:
		return "WAITING"
	case j.cfg.Cron == "":
		return "ON_TRIGGER"
	case !fires:
		return "NEVER"
	}
	return "READY"
}

// paused reports whether nothing but its pause keeps a job from making fires (rule F10).
func (k *configuration) paused(j *jobState) bool { return k.inactive(j) == jobPaused }

// pauseRequested pauses a job, or ends its pause (rule F10). Both are a part of the job's own record. A pause keeps fires from being made,
// and what waits from being launched, and touches nothing that was launched. When it ends, fires are made from then on (rule F2).
func (c *Core) pauseRequested(p PauseRequested) {
	j := c.config.jobs[p.Job]
	switch {
	case j == nil || j.cfg == nil:
		c.reply(Reply{Token: p.Token, Err: problem.NoJob(p.Job)})
		return
	case j.mark.disables():
		what := "paused"
		if !p.Paused {
			what = "resumed"
		}
		c.reply(Reply{Token: p.Token, Err: problem.Errorf(problem.Conflict, "job_disabled", "job %q is disabled and can't be %s: POST /api/job/%s/enable lets it run again", j.name, what, j.name)})
		return
	case j.stored.Paused != p.Paused:
		// The record is stored also while the job's app can't be used, when applyJobState changes nothing.
		j.stored.Paused, j.isStored = p.Paused, true
		c.config.touch(j)
		c.auditPause(&p)
		c.NeedChanged()
		c.applyJobState(j)
		if len(c.executions.Queue(j.name)) > 0 && !c.executions.Queue(j.name)[0].Launched() {
			c.recording.waits(c.executions.Queue(j.name)[0], c.config.inactiveReason(j))
		}
	}
	view, _ := c.Job(j.name) // it has a document
	c.reply(Reply{Token: p.Token, Job: view})
}

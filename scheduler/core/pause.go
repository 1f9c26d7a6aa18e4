package core

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// pauseRequested pauses a job, or ends its pause (rule F10). Both are a part of the job's own record. A pause keeps fires from being made,
// and what waits from being launched, and touches nothing that was launched. When it ends, fires are made from then on (rule F2).
func (c *Core) pauseRequested(p PauseRequested) {
	j := c.config.Job(p.Job)
	switch {
	case j == nil || j.Config() == nil:
		c.reply(Reply{Token: p.Token, Err: problem.NoJob(p.Job)})
		return
	case j.Mark().Disables():
		what := "paused"
		if !p.Paused {
			what = "resumed"
		}
		c.reply(Reply{Token: p.Token, Err: problem.Errorf(problem.Conflict, "job_disabled", "job %q is disabled and can't be %s: POST /api/job/%s/enable lets it run again", j.Name(), what, j.Name())})
		return
	case j.Stored().Paused != p.Paused:
		c.config.Pause(j, p.Paused) // applyJobState changes nothing while the job's app can't be used
		c.audit.Pause(p.Actor, p.Job, p.Paused)
		c.NeedChanged()
		c.applyJobState(j)
		if len(c.executions.Queue(j.Name())) > 0 && !c.executions.Queue(j.Name())[0].Launched() {
			c.recording.Waits(c.executions.Queue(j.Name())[0], c.config.InactiveReason(j))
		}
	}
	view, _ := c.views.Job(j.Name()) // it has a document
	c.reply(Reply{Token: p.Token, Job: view})
}

package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// trigger makes an execution now, or refuses (rule F5: a trigger is never dropped).
func (c *Core) trigger(t TriggerRequested) {
	refuse := func(err *Error) { c.reply(Reply{Token: t.Token, Err: err}) }
	id := executionID(t.Job, c.wall) + "-" + c.uuid()[:8]
	if t.Key != "" {
		id = keyedID(t.Job) + fingerprint(t.Key)
		if _, known := c.executions.keys[id]; known {
			c.reply(Reply{Token: t.Token, ExecutionID: id})
			return
		}
	}
	j := c.config.jobs[t.Job]
	if j == nil || j.cfg == nil {
		refuse(jobNotFound(t.Job))
		return
	}
	if j.cfg.JobExecutionType == jobs.Daemon {
		refuse(Errorf(Conflict, "daemon_trigger", "Daemon job '%s' cannot support trigger.", t.Job))
		return
	}
	if c.config.paused(j) {
		refuse(Errorf(Conflict, "job_paused", "job %q cannot be triggered: %s", t.Job, c.config.inactiveReason(j)))
		return
	}
	if why := c.config.inactiveReason(j); why != "" {
		if j.mark.disables() || c.config.apps[j.cfg.AppName] != nil { // else the reason itself says what to do
			why += "; enable it first"
		}
		refuse(Errorf(Conflict, "job_disabled", "job %q cannot be triggered: %s", t.Job, why))
		return
	}
	if c.draining {
		refuse(Errorf(Unavailable, "stopping", "the scheduler is stopping; try again when it is back"))
		return
	}
	if bad := t.Overrides.Check(*j.cfg); len(bad) > 0 {
		err := Errorf(Invalid, "invalid", "this request changed nothing: %v", bad)
		err.Violations = bad
		refuse(err)
		return
	}
	waiting := 0
	for _, e := range j.queue {
		if !e.launched() && (e.Source == Triggered || j.cfg.Misfire) {
			waiting++
		}
	}
	most := 1
	if j.cfg.Misfire {
		most = c.opt.QueuedFires
	}
	if waiting >= most {
		refuse(Errorf(Conflict, "trigger_waits", "job %q has %s waiting already (GET /api/job/%s/explain says for what); trigger it again when that has begun", t.Job, counted(waiting, "execution"), t.Job))
		return
	}
	if t.Key != "" {
		c.executions.keepKey(id, c.now)
	}
	c.stats.Triggers++
	e := &execution{ID: id, Job: t.Job, Fire: c.wall.Truncate(time.Millisecond), Source: Triggered, Made: c.now}
	if !t.Overrides.IsZero() {
		e.Overrides = &t.Overrides
	}
	c.enqueue(j, e)
	c.reply(Reply{Token: t.Token, ExecutionID: id})
}

// keyedID is the prefix of the ids of a job's executions that were triggered with an Idempotency-Key.
func keyedID(job string) string { return job + "@key-" }

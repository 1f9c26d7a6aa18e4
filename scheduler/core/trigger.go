package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// trigger makes an execution now, or refuses (rule F5: a trigger is never dropped).
func (c *Core) trigger(t TriggerRequested) {
	refuse := func(err *problem.Error) { c.reply(Reply{Token: t.Token, Err: err}) }
	if err := c.repeated(&t); err != nil {
		refuse(err)
		return
	}
	id := executions.ID(t.Job, c.Wall()) + "-" + c.UUID()[:8]
	if t.Key != "" {
		id = keyedID(t.Job) + store.Fingerprint(t.Key)
		if c.executions.KeyKnown(id) {
			c.reply(Reply{Token: t.Token, ExecutionID: id})
			return
		}
	}
	j := c.config.Job(t.Job)
	if j == nil || j.Config() == nil {
		refuse(problem.NoJob(t.Job))
		return
	}
	if j.Config().JobExecutionType == jobs.Daemon {
		refuse(problem.Errorf(problem.Conflict, "daemon_trigger", "Daemon job '%s' cannot support trigger.", t.Job))
		return
	}
	if c.config.Paused(j) {
		refuse(problem.Errorf(problem.Conflict, "job_paused", "job %q cannot be triggered: %s", t.Job, c.config.InactiveReason(j)))
		return
	}
	if inactive := c.config.InactiveReason(j); !inactive.IsZero() {
		why := inactive.String()
		if j.Mark().Disables() || c.config.App(j.Config().AppName) != nil { // else the reason itself says what to do
			why += "; enable it first"
		}
		refuse(problem.Errorf(problem.Conflict, "job_disabled", "job %q cannot be triggered: %s", t.Job, why))
		return
	}
	if c.Draining() {
		refuse(problem.Errorf(problem.Unavailable, "stopping", "the scheduler is stopping; try again when it is back"))
		return
	}
	t.Overrides = t.Overrides.KeepSecrets(*j.Config())
	if bad := t.Overrides.Check(*j.Config()); len(bad) > 0 {
		err := problem.Errorf(problem.Invalid, "invalid", "this request changed nothing: %v", bad)
		err.Violations = bad
		refuse(err)
		return
	}
	waiting := 0
	for _, e := range c.executions.Queue(j.Name()) {
		if !e.Launched() && (e.Source() == executions.Triggered || j.Config().Misfire) {
			waiting++
		}
	}
	most := 1
	if j.Config().Misfire {
		most = c.Opt.QueuedFires
	}
	if waiting >= most {
		refuse(problem.Errorf(problem.Conflict, "trigger_waits", "job %q has %s waiting already (GET /api/job/%s/explain says for what); trigger it again when that has begun", t.Job, problem.Counted(waiting, "execution"), t.Job))
		return
	}
	if t.Key != "" {
		c.executions.KeepKey(id, c.Now())
	}
	c.Numbers.Triggers++
	e := executions.Made{ID: id, Job: t.Job, Fire: c.Wall().Truncate(time.Millisecond), Source: executions.Triggered}
	if !t.Overrides.IsZero() {
		e.Overrides, e.OverridesOf, e.OverridesTo = &t.Overrides, j.Config().AppName, executions.SecretsTo(&t.Overrides, j.Config())
	}
	c.executions.Enqueue(e)
	c.audit.Trigger(t.Actor, t.Job, id, t.Again, t.Overrides.WithoutSecrets(*j.Config()))
	c.reply(Reply{Token: t.Token, ExecutionID: id})
}

// repeated has a trigger ask for what the execution was that it repeats, if it repeats one.
func (c *Core) repeated(t *TriggerRequested) *problem.Error {
	if t.Again == "" {
		return nil
	}
	e := c.executions.Find(t.Again)
	if e == nil {
		return c.views.ExecutionNotFound(t.Again)
	}
	t.Job = e.Job()
	if e.Overrides() == nil {
		return nil
	}
	t.Overrides = *e.Overrides()
	j := c.config.Job(e.Job())
	switch {
	case t.NoEnv && len(t.Overrides.Env) > 0:
		return problem.Errorf(problem.Forbidden, "not_allowed", "execution %q had variables of its own, and env says what is run: running it again needs the role admin; POST /api/job/%s/trigger runs the job as it is", e.ID(), e.Job())
	case j != nil && j.Config() != nil && e.OverridesMoved(j.Config()):
		return problem.Errorf(problem.Conflict, "job_moved", "execution %q had settings of its own, and its job was of another app "+
			"then, or sent secrets among them to another address: trigger the job with the settings that it is to have, "+
			"POST /api/job/%s/trigger", e.ID(), e.Job())
	}
	return nil
}

// keyedID is the prefix of the ids of a job's executions that were triggered with an Idempotency-Key.
func keyedID(job string) string { return job + "@key-" }

package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// applyAppChange applies a committed change of an app (rule T4).
func (c *Core) applyAppChange(e config.AppChanged) {
	c.shared.NeedChanged()
	a, jobs, newExecutors := c.config.ApplyApp(e)
	if newExecutors {
		c.startFailures.RemoveAllOf(e.Name)
		if a != nil {
			c.shared.RequestMatch()
		}
	}
	c.applyJobStates(jobs)
	c.retirer.CheckObsolete(e.Name)
}

func (c *Core) applyJobStates(jobs []*config.Job) {
	for _, j := range jobs {
		c.applyJobState(j)
	}
}

// applyMarkChange applies an external edit of a disabled mark (rule F6).
func (c *Core) applyMarkChange(e config.MarkChanged) {
	c.shared.NeedChanged()
	c.applyJobStates(c.config.ApplyMark(e))
}

// applyJobChange applies a committed change of a job (rule T4).
func (c *Core) applyJobChange(e config.JobChanged) {
	c.shared.NeedChanged()
	if j := c.config.ApplyJob(e); j != nil {
		c.applyJobState(j)
	}
}

// applyJobState makes the core's state of a job follow its documents and disabled marks. It compares them with the
// stored record, not with memory. So a new leader, which finds only the document of an earlier change, does the same
// (rule T4).
func (c *Core) applyJobState(j *config.Job) {
	c.config.ReadCron(j)
	inactivity := c.config.Inactive(j)
	inactive := inactivity != config.Active
	switch {
	case c.config.IsFaulty(j):
		// Launched executions have their own settings and go on. Waiting ones keep waiting ([D15]).
		c.fires.SetSchedule(j, false)
		c.config.SetFiring(j, false)
		return
	case j.Config() == nil:
		c.notifications.Drop(j.Name())
		c.killExecutionsOf(j, reason.Of(reason.Deregistered))
	case inactivity == config.Paused: // its launched executions go on, and its waiting ones keep waiting
	case inactivity == config.ShutDown:
		c.endWaiting(j, c.config.EndReason(j))
	case inactive:
		c.killExecutionsOf(j, c.config.EndReason(j))
	}
	c.config.SetFiring(j, !inactive)
	if j.Config() == nil {
		c.daemons.TendLater(j.Name())
		c.fires.SetSchedule(j, false)
		c.shared.JobStats.Forget(j.Name())
		c.config.ForgetRecord(j)
		c.config.RemoveEndedJob(j, c.executions.HasOpen(j.Name()))
		return
	}
	c.config.UpdateRecord(j, inactive)
	c.fires.SetSchedule(j, !inactive)
	c.notifications.Send(j.Name())
	c.checkOverrides(j)
	c.daemons.TendLater(j.Name())
	if j.IsDaemon() {
		c.shared.RequestMatch() // its shards may have been held back
	}
	c.executions.MakeHeadLaunchable(j.Name())
	if first := c.executions.First(j.Name()); first != nil && !first.Launched() {
		c.executions.SetUnplaced(first, executions.Unplaced{}) // another reason may apply now
		c.shared.RequestMatch()
	}
}

// checkOverrides ends the waiting executions of a changed job whose overrides no longer fit it, for instance because
// it has fewer shards now. They must not run with other settings than requested.
func (c *Core) checkOverrides(j *config.Job) {
	for _, e := range slices.Clone(c.executions.Queue(j.Name())) {
		if e.Launched() || e.Overrides() == nil {
			continue
		}
		if e.OverridesMoved(j.Config()) {
			c.executions.Kill(e, reason.Of(reason.DestinationMoved))
		} else if bad := e.Overrides().Check(*j.Config()); len(bad) > 0 {
			c.executions.Kill(e, reason.OverridesDoNotFit(bad.Error()))
		}
	}
}

// killExecutionsOf ends the waiting executions of a job and requests the kill of the launched ones (rule F6). After
// that no attempt of the job that was given up is taken back.
func (c *Core) killExecutionsOf(j *config.Job, why reason.Reason) {
	c.attempts.Supersede(j.Name(), func(*orphans.Orphan) bool { return true })
	for _, e := range slices.Clone(c.executions.Queue(j.Name())) {
		c.executions.Kill(e, why)
	}
}

// pendingChange is a change of configuration that is being committed. token is the token of its request.
type pendingChange struct {
	*config.Planned
	token  uint64
	audit  []audit.Row
	answer Reply
}

// requestChange plans a change. Its writes leave with the decision; its consequences wait for ChangeCommitted.
func (c *Core) requestChange(token uint64, e ChangeRequested) {
	p, err := c.config.Plan(e.Change)
	if err != nil {
		c.reply(Reply{Token: token, Err: problem.Of(err)})
		return
	}
	pending := &pendingChange{Planned: p, token: token}
	if p.Removed {
		pending.answer = c.viewsOf(p)
	}
	var writes []registry.Write
	writes, pending.audit = c.audit.Plan(c.config.AuditOf(e.Actor, p.Events...))
	c.pending = pending
	c.decision.Change = slices.Concat(p.Writes, writes)
}

// applyCommitted applies a requested change that was committed, and answers the request.
func (c *Core) applyCommitted(token uint64) {
	p := c.pending
	if p == nil || p.token != token {
		return
	}
	c.pending = nil
	for _, e := range p.Events {
		c.applyChange(e)
	}
	c.audit.AddPlanned(p.audit...)
	if !p.Removed {
		p.answer = c.viewsOf(p.Planned)
	}
	p.answer.Token = token
	c.reply(p.answer)
}

// viewsOf returns the views of the objects of a change. An app or job whose document cannot be used has no view; the
// reply then has its name.
func (c *Core) viewsOf(p *config.Planned) (r Reply) {
	var err error
	if p.AppName != "" {
		if r.App, err = c.views.App(p.AppName); err != nil {
			r.App.Config.AppName = p.AppName
		}
		return r
	}
	if r.Job, err = c.views.Job(p.JobName); err != nil {
		r.Job.Config.JobName = p.JobName
	}
	return r
}

// endWaiting ends the executions of a job that were not launched.
func (c *Core) endWaiting(j *config.Job, why reason.Reason) {
	for _, e := range slices.Clone(c.executions.Queue(j.Name())) {
		if !e.Launched() {
			c.executions.Kill(e, why)
		}
	}
}

// Reloaded returns the events with which the core must be stepped after an external edit (config.Set.Reloaded).
func (c *Core) Reloaded(path string, entry registry.Entry, found bool) []Event {
	return c.config.Reloaded(path, entry, found)
}

// byRegistry is the actor of external edits, who is not known.
var byRegistry = event.Actor{Kind: "registry"}

// pause pauses a job, or ends its pause, and returns the job's view after that.
func (c *Core) pause(p operator.PauseRequested) (view views.JobView, refused *problem.Error) {
	changed, err := c.operator.Pause(p)
	if err != nil {
		return view, err
	}
	if changed {
		j := c.config.Job(p.Job)
		c.applyJobState(j) // it changes nothing while the job's app cannot be used
		if queue := c.executions.Queue(p.Job); len(queue) > 0 && !queue[0].Launched() {
			c.recording.Waits(queue[0], c.config.InactiveReason(j))
		}
	}
	view, _ = c.views.Job(p.Job) // it has a document
	return view, nil
}

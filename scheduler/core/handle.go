package core

import (
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Step handles events and returns the decision. now is the time by the wall clock and by the term's own clock, and rnd
// is the source of ids. The caller commits the Writes of the decision, then carries out the rest (see Decision).
//
// The order is: events, timers that are due, launches, remaining offers. So a shard that is lost in a step can be
// placed again in the same step, and an offer is declined only if the step does not use it.
func (c *Core) Step(now clock.Now, rnd rand.Source, events []Event) Decision {
	c.shared.SetRandom(rnd)
	if was := c.shared.Ahead(); c.shared.Set(now) {
		c.fires.ResetClock(c.shared.Ahead() - was)
		c.placement.ResetClock()
	}
	c.ensureFramework()
	for _, e := range events {
		c.handle(e)
	}

	c.shared.Timers.Run(c.shared.Now())
	if c.machines.Expire() {
		c.probeUncordoned()
	}
	c.attempts.Sweep()
	c.fires.MakeDue()
	c.daemons.Tend()
	c.subscription.Subscribe()
	c.reconciler.SendDue()
	c.takeOver()
	c.attempts.ResendKills()

	c.placement.Launch()
	c.drainer.Tend()
	c.observeIncidents()
	c.retirer.ShutDownClosing()
	c.placement.ManageOffers()
	c.finishDrain()

	c.write()
	c.watch.MarkChanged(c.decision.Writes)
	c.decision.Notifications = c.notifications.Take()
	c.decision.Wake = c.nextWake()
	out, effects := c.decision, c.shared.TakeEffects()
	c.decision = Decision{}
	out.Calls, out.Notes, out.Changed, out.Fenced = effects.Calls, effects.Notes, effects.Changed, effects.Fenced
	return out
}

// handle passes an event to the part that it concerns. Reports of the cluster count only if they come from the open
// session. The parts check the sessions of all other events themselves.
func (c *Core) handle(e Event) {
	switch e := e.(type) {
	case config.AppChanged, config.JobChanged, config.MarkChanged:
		for _, row := range c.config.AuditOf(byRegistry, e) {
			c.audit.Add(row)
		}
		c.applyChange(e)
	case Request:
		c.request(e)
	case ChangeCommitted:
		c.applyCommitted(e.Token)
	case config.DocumentFaulty:
		c.config.MarkFaulty(e)
		c.watch.MarkConfigured(e)
	case Drain:
		c.beginDrain()
	case SessionBegan:
		c.beginSession(e)
	case SessionEnded:
		c.endSession(e)
	case MasterChanged:
		c.subscription.MasterChanged(e.Session)
	case LaunchAnswered:
		c.answerAccept(e)
	case notifications.NotificationSent:
		c.notifications.RecordOutcome(e)
	case HistoryStored:
		c.recording.StoredUpTo(e.Batches)
	case ClusterEvent:
		if c.subscription.IsOpen(e.Session) {
			c.handleClusterEvent(e.Event)
		}
	}
}

// request carries out a request and answers it. The answer to a change follows its commit.
func (c *Core) request(r Request) {
	reply := Reply{Token: r.Token}
	switch e := r.Event.(type) {
	case ChangeRequested:
		c.requestChange(r.Token, e)
		return
	case AuditRequested:
		c.audit.AddMissing(e.Rows)
	case operator.TriggerRequested:
		reply.ExecutionID, reply.Err = c.operator.Trigger(e)
	case operator.ReconcileRequested:
		reply.Err = c.operator.Reconcile(e)
	case operator.ForgetRequested:
		reply.Err = c.operator.Forget(e)
	case operator.CordonRequested:
		reply.Machine, reply.Err = c.cordon(e)
	case operator.DrainRequested:
		reply.Machine, reply.Err = c.drainMachine(e)
	case operator.UncordonRequested:
		reply.Machine, reply.Err = c.uncordon(e)
	case operator.DeadRequested:
		reply.Machine, reply.AttemptsOver, reply.Err = c.declareDead(e)
	case operator.KillRequested:
		reply.Err = c.operator.Kill(e)
	case LeaseRequested:
		reply.Lease = c.attempts.RenewLeases(e.Request)
	case LeaseSecretRequested:
		reply.LeaseSecret = c.st.Leases.Secret()
	case operator.PauseRequested:
		reply.Job, reply.Err = c.pause(e)
	}
	c.reply(reply)
}

// applyChange applies a committed change of configuration, whether requested or external.
func (c *Core) applyChange(e Event) {
	c.watch.MarkConfigured(e) // before the change and after it, because a job may move to another app
	defer c.watch.MarkConfigured(e)
	switch e := e.(type) {
	case config.AppChanged:
		c.applyAppChange(e)
	case config.JobChanged:
		c.applyJobChange(e)
	case config.MarkChanged:
		c.applyMarkChange(e)
	}
}

// observeIncidents compares the present conditions with those that people were notified of, when that is due: after
// each sweep, and earlier after a report of the cluster or a request, because only these change conditions in between.
func (c *Core) observeIncidents() {
	if c.attempts.JudgesSilence() && c.incidents.Due() {
		c.incidents.Observe(c.views.Conditions())
	}
}

// nextWake returns when the core needs the next step even if nothing happens, as an Elapsed of clock.Now; 0 for never.
func (c *Core) nextWake() time.Duration {
	var at time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if t, ok := c.shared.Timers.Next(); ok {
		earlier(t)
	}
	earlier(c.fires.Wake(c.placement.Lead()))
	earlier(c.attempts.Wake())
	earlier(c.machines.Wake())
	earlier(c.drainer.Wake())
	earlier(c.incidents.Wake())
	if c.shared.MatchRequested() {
		earlier(c.shared.Now())
	}
	earlier(c.placement.Wake())
	earlier(c.subscription.TakeoverWake())
	earlier(c.subscription.Wake())
	if at.IsZero() {
		return 0
	}
	earlier(c.shared.Now().Add(clock.MaxSleep))
	return max(c.shared.Elapsed(at), 1)
}

// write collects the changed records of every part into one commit.
func (c *Core) write() {
	r := &c.commit
	*r = store.Commit{}
	c.stateVersion.write(r)
	c.subscription.Write(r)
	c.executors.Write(r)
	c.orphans.Write(r)
	c.st.Fencing.Write(r)
	c.st.Leases.Write(r)
	c.startFailures.Write(r)
	c.machines.Write(r)
	c.incidents.Write(r)
	c.executions.Write(r, c.recording.StoredEnd(), c.recording.RecordedEnd())
	c.config.Write(r)
	c.fires.Write(r)
	c.daemons.Write(r)
	c.imports.Write(r)
	c.notifications.Write(r)
	c.audit.Write(r, c.recording.StoredAudit(), c.recording.RecordedAudit())
	c.decision.History = c.recording.Write(r) // last, because it records the other changes of the commit
	c.decision.Writes = r.Writes()
}

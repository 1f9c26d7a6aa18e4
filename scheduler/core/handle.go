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

// Step handles events and returns the decision. now are the two clocks, and rnd is the source of ids. The caller
// commits Writes, then carries out the rest (see Decision).
//
// The order is: events, timers that are due, launches, remaining offers. So a shard that is lost in a step can be
// placed in the same one, and an offer is declined only if the step does not need it.
func (c *Core) Step(now clock.Now, rnd rand.Source, events []Event) Decision {
	c.shared.SetRandom(rnd)
	if c.shared.Set(now) {
		c.fires.WallClockSet()
		c.placement.ClockSet()
	}
	c.ensureFramework()
	for _, e := range events {
		c.handle(e)
	}

	c.shared.Timers.Run(c.shared.Now())
	c.attempts.Sweep()
	c.fires.Make()
	c.daemons.Tend()
	c.subscription.Subscribe()
	c.reconciler.Due()
	c.takeOver()
	c.attempts.ResendKills()

	c.placement.Launch()
	c.retirer.ShutDownClosing()
	c.placement.ManageOffers()
	c.finishDrain()

	c.write()
	c.watch.NameChanged(c.decision.Writes)
	c.decision.Notifications = c.notifications.Take()
	c.decision.Wake = c.nextWake()
	out, effects := c.decision, c.shared.TakeEffects()
	c.decision = Decision{}
	out.Calls, out.Notes, out.Changed, out.Fenced = effects.Calls, effects.Notes, effects.Changed, effects.Fenced
	return out
}

func (c *Core) handle(e Event) {
	switch e := e.(type) {
	case config.AppChanged, config.JobChanged, config.MarkChanged:
		for _, row := range c.config.AuditOf(byRegistry, e) {
			c.audit.Add(row)
		}
		c.take(e)
	case ChangeRequested:
		c.requestChange(e)
	case ChangeCommitted:
		c.changeCommitted(e.Token)
	case operator.TriggerRequested:
		id, err := c.operator.Trigger(e)
		c.reply(Reply{Token: e.Token, ExecutionID: id, Err: err})
	case AuditRequested:
		c.audit.HandIn(e.Rows)
		c.reply(Reply{Token: e.Token})
	case operator.ReconcileRequested:
		c.reply(Reply{Token: e.Token, Err: c.operator.Reconcile(e)})
	case config.DocumentFaulty:
		c.config.MarkFaulty(e)
		c.watch.SeeConfigured(e)
	case operator.ForgetRequested:
		c.reply(Reply{Token: e.Token, Err: c.operator.Forget(e)})
	case operator.KillRequested:
		c.reply(Reply{Token: e.Token, Err: c.operator.Kill(e)})
	case operator.PauseRequested:
		c.pauseRequested(e)
	case Drain:
		c.beginDrain()
	case SessionBegan:
		c.sessionBegan(e)
	case SessionEnded:
		c.sessionEnded(e)
	case MasterChanged:
		c.subscription.MasterChanged(e.Session)
	case LaunchAnswered:
		c.acceptAnswered(e)
	case notifications.NotificationSent:
		c.notifications.Sent(e)
	case HistoryStored:
		c.recording.StoredUpTo(e.Batches)
	case ClusterEvent:
		if c.subscription.IsOpen(e.Session) {
			c.handleClusterEvent(e.Event)
		}
	}
}

// take applies a committed change of configuration, whether requested or external.
func (c *Core) take(e Event) {
	c.watch.SeeConfigured(e) // the views that showed it before
	defer c.watch.SeeConfigured(e)
	switch e := e.(type) {
	case config.AppChanged:
		c.appChanged(e)
	case config.JobChanged:
		c.jobChanged(e)
	case config.MarkChanged:
		c.markChanged(e)
	}
}

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
	if c.shared.MatchWanted() {
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
	c.starts.Write(r)
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

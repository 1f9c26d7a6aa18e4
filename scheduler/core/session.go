package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// subscribe asks for a session when there is none (rule T6: right after a
// fenced commit; thrown out while the term holds: again, with backoff).
func (c *Core) subscribe() {
	s := &c.subscription
	if s.open || s.asked || c.Now().Before(s.notUntil) {
		return
	}
	s.number++
	s.asked = true
	c.Fence()
	c.Call(step.CallSubscribe{Session: s.number, FrameworkID: c.subscription.frameworkID})
}

// sessionBegan: forget all offers, ask about all live tasks, send wanted kills
// and shutdowns again (rule T6). ACCEPTs of the old stream can't arrive any more:
// they are voided (L3, L4).
func (c *Core) sessionBegan(e SessionBegan) {
	if e.Session != c.subscription.number {
		return
	}
	// A process that slept between its commit and SUBSCRIBE may be deposed by now, and
	// would take what the next leader launched for nobody's: kill it, and acknowledge its
	// end. If the term still holds after SUBSCRIBED, this session is the term's own.
	c.Fence()
	c.Numbers.Subscriptions++
	c.subscription.session = session{number: e.Session, open: true, tries: c.subscription.tries, masterID: e.MasterID, began: c.Now(), reconcileAt: c.Now()}
	c.flow.sessionBegan()
	c.placement.sessionBegan()
	c.agents.SessionBegan()
	c.masterOfRemoved()
	c.executors.SessionBegan()
	for _, x := range c.executors.Sorted() {
		c.checkIdle(x)
	}
	c.executions.SessionBegan()
	c.orphans.AllUnreported()
	c.subscription.takeover.begin()
	if c.executors.EverStarted() {
		// One whose record went while its SHUTDOWN was lost is found in the offers of this session, if those of the last
		// one, or of the last leader, did not come any more (rule X3).
		c.flow.reviveToProbe()
	}
	c.Note(step.Note{Kind: step.NoteSession, Detail: "subscribed to master " + e.MasterID})
}

func (c *Core) sessionEnded(e SessionEnded) {
	if e.Session != c.subscription.number {
		return
	}
	s := &c.subscription
	lived := s.open && c.Now().Sub(s.began) > c.Opt.SubscribeMost
	if lived {
		s.tries = 0
	}
	s.notUntil = c.Now().Add(step.Backoff(c.Opt.SubscribeFirst, c.Opt.SubscribeMost, s.tries))
	s.tries++
	by := removedByUnknown
	if s.open {
		by = s.masterID // it said so on its own stream
	}
	news := s.tries <= triesLogged || c.Now().Sub(s.loggedAt) >= logAgainAfter
	s.open, s.asked, s.reason = false, false, e.Reason
	c.flow.held.Clear()
	if news {
		s.loggedAt = c.Now()
		c.Note(step.Note{Kind: step.NoteSession, Problem: true, Detail: fmt.Sprintf("no subscription: %s; next try in %s", e.Reason, s.notUntil.Sub(c.Now()).Round(time.Millisecond))})
	}
	if e.Removed {
		c.frameworkRemoved(by)
	}
}

// The first triesLogged tries are logged, and then one every logAgainAfter, with the reason of then.
const (
	triesLogged   = 3
	logAgainAfter = time.Minute
)

// reconcileDue asks the master about tasks: about all of them at every
// SUBSCRIBED and every 10 minutes, about those it has not reported with growing
// intervals.
func (c *Core) reconcileDue() {
	s := &c.subscription
	if !s.open {
		return
	}
	c.askAboutAgentsBack()
	if !c.Now().Before(s.reconcileAt) {
		first := s.reconcileAt.Equal(s.began)
		s.reconcileAt = c.Now().Add(c.Opt.ReconcileEvery)
		c.askAbout(func(*executions.Shard) bool { return true })
		c.Call(step.CallReconcile{})
		if first {
			c.askAgainSoon()
		}
		return
	}
	if s.askAgainAt.IsZero() || c.Now().Before(s.askAgainAt) {
		return
	}
	if c.askAbout(func(s *executions.Shard) bool { return !s.Known() }) == 0 {
		s.askAgainAt = time.Time{}
		return
	}
	s.askTry++
	s.askAgainAt = c.Now().Add(step.Backoff(c.Opt.ReconcileFirst, c.Opt.ReconcileEvery, s.askTry))
}

// reconcileRequested asks about all live tasks, or for all that the master knows
// of, because an operator wants to.
func (c *Core) reconcileRequested(e ReconcileRequested) {
	reply := Reply{Token: e.Token}
	switch {
	case !c.subscription.open:
		reply.Err = problem.Errorf(problem.Unavailable, "not_subscribed", "there is no subscription to the cluster; every subscription begins with reconciliation")
	case e.Explicit:
		c.auditReconcile(&e)
		c.askAbout(func(*executions.Shard) bool { return true })
	default:
		c.auditReconcile(&e)
		c.Call(step.CallReconcile{})
	}
	c.reply(reply)
}

// askAgainSoon begins the growing intervals at which the master is asked about what it has not reported.
func (c *Core) askAgainSoon() {
	c.subscription.askTry, c.subscription.askAgainAt = 0, c.Now().Add(c.Opt.ReconcileFirst)
}

// askAboutAgentsBack asks about tasks that count as unreachable though their agent is registered again, and about the
// orphans there, which block their shards until the master has answered (rule E5).
func (c *Core) askAboutAgentsBack() {
	back := c.agents.TakeBack()
	if len(back) == 0 {
		return
	}
	var refs []cluster.TaskRef
	for _, id := range c.executions.TaskIDs() {
		s := c.executions.MustTask(id).Shard()
		if s.Live() && s.AcceptSeq() == 0 && !s.Unreachable().IsZero() && c.agents.Registered(s.Agent()) {
			refs = append(refs, cluster.TaskRef{TaskID: s.TaskID(), AgentID: s.Agent()})
		}
	}
	for _, o := range c.orphans.All() {
		if !back[o.Agent] || !c.agents.Registered(o.Agent) {
			continue
		}
		c.orphans.Unreported(o.TaskID)
		c.NeedChanged()
		ref := cluster.TaskRef{TaskID: o.TaskID, AgentID: o.Agent}
		if c.subscription.isFormer(&o) { // an answer about it would be about the framework id
			ref.TaskID = c.agents.Ask(o.Agent)
		} else {
			c.askAgainSoon()
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	c.Reconcile(refs)
}

// askAbout reconciles live tasks that want it, and orphans, and returns how many of them the master has to answer. A
// task whose ACCEPT is under way is not named (rule L4).
func (c *Core) askAbout(want func(*executions.Shard) bool) int {
	var refs []cluster.TaskRef
	for _, id := range c.executions.TaskIDs() {
		if s := c.executions.MustTask(id).Shard(); s.Live() && s.AcceptSeq() == 0 && want(s) {
			refs = append(refs, cluster.TaskRef{TaskID: s.TaskID(), AgentID: s.Agent()})
		}
	}
	n := len(refs)
	for _, o := range c.orphans.All() {
		if !c.subscription.isFormer(&o) {
			refs = append(refs, cluster.TaskRef{TaskID: o.TaskID, AgentID: o.Agent})
			if !o.Known {
				n++
			}
		}
	}
	c.Reconcile(refs)
	return n
}

package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// sessionBegan: forget all offers, ask about all live tasks, send wanted kills
// and shutdowns again (rule T6). ACCEPTs of the old stream can't arrive any more:
// they are voided (L3, L4).
func (c *Core) sessionBegan(e SessionBegan) {
	if !c.subscription.SessionBegan(e.Session, e.MasterID) {
		return
	}
	c.placement.SessionBegan()
	c.agents.SessionBegan()
	c.masterOfRemoved()
	c.executors.SessionBegan()
	for _, x := range c.executors.Sorted() {
		c.checkIdle(x)
	}
	c.executions.SessionBegan()
	c.orphans.AllUnreported()
	if c.executors.EverStarted() {
		// One whose record went while its SHUTDOWN was lost is found in the offers of this session, if those of the last
		// one, or of the last leader, did not come any more (rule X3).
		c.placement.Probe()
	}
}

func (c *Core) sessionEnded(e SessionEnded) {
	by, ended := c.subscription.SessionEnded(e.Session, e.Reason)
	if !ended {
		return
	}
	c.placement.Clear()
	if e.Removed {
		c.frameworkRemoved(by)
	}
}

// reconcileDue asks the master about tasks: about all of them at every
// SUBSCRIBED and every 10 minutes, about those it has not reported with growing
// intervals.
func (c *Core) reconcileDue() {
	if !c.subscription.Open() {
		return
	}
	c.askAboutAgentsBack()
	switch {
	case c.subscription.ReconcileAll():
		c.askAbout(func(*executions.Shard) bool { return true })
		c.Call(step.CallReconcile{})
	case c.subscription.AskAgainIsDue():
		c.subscription.AskedAgain(c.askAbout(func(s *executions.Shard) bool { return !s.Known() }))
	}
}

// reconcileRequested asks about all live tasks, or for all that the master knows
// of, because an operator wants to.
func (c *Core) reconcileRequested(e ReconcileRequested) {
	reply := Reply{Token: e.Token}
	switch {
	case !c.subscription.Open():
		reply.Err = problem.Errorf(problem.Unavailable, "not_subscribed", "there is no subscription to the cluster; every subscription begins with reconciliation")
	case e.Explicit:
		c.audit.Reconcile(e.Actor, e.Explicit)
		c.askAbout(func(*executions.Shard) bool { return true })
	default:
		c.audit.Reconcile(e.Actor, e.Explicit)
		c.Call(step.CallReconcile{})
	}
	c.reply(reply)
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
		ref := cluster.TaskRef{TaskID: o.TaskID, AgentID: o.Agent}
		if c.subscription.IsFormer(&o) { // an answer about it would be about the framework id
			ref.TaskID = c.agents.Ask(o.Agent)
		} else {
			c.subscription.AskAgainSoon()
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
		if !c.subscription.IsFormer(&o) {
			refs = append(refs, cluster.TaskRef{TaskID: o.TaskID, AgentID: o.Agent})
			if !o.Known {
				n++
			}
		}
	}
	c.Reconcile(refs)
	return n
}

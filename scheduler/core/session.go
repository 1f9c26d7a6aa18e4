package core

import (
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
	c.attempts.MasterKnown()
	c.executors.SessionBegan()
	for _, x := range c.executors.Sorted() {
		c.retirer.CheckIdle(x)
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
		c.attempts.FrameworkRemoved(by)
		c.ensureFramework()
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
		c.reconciler.AskAbout(func(*executions.Shard) bool { return true })
	default:
		c.audit.Reconcile(e.Actor, e.Explicit)
		c.Call(step.CallReconcile{})
	}
	c.reply(reply)
}

// ensureFramework sees to it that there is a framework id.
func (c *Core) ensureFramework() {
	if c.subscription.FrameworkID() != "" {
		return
	}
	c.imports.took(c.subscription.EndTakeover()...)
	c.subscription.MakeID()
}

package core

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
		// One whose record went while its SHUTDOWN was lost is found in the offers of this session, if those of the
		// last one, or of the last leader, did not come any more (rule X3).
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

// ensureFramework sees to it that there is a framework id.
func (c *Core) ensureFramework() {
	if c.subscription.FrameworkID() != "" {
		return
	}
	c.imports.Took(c.subscription.EndTakeover()...)
	c.subscription.MakeID()
}

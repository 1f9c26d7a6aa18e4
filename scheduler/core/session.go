package core

// sessionBegan handles a new session: it forgets all offers, asks about all live tasks, and sends wanted kills and
// shutdowns again (rule T6). ACCEPTs of the old stream cannot arrive any more, so they are voided (L3, L4).
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
		// An executor whose record was removed while its SHUTDOWN was lost is found in the offers of this session, if
		// no offer of the last session or leader named it (rule X3).
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

// ensureFramework makes a framework id if there is none.
func (c *Core) ensureFramework() {
	if c.subscription.FrameworkID() != "" {
		return
	}
	c.imports.Took(c.subscription.EndTakeover()...)
	c.subscription.MakeID()
}

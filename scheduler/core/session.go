package core

// beginSession handles a new session: it forgets all offers, asks about all live tasks, and sends wanted kills and
// shutdowns again (rule T6). ACCEPTs of the old stream cannot arrive any more, so they are voided (L3, L4).
func (c *Core) beginSession(e SessionBegan) {
	if !c.subscription.BeginSession(e.Session, e.MasterID) {
		return
	}
	c.placement.BeginSession()
	c.agents.BeginSession()
	c.attempts.RecordMaster()
	c.executors.BeginSession()
	for _, x := range c.executors.Sorted() {
		c.retirer.CheckIdle(x)
	}
	c.executions.BeginSession()
	c.orphans.MarkAllUnreported()
	if c.executors.HasStarted() {
		// An executor whose record was removed while its SHUTDOWN was lost is found in the offers of this session, if
		// no offer of the last session or leader named it (rule X3).
		c.placement.Probe()
	}
}

func (c *Core) endSession(e SessionEnded) {
	by, ended := c.subscription.EndSession(e.Session, e.Reason)
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
	c.imports.MarkImported(c.subscription.DiscardTakeover()...)
	c.subscription.MakeID()
}

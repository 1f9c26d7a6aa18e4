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
		// An executor may still run although its record was removed and its SHUTDOWN was lost. The offers of this
		// session name it (rule X3).
		c.placement.Probe()
	}
}

// endSession handles the end of a session. It ignores the end of any session but the last.
func (c *Core) endSession(e SessionEnded) {
	master, isLast := c.subscription.EndSession(e.Session, e.Reason)
	if !isLast {
		return
	}
	c.placement.Clear()
	if e.Removed {
		c.attempts.FrameworkRemoved(master)
		c.ensureFramework()
	}
}

// ensureFramework makes a framework id if there is none. A takeover of the former id then has no meaning any more, so
// the original's entries that it was to remove at its end are removed now.
func (c *Core) ensureFramework() {
	if c.subscription.FrameworkID() != "" {
		return
	}
	runningPaths := c.subscription.DiscardTakeover()
	c.imports.RemoveEntries(runningPaths...)
	c.subscription.MakeID()
}

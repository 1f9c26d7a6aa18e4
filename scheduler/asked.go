package scheduler

// reconcileRequested asks about all live tasks, or for all that the master knows
// of, because an operator wants to.
func (c *Core) reconcileRequested(e ReconcileRequested) {
	reply := Reply{Token: e.Token}
	switch {
	case !c.session.open:
		reply.Err = errorf(Unavailable, "not_subscribed", "there is no subscription to the cluster; every subscription begins with reconciliation")
	case e.Explicit:
		c.askAbout(func(*shard) bool { return true })
	default:
		c.call(CallReconcile{})
	}
	c.out.Replies = append(c.out.Replies, reply)
}

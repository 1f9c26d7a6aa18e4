package scheduler

import "fmt"

// reconcileAsked asks about all live tasks, or for all that the master knows
// of, because an operator wants to.
func (c *Core) reconcileAsked(e ReconcileAsked) {
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

// Sandboxes lists where the executors of an app keep their files, by executor id, or
// returns an *Error.
func (c *Core) Sandboxes(app string) ([]SandboxView, error) {
	if c.apps[app] == nil {
		return nil, appNotFound(app)
	}
	runs := map[string]string{}
	for _, ref := range c.tasks {
		if s := ref.shard(); s.live() && s.Container != "" {
			runs[s.Executor] = s.Container
		}
	}
	out := []SandboxView{}
	for _, id := range sortedKeys(c.executors) {
		x := c.executors[id]
		if x.App != app {
			continue
		}
		v := SandboxView{Path: "/slaves/" + x.Agent + c.runDir(x.Info.Framework, id, runs[id])}
		if a := c.agents[x.Agent]; a != nil {
			v.Hostname = a.host
		}
		out = append(out, v)
	}
	return out, nil
}

// runDir is an executor's sandbox below its agent's folder; without a container it is the newest one.
func (c *Core) runDir(framework, executorID, container string) string {
	if x := c.executors[executorID]; framework == "" && x != nil {
		framework = x.Info.Framework
	}
	if framework == "" {
		framework = c.frameworkID
	}
	if container == "" {
		container = "latest"
	}
	return fmt.Sprintf("/frameworks/%s/executors/%s/runs/%s", framework, executorID, container)
}

package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
)

// A framework that an operator tears down, or whose failover timeout has passed, is gone for the
// master at once; its tasks are not. The master sends the agents word to end its executors,
// which have their grace, and an agent that is away hears of it when it is back, if the master
// that knows of it leads then. Nobody reports those tasks any more: what the master
// says of them under another framework id is about the id, not about the task.
//
// So each becomes an orphan that holds its shard (rules T7, E5), until its agent has been
// registered for long enough to have heard and obeyed.

// formerAgentsEvery is the interval at which it is asked whether the agents of such orphans are registered.
const formerAgentsEvery = 20 * time.Second

// frameworkRemoved: the id was torn down, by that master, if it is known (rule T7).
func (c *Core) frameworkRemoved(by string) {
	old := c.subscription.FrameworkID()
	c.executions.KeepFramework(old)
	for _, id := range c.executions.TaskIDs() {
		ref, ok := c.executions.Task(id)
		if !ok || !ref.Shard().Live() {
			continue
		}
		s := ref.Shard()
		g := c.newOrphan(ref)
		// Even with failover it must have had its grace; but not longer than for its
		// agent to count as away (rule E4).
		g.Blocks = true
		if ref.Exec.Reruns() {
			g.Alive, g.Away = true, s.Unreachable()
		}
		c.orphans.Add(g)
		c.Note(step.Note{Kind: step.NoteOrphan, Job: g.Job, Execution: g.Execution, Task: id, Detail: "its framework was removed, which its agent, " + g.Agent + ", may still have to hear", Problem: true})
		c.executions.EndDecided(ref, reason.Of(reason.FrameworkRemoved))
		c.endAttempt(ref, outcomeLost, 0)
		c.executions.ForgetTask(id)
	}
	for _, f := range c.subscription.Removed() {
		c.orphanUnknownTask(f, old)
	}
	for _, o := range c.orphans.All() {
		if o.Framework == old {
			c.orphans.FrameworkRemoved(o.TaskID, by)
		}
	}
	c.orphans.FrameworkChanged()
	for _, x := range c.executors.Sorted() {
		c.executors.Remove(x)
	}
	c.ensureFramework()
}

// orphanUnknownTask remembers a task of another scheduler that may still run, if its id names a shard.
func (c *Core) orphanUnknownTask(f subscription.UnknownTask, framework string) {
	if id, err := jobs.ParseTaskID(f.ID); err == nil {
		c.orphans.Add(orphans.Orphan{TaskID: f.ID, Job: id.Job, Item: id.Item, Agent: f.Agent, Since: c.Now(), Blocks: true, Framework: framework})
	}
}

// masterOfRemoved notes which master it was that has removed a framework.
func (c *Core) masterOfRemoved() {
	for _, o := range c.orphans.All() {
		if o.RemovedBy == subscription.UnknownMaster {
			c.orphans.FrameworkRemoved(o.TaskID, c.subscription.MasterID())
		}
	}
}

// askAboutFormerAgents asks whether the agents of orphans of removed frameworks are registered, by a
// question about a task that is invented.
func (c *Core) askAboutFormerAgents() {
	if !c.subscription.Open() || c.Now().Before(c.agentsAskedAt.Add(formerAgentsEvery)) {
		return
	}
	var refs []cluster.TaskRef
	asked := map[string]bool{}
	for _, g := range c.orphans.All() {
		if !c.subscription.IsFormer(&g) || asked[g.Agent] {
			continue
		}
		asked[g.Agent] = true
		refs = append(refs, cluster.TaskRef{TaskID: c.agents.Ask(g.Agent), AgentID: g.Agent})
	}
	if len(refs) > 0 {
		c.agentsAskedAt = c.Now()
		c.Reconcile(refs)
	}
}

// agentAnswered takes the answer to such a question.
func (c *Core) agentAnswered(agentID string, u cluster.Update) {
	switch u.State {
	case cluster.Gone:
		c.agentStillRegistered(agentID)
	case cluster.GoneByOperator: // an operator's word
		for _, o := range c.orphans.FormerOn(agentID, c.subscription.FrameworkID()) {
			c.orphans.Remove(o.TaskID)
		}
	case cluster.Unreachable, cluster.Unknown:
		c.agents.NotRegistered(agentID)
		for _, g := range c.orphans.FormerOn(agentID, c.subscription.FrameworkID()) {
			c.orphans.Reported(g.TaskID)
			c.orphans.AgentAway(g.TaskID, c.Now())
		}
	}
}

// agentStillRegistered notes that an agent is registered. Orphans there of a removed framework have ended when it has
// been so for long enough: to be found away by the master if its connection broke just when it was
// told, to be told again, and to end the executors.
func (c *Core) agentStillRegistered(agentID string) {
	if c.orphans.Len() == 0 {
		return
	}
	lasts := c.agents.StillRegistered(agentID)
	for _, g := range c.orphans.FormerOn(agentID, c.subscription.FrameworkID()) {
		c.orphans.Reported(g.TaskID)
		c.orphans.SeenAlive(g.TaskID)
		// Another master may know nothing of the removal, and so may its agents.
		if g.RemovedBy == c.subscription.MasterID() && lasts >= c.st.RemovedWait() {
			c.orphans.Remove(g.TaskID)
		}
	}
}

// ensureFramework sees to it that there is a framework id.
func (c *Core) ensureFramework() {
	if c.subscription.FrameworkID() != "" {
		return
	}
	c.imports.took(c.subscription.EndTakeover()...)
	c.subscription.MakeID()
}

package attempts

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
func (as *Attempts) FrameworkRemoved(by string) {
	old := as.Subscription.FrameworkID()
	as.Executions.KeepFramework(old)
	for _, id := range as.Executions.TaskIDs() {
		ref, ok := as.Executions.Task(id)
		if !ok || !ref.Shard().Live() {
			continue
		}
		s := ref.Shard()
		g := as.newOrphan(ref)
		// Even with failover it must have had its grace; but not longer than for its
		// agent to count as away (rule E4).
		g.Blocks = true
		if ref.Exec.Reruns() {
			g.Alive, g.Away = true, s.Unreachable()
		}
		as.Orphans.Add(g)
		as.Note(step.Note{Kind: step.NoteOrphan, Job: g.Job, Execution: g.Execution, Task: id, Detail: "its framework was removed, which its agent, " + g.Agent + ", may still have to hear", Problem: true})
		as.Executions.EndDecided(ref, reason.Of(reason.FrameworkRemoved))
		as.endAttempt(ref, outcomeLost, 0)
		as.Executions.ForgetTask(id)
	}
	for _, f := range as.Subscription.Removed() {
		as.OrphanUnknownTask(f, old)
	}
	for _, o := range as.Orphans.All() {
		if o.Framework == old {
			as.Orphans.FrameworkRemoved(o.TaskID, by)
		}
	}
	as.Orphans.FrameworkChanged()
	for _, x := range as.Executors.Sorted() {
		as.Executors.Remove(x)
	}
}

// orphanUnknownTask remembers a task of another scheduler that may still run, if its id names a shard.
func (as *Attempts) OrphanUnknownTask(f subscription.UnknownTask, framework string) {
	if id, err := jobs.ParseTaskID(f.ID); err == nil {
		as.Orphans.Add(orphans.Orphan{TaskID: f.ID, Job: id.Job, Item: id.Item, Agent: f.Agent, Since: as.Now(), Blocks: true, Framework: framework})
	}
}

// masterOfRemoved notes which master it was that has removed a framework.
func (as *Attempts) MasterKnown() {
	for _, o := range as.Orphans.All() {
		if o.RemovedBy == subscription.UnknownMaster {
			as.Orphans.FrameworkRemoved(o.TaskID, as.Subscription.MasterID())
		}
	}
}

// askAboutFormerAgents asks whether the agents of orphans of removed frameworks are registered, by a
// question about a task that is invented.
func (as *Attempts) askAboutFormerAgents() {
	if !as.Subscription.Open() || as.Now().Before(as.agentsAskedAt.Add(formerAgentsEvery)) {
		return
	}
	var refs []cluster.TaskRef
	asked := map[string]bool{}
	for _, g := range as.Orphans.All() {
		if !as.Subscription.IsFormer(&g) || asked[g.Agent] {
			continue
		}
		asked[g.Agent] = true
		refs = append(refs, cluster.TaskRef{TaskID: as.Agents.Ask(g.Agent), AgentID: g.Agent})
	}
	if len(refs) > 0 {
		as.agentsAskedAt = as.Now()
		as.Reconcile(refs)
	}
}

// agentAnswered takes the answer to such a question.
func (as *Attempts) agentAnswered(agentID string, u cluster.Update) {
	switch u.State {
	case cluster.Gone:
		as.AgentStillRegistered(agentID)
	case cluster.GoneByOperator: // an operator's word
		for _, o := range as.Orphans.FormerOn(agentID, as.Subscription.FrameworkID()) {
			as.Orphans.Remove(o.TaskID)
		}
	case cluster.Unreachable, cluster.Unknown:
		as.Agents.NotRegistered(agentID)
		for _, g := range as.Orphans.FormerOn(agentID, as.Subscription.FrameworkID()) {
			as.Orphans.Reported(g.TaskID)
			as.Orphans.AgentAway(g.TaskID, as.Now())
		}
	}
}

// agentStillRegistered notes that an agent is registered. Orphans there of a removed framework have ended when it has
// been so for long enough: to be found away by the master if its connection broke just when it was
// told, to be told again, and to end the executors.
func (as *Attempts) AgentStillRegistered(agentID string) {
	if as.Orphans.Len() == 0 {
		return
	}
	lasts := as.Agents.StillRegistered(agentID)
	for _, g := range as.Orphans.FormerOn(agentID, as.Subscription.FrameworkID()) {
		as.Orphans.Reported(g.TaskID)
		as.Orphans.SeenAlive(g.TaskID)
		// Another master may know nothing of the removal, and so may its agents.
		if g.RemovedBy == as.Subscription.MasterID() && lasts >= as.RemovedWait() {
			as.Orphans.Remove(g.TaskID)
		}
	}
}

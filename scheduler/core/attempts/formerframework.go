package attempts

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
)

// The master forgets a framework at once when an operator tears it down or its failover timeout has passed, but its
// tasks run on. The master tells the agents to end the framework's executors, which then have their grace. An agent
// that is away is told when it is back, provided that the leading master then knows of the removal. No update reports
// those tasks any more: what the master says of them under another framework id is about the id, not about the task.
//
// So each task becomes an orphan that blocks its shard (rules T7, E5), until its agent has been registered for long
// enough to have been told and to have ended the task, or has been away for the time of rule E4.

// formerAgentsInterval is the minimum interval between two questions about the agents of such orphans.
const formerAgentsInterval = 20 * time.Second

// FrameworkRemoved applies the removal of the framework id by the master with the id by, subscription.UnknownMaster if
// that is not known (rule T7). It abandons every live attempt as an orphan of the old id, and forgets every executor.
func (as *Attempts) FrameworkRemoved(by string) {
	old := as.st.Subscription.FrameworkID()
	as.st.Executions.StoreFramework(old)
	for _, id := range as.st.Executions.TaskIDs() {
		ref, ok := as.st.Executions.Task(id)
		if !ok || !ref.Shard().Live() {
			continue
		}
		s := ref.Shard()
		g := as.newOrphan(ref)
		// The task must have had its grace, but the shard waits no longer than for its agent to count as away (rule
		// E4).
		g.Blocks, g.Away = true, s.Unreachable()
		as.st.Orphans.Add(g)
		as.st.Note(step.Note{Kind: step.NoteOrphan, Job: g.Job, Execution: g.Execution, Task: id,
			Detail:  "its framework was removed; agent " + g.Agent + " may not know that yet",
			Problem: true})
		as.st.Executions.SetCause(ref, reason.Of(reason.FrameworkRemoved))
		as.endAttempt(ref, outcomeLost, 0)
		as.st.Executions.ForgetTask(id)
	}
	for _, f := range as.st.Subscription.RemoveID() {
		as.OrphanUnknownTask(f, old)
	}
	for _, o := range as.st.Orphans.All() {
		if o.Framework == old {
			as.st.Orphans.RecordRemovedBy(o.TaskID, by)
		}
	}
	as.st.Orphans.ResetFormer()
	for _, x := range as.st.Executors.Sorted() {
		as.st.Executors.Remove(x)
	}
}

// OrphanUnknownTask keeps a task of a former framework, which this scheduler did not launch and which may still run,
// as an orphan that blocks its shard until its agent has been away for the time of rule E4. A task whose id names no
// shard is ignored.
func (as *Attempts) OrphanUnknownTask(f subscription.UnknownTask, framework string) {
	if id, err := jobs.ParseTaskID(f.ID); err == nil {
		as.st.Orphans.Add(orphans.Orphan{TaskID: f.ID, Job: id.Job, Item: id.Item, Agent: f.Agent, Since: as.st.Now(),
			Blocks: true, Away: f.UnreachableSince, Known: !f.UnreachableSince.IsZero(), Framework: framework})
	}
}

// RecordMaster records the present master as the one that removed a framework, for orphans whose remover was not
// known.
func (as *Attempts) RecordMaster() {
	for _, o := range as.st.Orphans.All() {
		if o.RemovedBy == subscription.UnknownMaster {
			as.st.Orphans.RecordRemovedBy(o.TaskID, as.st.Subscription.MasterID())
		}
	}
}

// askAboutFormerAgents asks whether the agents of orphans of removed frameworks are registered, by reconciling an
// invented task for each agent (agents.Set.Ask).
func (as *Attempts) askAboutFormerAgents() {
	if !as.st.Subscription.Open() || as.st.Now().Before(as.agentsAskedAt.Add(formerAgentsInterval)) {
		return
	}
	var refs []cluster.TaskRef
	asked := map[string]bool{}
	for _, g := range as.st.Orphans.All() {
		if !as.st.Subscription.IsFormer(&g) || asked[g.Agent] {
			continue
		}
		asked[g.Agent] = true
		refs = append(refs, cluster.TaskRef{TaskID: as.st.Agents.Ask(g.Agent), AgentID: g.Agent})
	}
	if len(refs) > 0 {
		as.agentsAskedAt = as.st.Now()
		as.st.Reconcile(refs)
	}
}

// applyAgentAnswer applies the answer to a question of askAboutFormerAgents.
func (as *Attempts) applyAgentAnswer(agentID string, u cluster.Update) {
	switch u.State {
	case cluster.Gone:
		as.AgentRegistered(agentID)
	case cluster.GoneByOperator: // an operator has declared the agent gone
		for _, o := range as.st.Orphans.FormerOn(agentID, as.st.Subscription.FrameworkID()) {
			as.st.Orphans.Remove(o.TaskID)
		}
	case cluster.Unreachable, cluster.Unknown:
		as.st.Agents.MarkNotRegistered(agentID)
		for _, g := range as.st.Orphans.FormerOn(agentID, as.st.Subscription.FrameworkID()) {
			as.st.Orphans.MarkReported(g.TaskID)
			as.st.Orphans.MarkAway(g.TaskID, as.st.Now())
		}
	}
}

// AgentRegistered records a sign that an agent is registered. It removes the orphans of a removed framework there
// once the agent has been registered for long enough to have ended them. That time allows for the worst case: the
// agent's connection broke just when it was told, the master found it away, told it again, and the agent then ended
// the executors.
func (as *Attempts) AgentRegistered(agentID string) {
	if as.st.Orphans.Len() == 0 {
		return
	}
	lasts := as.st.Agents.RecordRegistered(agentID)
	for _, g := range as.st.Orphans.FormerOn(agentID, as.st.Subscription.FrameworkID()) {
		as.st.Orphans.MarkReported(g.TaskID)
		as.st.Orphans.MarkAlive(g.TaskID)
		// Another master and its agents may not know of the removal, so only the time with the master that removed the
		// framework counts.
		if g.RemovedBy == as.st.Subscription.MasterID() && lasts >= as.st.RemovedWait() {
			as.st.Orphans.Remove(g.TaskID)
		}
	}
}

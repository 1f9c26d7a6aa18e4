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

// The master forgets a framework at once when an operator tears it down or its failover timeout has passed. The tasks
// of the framework run on: the master tells the agents to end its executors, which then have their grace. An agent
// that is away is told when it is back, provided that the leading master then knows of the removal. No update reports
// those tasks any more, because the master's answers under another framework id are about the id, not about the task.
//
// So each task becomes an orphan that blocks its shard (rules T7, E5). It blocks until its agent has been registered
// for long enough to have been told and to have ended the task, or has been away for the time of rule E4.

// formerAgentsInterval is the minimum interval between two questions about the agents of those orphans.
const formerAgentsInterval = 20 * time.Second

// FrameworkRemoved applies the removal of the present framework id (rule T7). It abandons every live attempt as an
// orphan of that id, and forgets every executor. master is the id of the master that removed the framework id, or
// subscription.UnknownMaster.
func (as *Attempts) FrameworkRemoved(master string) {
	old := as.st.Subscription.FrameworkID()
	as.st.Executions.StoreFramework(old)
	for _, id := range as.st.Executions.TaskIDs() {
		ref, ok := as.st.Executions.Task(id)
		if !ok || !ref.Shard().Live() {
			continue
		}
		s := ref.Shard()
		o := as.newOrphan(ref)
		// The shard waits until the task has had its grace. If the agent is unreachable already, the time of rule E4
		// continues to count.
		o.Blocks, o.Away = true, s.Unreachable()
		as.st.Orphans.Add(o)
		as.st.Note(step.Note{Kind: step.NoteOrphan, Job: o.Job, Execution: o.Execution, Task: id,
			Detail:  "its framework was removed; agent " + o.Agent + " may not know that yet",
			Problem: true})
		as.st.Executions.SetCause(ref, reason.Of(reason.FrameworkRemoved))
		as.endAttempt(ref, outcomeLost, 0)
		as.st.Executions.ForgetTask(id)
	}
	for _, task := range as.st.Subscription.RemoveID() {
		as.OrphanUnknownTask(task, old)
	}
	for _, o := range as.st.Orphans.All() {
		if o.Framework == old {
			as.st.Orphans.RecordRemovedBy(o.TaskID, master)
		}
	}
	as.st.Orphans.ResetFormer()
	for _, x := range as.st.Executors.Sorted() {
		as.st.Executors.Remove(x)
	}
}

// OrphanUnknownTask keeps a task that another scheduler left under a framework id, and that may still run, as an
// orphan that blocks its shard. It ignores a task whose id names no shard.
func (as *Attempts) OrphanUnknownTask(task subscription.UnknownTask, framework string) {
	id, err := jobs.ParseTaskID(task.ID)
	if err != nil {
		return
	}
	as.st.Orphans.Add(orphans.Orphan{TaskID: task.ID, Job: id.Job, Item: id.Item, Agent: task.Agent,
		Since: as.st.Now(), Blocks: true, Away: task.UnreachableSince, Reported: !task.UnreachableSince.IsZero(),
		Framework: framework})
}

// RecordMaster records, for the orphans of a framework that an unknown master removed, that the present master is the
// one that removed it.
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
	for _, o := range as.st.Orphans.All() {
		if !as.st.Subscription.IsFormer(&o) || asked[o.Agent] {
			continue
		}
		asked[o.Agent] = true
		refs = append(refs, cluster.TaskRef{TaskID: as.st.Agents.Ask(o.Agent), AgentID: o.Agent})
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
			as.st.Orphans.EndUnseen(o.TaskID)
		}
	case cluster.Unreachable, cluster.Unknown:
		as.st.Agents.MarkNotRegistered(agentID)
		for _, o := range as.st.Orphans.FormerOn(agentID, as.st.Subscription.FrameworkID()) {
			as.st.Orphans.MarkReported(o.TaskID)
			as.st.Orphans.MarkAway(o.TaskID, as.st.Now())
		}
	}
}

// AgentRegistered records a sign that an agent is registered. It removes the orphans of a removed framework there once
// the agent has been registered for long enough to have ended them. That time allows for the worst case: the
// connection broke just when the agent was told of the removal, the master found the agent away and told it again, and
// the agent then ended the executors.
func (as *Attempts) AgentRegistered(agentID string) {
	if as.st.Orphans.Len() == 0 {
		return
	}
	registeredFor := as.st.Agents.RecordRegistered(agentID)
	for _, o := range as.st.Orphans.FormerOn(agentID, as.st.Subscription.FrameworkID()) {
		as.st.Orphans.MarkReported(o.TaskID)
		as.st.Orphans.MarkAlive(o.TaskID)
		// Another master and its agents may not know of the removal, so only the time with the master that removed the
		// framework counts.
		if o.RemovedBy == as.st.Subscription.MasterID() && registeredFor >= as.st.RemovedWait() {
			as.st.Orphans.EndUnseen(o.TaskID)
		}
	}
}

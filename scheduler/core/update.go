package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/wire"
)

// update applies one status update (rules S1-S5 and the table of answers).
// Every update with a uuid is acknowledged, after the commit that holds its
// consequence (S3).
func (c *Core) update(u cluster.Update) {
	if len(u.UUID) > 0 {
		c.Call(step.CallAcknowledge{Ack: cluster.Ack{TaskID: u.TaskID, AgentID: u.AgentID, UUID: u.UUID}})
	}
	if u.AgentID != "" {
		c.learnAgent(u)
	}
	if x := c.executors.Get(u.ExecutorID); x != nil {
		c.learnExecutor(x, u)
	}
	ref, open := c.executions.Task(u.TaskID)
	agent, asked := c.agents.Asked(u.TaskID)
	orphan, orphaned := c.orphans.Get(u.TaskID)
	switch {
	case asked:
		c.agentAnswered(agent, u)
	case orphaned:
		if !c.subscription.IsFormer(&orphan) { // what is said of it under this id says nothing
			c.updateOrphan(&orphan, u)
		}
	case open:
		c.updateAttempt(ref, u)
	case c.subscription.TakingOver():
		c.subscription.TakeoverUpdate(u, c.agents.Registered(u.AgentID))
	default:
		c.unknownTask(u)
	}
}

// learnAgent takes from an update whether its agent is registered.
func (c *Core) learnAgent(u cluster.Update) {
	switch known := u.State == cluster.Gone && u.Reason == cluster.ReasonReconciliation; {
	case u.Source != cluster.FromMaster, known, u.Reason == cluster.ReasonAgentReregistered:
		// The master passes on what an agent says, and answers reconciliation with GONE for a task
		// that a registered agent does not have.
		c.agents.Register(c.agents.See(u.AgentID))
	case u.State == cluster.Gone:
		// The agent was removed, or replaced at its address: what the master does not know of it from now on
		// is no word of the agent, and its tasks may have begun (rule E1).
		c.agents.Remove(u.AgentID)
	case u.State == cluster.Unreachable:
		c.agents.Lost(u.AgentID, c.unreachableSince(u))
	}
}

// unreachableSince is since when the master says that an agent does not answer it.
func (c *Core) unreachableSince(u cluster.Update) time.Time {
	if u.UnreachableSince.IsZero() {
		return c.SinceReported(u.Timestamp)
	}
	return c.SinceReported(u.UnreachableSince)
}

// learnExecutor takes from an update that its executor lives, or lived.
func (c *Core) learnExecutor(x *executors.Executor, u cluster.Update) {
	if len(u.UUID) > 0 {
		c.executors.Reported(x, u.Source == cluster.FromExecutor)
	}
	if u.Source != cluster.FromMaster && x.Pending() == 0 {
		// Only a task of its last ACCEPT: what is reported of older ones, and the offers
		// after that, may have been on their way since before that ACCEPT (rule X3).
		if ref, ok := c.executions.Task(u.TaskID); ok && ref.Shard().SentWith() == x.SentWith() {
			c.executors.Confirm(x)
		}
	}
}

// updateAttempt applies an update of a task of an open execution.
func (c *Core) updateAttempt(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if s.State().Terminal() {
		c.afterTheEnd(ref, u)
		return
	}
	c.executions.KnownAgain(ref)
	if len(u.UUID) > 0 && bytes.Equal(u.UUID, s.UUID()) && s.Unreachable().IsZero() {
		return // S1; of a task that was called unreachable it says that it is back
	}
	switch u.State {
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		c.alive(ref, u)
	case cluster.Unreachable:
		c.executions.MarkedAway(ref)
		c.unreachable(ref, c.unreachableSince(u))
	case cluster.Unknown:
		c.unknown(ref, u)
	default:
		if u.State.Terminal() {
			c.terminal(ref, u)
		}
		// Any other state is from a Mesos newer than these rules: it says
		// that the task is known, and nothing else [D67].
	}
}

// alive: the task is on its agent. The order of states never goes back (S2).
func (c *Core) alive(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	seen := map[cluster.State]int{cluster.Staging: executions.SeenStaging, cluster.Starting: executions.SeenStarting, cluster.Running: executions.SeenRunning, cluster.Killing: executions.SeenRunning}[u.State]
	if s.StuckStaging() && seen == executions.SeenStaging {
		return // it counts as unreachable until it gets on
	}
	changed := c.executions.Reached(ref)
	if changed {
		c.recording.TraceUpdate(ref, u, reason.Reason{}) // it is back
	}
	st := u.Status
	fetching := st != nil && st.Phase == wire.PhaseFetch && u.State == cluster.Starting
	changed = c.executions.Saw(ref, seen, fetching) || changed
	changed = c.learnWait(ref, u) || changed
	if st != nil {
		changed = c.places.Reported(ref, st) || changed
		changed = c.learnPackage(ref, st) || changed
		if !st.StartTime.IsZero() && !s.Start().Equal(st.StartTime) {
			c.executions.Began(ref, st.StartTime)
			changed = true
		}
		c.daemons.Reported(ref, st)
	}
	if s.Seen() >= executions.SeenRunning && s.State() == executions.Launching {
		c.recording.TraceUpdate(ref, u, reason.Reason{})
		c.executions.Running(ref, c.Said(u.Timestamp))
		changed = true
	}
	if s.Seen() >= executions.SeenStarting && !(s.Fetching() && u.Source == cluster.FromAgent) { // an agent that fetches itself has started nothing yet
		c.starts.Forget(ref.Exec.Settings().App.AppName, s.Agent())
	}
	if s.Seen() >= executions.SeenRunning {
		changed = c.beginTimeout(ref) || changed
		c.packageFetched(ref)
	}
	if changed {
		c.executions.Reported(ref, u.UUID)
	}
	if !s.KillSince().IsZero() {
		c.sendKill(ref) // K1: at every sign of the task
	}
}

// learnWait keeps what the agent says of why a task has not begun, and reports whether that was news. What a master says when it is asked is
// about the question, not the task.
func (c *Core) learnWait(ref executions.TaskRef, u cluster.Update) (changed bool) {
	s, waits := ref.Shard(), ""
	if s.Seen() < executions.SeenRunning {
		if u.State != cluster.Starting || u.Source != cluster.FromAgent {
			return false
		}
		waits = store.Shorten(u.Message)
	}
	return c.executions.WaitsFor(ref, waits)
}

// unreachable: the task's agent does not answer the master (rule E4); the
// clock of the rule counts from since.
func (c *Core) unreachable(ref executions.TaskRef, since time.Time) {
	s := ref.Shard()
	if !s.Unreachable().IsZero() {
		return
	}
	c.executions.Unreachable(ref, since)
	c.recording.Trace(ref, cluster.Unreachable, event.FromScheduler, "", reason.FromText("agent "+s.Agent()+" does not answer"), c.Wall(), since.Format(time.RFC3339Nano))
	c.Note(step.Note{Kind: step.NoteTaskUnreachable, Job: ref.Exec.Job(), Execution: ref.Exec.ID(), Task: s.TaskID(), Detail: "agent " + s.Agent() + " does not answer", Problem: true})
}

// unknown: the master does not know the task. It has ended only if this very
// master has had the agent registered in this subscription.
func (c *Core) unknown(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if c.agents.Registered(s.Agent()) {
		c.terminal(ref, u)
		return
	}
	c.unreachable(ref, c.Now())
}

// terminal applies an end, unless it is one without a cause (S5).
func (c *Core) terminal(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if len(u.UUID) == 0 && (u.Reason == cluster.ReasonReconciliation || u.Reason == cluster.ReasonAgentReregistered) {
		switch u.State {
		case cluster.Gone, cluster.GoneByOperator, cluster.Unknown, cluster.Dropped:
		default:
			c.executions.EndUnclear(ref, string(u.State))
			return
		}
	}
	if x := c.executors.Get(s.Executor()); x != nil && u.Source == cluster.FromAgent && u.Reason == cluster.ReasonExecutorTerminated {
		c.executors.Close(x) // FAILURE may get lost (rules X1, X3)
		if u.State != cluster.Dropped && len(u.UUID) > 0 && x.Pending() == 0 && s.SentWith() != 0 && s.SentWith() == x.SentWith() {
			c.executors.Ended(x)
		}
	}
	if u.Source == cluster.FromExecutor {
		c.starts.Forget(ref.Exec.Settings().App.AppName, s.Agent()) // a short task is reported by its end alone
	}
	end := c.endOf(ref, u)
	c.executions.EndReported(ref, end)
	c.recording.TraceUpdate(ref, u, s.Cause())
	if st := u.Status; st != nil && u.Source == cluster.FromExecutor {
		if x := c.executors.Get(s.Executor()); x != nil && st.SupervisorLost {
			c.executors.Close(x) // it ends, and would take with it what is launched on it now
		}
		c.learnPackage(ref, st)
		c.daemons.Reported(ref, st)
		switch {
		case st.Unreachable != "", st.Unanswered:
			c.packageNotFetched(ref, st)
		case !st.StartTime.IsZero():
			c.packageFetched(ref)
		}
	}
	lingers := time.Duration(0)
	if c.mayStillEnd(s, u) {
		lingers = c.executions.TaskGrace(ref) + executions.RefusedWithin
	}
	c.endAttempt(ref, classify(soFar(s), u, c.executors.Heard(s.Executor())), lingers)
}

// mayStillEnd reports whether processes of a task may live on for its grace although the cluster says that it is over.
func (c *Core) mayStillEnd(s *executions.Shard, u cluster.Update) bool {
	switch u.Reason {
	case cluster.ReasonAgentRemoved:
		// A new agent has registered at the address of the task's. Its executors may live, but they are refused when they ask
		// the new one to let them in, and end their tasks (rule X6).
		return true
	case cluster.ReasonTaskRemoved:
		return true
	}
	// No agent is asked where each task has an executor of its own: that the cluster does not know a task which was there
	// means that it was removed while nobody watched.
	return c.Opt.TaskExecutors && u.State == cluster.Gone && s.Seen() >= executions.SeenStarting
}

// packageFetched notes that a process of an attempt began, so that its package was there.
func (c *Core) packageFetched(ref executions.TaskRef) {
	if a := c.config.App(ref.Exec.Settings().App.AppName); a != nil && c.starts.PackageFetched(*a.Config()) {
		c.MatchAgain()
	}
}

// packageNotFetched notes that an attempt could not fetch its package because nothing answered at its host, or the
// host had no good answer for its URL. An app that was changed since has another package.
func (c *Core) packageNotFetched(ref executions.TaskRef, st *wire.Status) {
	s, with := ref.Shard(), ref.Exec.Settings().App
	a := c.config.App(with.AppName)
	switch {
	case a == nil:
	case a.Config().PodTemplate != with.PodTemplate: // it was fetched from another kind of pod
	case st.Unreachable != "" && wire.HostPort(a.Config().AppURL) == st.Unreachable:
		c.MatchAt(c.starts.Unreachable(*a.Config(), ref.Exec.ID(), s.Launched(), s.Cause()))
	case st.Unanswered && a.Config().AppURL == with.AppURL:
		c.MatchAt(c.starts.Unanswered(*a.Config(), ref.Exec.ID(), s.Launched(), s.Cause()))
	}
}

// afterTheEnd: the first end is final; a later one may fill in its cause, and
// a live state is answered with KILL (S2, S4).
func (c *Core) afterTheEnd(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	switch {
	case u.State == cluster.Staging, u.State == cluster.Starting, u.State == cluster.Running, u.State == cluster.Killing:
		c.Kill(u.TaskID, u.AgentID, c.executions.TaskGrace(ref), "its attempt has ended")
	case len(u.UUID) > 0 && s.Cause().IsZero() && s.State() != executions.Finished:
		if st := u.Status; st != nil && st.Cause != "" {
			c.executions.CauseLearned(ref, reason.FromText(store.Shorten(st.Cause)))
		}
	}
}

// unknownTask: a task that is not, or no longer, ours to know (S4).
func (c *Core) unknownTask(u cluster.Update) {
	switch u.State {
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		kind, ended := step.NoteUnknownTask, c.executions.MustEndedTask(u.TaskID)
		if id, err := jobs.ParseTaskID(u.TaskID); ended.Exec != nil || err == nil && c.config.Job(id.Job) != nil {
			kind = step.NoteFormerTask
		}
		c.Note(step.Note{Kind: kind, Task: u.TaskID, Detail: "on agent " + u.AgentID, Problem: true})
		c.Kill(u.TaskID, u.AgentID, c.executions.TaskGrace(ended), "no shard knows it")
	}
}

// learnPackage keeps which package an attempt runs with, and reports whether that was news.
func (c *Core) learnPackage(ref executions.TaskRef, st *wire.Status) (changed bool) {
	s := ref.Shard()
	if sum, err := hex.DecodeString(st.PackageSHA256); err != nil || len(sum) != sha256.Size || s.Package() == st.PackageSHA256 {
		return false
	}
	c.executions.RanWith(ref, st.PackageSHA256)
	if st.PackageNote != "" {
		c.Note(step.Note{Kind: step.NotePackageChanged, Job: ref.Exec.Job(), Execution: ref.Exec.ID(), Task: s.TaskID(), Detail: "agent " + s.Agent() + ": " + store.Shorten(st.PackageNote), Problem: true})
	}
	return true
}

package attempts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Update applies one status update (rules S1-S5 and the table of answers). Every update with a uuid is acknowledged
// after the commit of its consequences (S3).
func (as *Attempts) Update(u cluster.Update) {
	if len(u.UUID) > 0 {
		as.st.Call(step.CallAcknowledge{Ack: cluster.Ack{TaskID: u.TaskID, AgentID: u.AgentID, UUID: u.UUID}})
	}
	if u.AgentID != "" {
		as.recordAgent(u)
	}
	if x := as.st.Executors.Get(u.ExecutorID); x != nil {
		as.recordExecutor(x, u)
	}
	if u.Source == cluster.FromExecutor && len(u.UUID) > 0 {
		as.hearOrphans(u.ExecutorID)
	}
	ref, open := as.st.Executions.Task(u.TaskID)
	agent, asked := as.st.Agents.AgentOfQuestion(u.TaskID)
	orphan, orphaned := as.st.Orphans.Get(u.TaskID)
	switch {
	case asked:
		as.applyAgentAnswer(agent, u)
	case orphaned:
		// Updates under the present id say nothing about a task of a former framework.
		if !as.st.Subscription.IsFormer(&orphan) {
			as.updateOrphan(&orphan, u)
		}
	case open:
		as.updateAttempt(ref, u)
	case as.st.Subscription.InTakeover():
		as.st.Subscription.HandleTakeoverUpdate(u, as.st.Agents.Registered(u.AgentID))
	default:
		as.updateUnknownTask(u)
	}
}

// recordAgent records whether the agent of an update is registered, according to that update.
func (as *Attempts) recordAgent(u cluster.Update) {
	switch known := u.State == cluster.Gone && u.Reason == cluster.ReasonReconciliation; {
	case u.Source != cluster.FromMaster, known, u.Reason == cluster.ReasonAgentReregistered:
		// The master forwards updates of agents, and answers reconciliation with GONE for a task that a registered
		// agent does not have.
		as.st.Agents.Register(as.st.Agents.GetOrAdd(u.AgentID))
	case u.State == cluster.Gone:
		// The agent was removed, or replaced at its address. If the master does not know a task of it from now on, the
		// agent has not said so, and the task may have begun (rule E1).
		as.st.Agents.MarkRemoved(u.AgentID)
	case u.State == cluster.Unreachable:
		since := u.UnreachableSince
		if since.IsZero() {
			since = u.Timestamp
		}
		as.st.Agents.MarkUnreachable(u.AgentID, as.st.SinceReported(since)) // for people
	}
}

// nodeGrace is how long Kubernetes waits for a node before it says that the node is not ready (the default of
// --node-monitor-grace-period since 1.32).
const nodeGrace = 50 * time.Second

// noticed returns since when a task counts as unreachable that the cluster calls so now. The clocks of other machines
// take part in no decision, so this leader counts from now. Kubernetes, which knows no other executors than those of
// tasks, has already waited for nodeGrace.
func (as *Attempts) noticed(s *executions.Shard) time.Time {
	if as.st.Opt.TaskExecutors {
		return later(as.st.Now().Add(-nodeGrace), s.Launched())
	}
	return as.st.Now()
}

// recordExecutor records what an update says about its executor: that it runs, or has run.
func (as *Attempts) recordExecutor(x *executors.Executor, u cluster.Update) {
	if len(u.UUID) > 0 {
		as.st.Executors.RecordUpdate(x, u.Source == cluster.FromExecutor)
		if u.Source == cluster.FromExecutor {
			as.endSilence(x)
		}
	}
	if u.Source != cluster.FromMaster && x.Pending() == 0 {
		// Only a task of the executor's last ACCEPT confirms it. Updates of older tasks, and the offers after them,
		// may have been on their way since before that ACCEPT (rule X3).
		if ref, ok := as.st.Executions.Task(u.TaskID); ok && ref.Shard().SentWith() == x.SentWith() {
			as.st.Executors.Confirm(x)
		}
	}
}

// updateAttempt applies an update of a task of an open execution.
func (as *Attempts) updateAttempt(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if s.State().Terminal() {
		as.updateEnded(ref, u)
		return
	}
	as.st.Executions.MarkKnown(ref)
	if len(u.UUID) > 0 && bytes.Equal(u.UUID, s.UUID()) && s.Unreachable().IsZero() {
		return // S1; for a task that was reported as unreachable it means that its agent is back
	}
	switch u.State {
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		as.updateLive(ref, u)
	case cluster.Unreachable:
		as.st.Executions.MarkAway(ref)
		as.markUnreachable(ref, as.noticed(ref.Shard()))
	case cluster.Unknown:
		as.updateUnknown(ref, u)
	default:
		if u.State.Terminal() {
			as.updateTerminal(ref, u)
		}
		// Any other state comes from a Mesos newer than these rules: it says only that the task is known [D67].
	}
}

// updateLive applies a report that the task is on its agent. The state of a task never goes back to an earlier one
// (S2).
func (as *Attempts) updateLive(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	seen := map[cluster.State]int{cluster.Staging: executions.SeenStaging, cluster.Starting: executions.SeenStarting,
		cluster.Running: executions.SeenRunning, cluster.Killing: executions.SeenRunning}[u.State]
	if s.StuckStaging() && seen == executions.SeenStaging {
		return // the task counts as unreachable until it makes progress
	}
	changed := false
	if s.Silent() && u.Source == cluster.FromMaster {
		// What the master remembers is no sign of a silent executor. But only its silence counts from now on.
		as.st.Executions.MarkNotAway(ref)
	} else if changed = as.st.Executions.MarkReachable(ref); changed {
		as.recording.TraceUpdate(ref, u, reason.Reason{}) // its agent is back
	}
	st := u.Status
	fetching := st != nil && st.Phase == wire.PhaseFetch && u.State == cluster.Starting
	changed = as.st.Executions.RecordStage(ref, seen, fetching) || changed
	changed = as.recordWait(ref, u) || changed
	if st != nil {
		changed = as.places.Record(ref, st) || changed
		changed = as.recordPackage(ref, st) || changed
		if !st.StartTime.IsZero() && !s.Start().Equal(st.StartTime) {
			as.st.Executions.RecordStart(ref, st.StartTime)
			changed = true
		}
		as.daemons.Report(ref, st)
	}
	if s.Seen() >= executions.SeenRunning && s.State() == executions.Launching {
		as.recording.TraceUpdate(ref, u, reason.Reason{})
		as.st.Executions.MarkRunning(ref, as.st.Said(u.Timestamp))
		changed = true
	}
	// An agent that fetches the package itself has started nothing yet.
	if s.Seen() >= executions.SeenStarting && !(s.Fetching() && u.Source == cluster.FromAgent) {
		as.st.Starts.Forget(ref.Exec.Settings().App.AppName, s.Agent())
	}
	if s.Seen() >= executions.SeenRunning {
		changed = as.startTimeout(ref) || changed
		as.recordFetched(ref)
	}
	if changed {
		as.st.Executions.RecordUpdate(ref, u.UUID)
	}
	if !s.KillSince().IsZero() {
		as.SendKill(ref) // K1: at every sign of the task
	}
}

// recordWait records the agent's reason why a task has not begun, and reports whether that changed. An answer of the
// master to reconciliation gives the reason of the answer, not that of the task.
func (as *Attempts) recordWait(ref executions.TaskRef, u cluster.Update) (changed bool) {
	s, waits := ref.Shard(), ""
	if s.Seen() < executions.SeenRunning {
		if u.State != cluster.Starting || u.Source != cluster.FromAgent {
			return false
		}
		waits = store.Shorten(u.Message)
	}
	return as.st.Executions.RecordWait(ref, waits)
}

// markUnreachable records that the task's agent does not answer the master (rule E4). The rule counts from since.
func (as *Attempts) markUnreachable(ref executions.TaskRef, since time.Time) {
	s := ref.Shard()
	if !s.Unreachable().IsZero() {
		return
	}
	as.st.Executions.MarkUnreachable(ref, since)
	as.sweepAt(since.Add(as.st.Executions.UnreachableAfter(ref.Exec)), s.TaskID())
	as.recording.Trace(ref, cluster.Unreachable, event.FromScheduler, "",
		reason.FromText("agent "+s.Agent()+" does not answer"), as.st.Wall(), since.Format(time.RFC3339Nano))
	as.st.Note(step.Note{Kind: step.NoteTaskUnreachable, Job: ref.Exec.Job(), Execution: ref.Exec.ID(),
		Task: s.TaskID(), Detail: "agent " + s.Agent() + " does not answer", Problem: true})
}

// updateUnknown applies the report that the master does not know the task. The task has ended only if the present
// master has had the agent registered in this session.
func (as *Attempts) updateUnknown(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if as.st.Agents.Registered(s.Agent()) {
		as.updateTerminal(ref, u)
		return
	}
	as.markUnreachable(ref, as.st.Now())
}

// updateTerminal applies an end, except one without a cause (S5).
func (as *Attempts) updateTerminal(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if len(u.UUID) == 0 && (u.Reason == cluster.ReasonReconciliation || u.Reason == cluster.ReasonAgentReregistered) {
		switch u.State {
		case cluster.Gone, cluster.GoneByOperator, cluster.Unknown, cluster.Dropped:
		default:
			as.st.Executions.RecordUnclearEnd(ref, string(u.State))
			return
		}
	}
	if x := as.st.Executors.Get(s.Executor()); x != nil && u.Source == cluster.FromAgent &&
		u.Reason == cluster.ReasonExecutorTerminated {
		as.st.Executors.Close(x) // FAILURE may get lost (rules X1, X3)
		if u.State != cluster.Dropped && len(u.UUID) > 0 && x.Pending() == 0 && s.SentWith() != 0 &&
			s.SentWith() == x.SentWith() {
			as.st.Executors.MarkEnded(x)
		}
	}
	if u.Source == cluster.FromExecutor {
		as.st.Starts.Forget(ref.Exec.Settings().App.AppName, s.Agent()) // a short task is reported by its end alone
	}
	end := as.endOf(ref, u)
	as.st.Executions.RecordEnd(ref, end)
	as.recording.TraceUpdate(ref, u, s.Cause())
	if st := u.Status; st != nil && u.Source == cluster.FromExecutor {
		if x := as.st.Executors.Get(s.Executor()); x != nil && st.SupervisorLost {
			as.st.Executors.Close(x) // the executor is ending, and would end tasks that are launched on it now
		}
		as.recordPackage(ref, st)
		as.daemons.Report(ref, st)
		switch {
		case st.Unreachable != "", st.Unanswered:
			as.recordNotFetched(ref, st)
		case !st.StartTime.IsZero():
			as.recordFetched(ref)
		}
	}
	lingers := time.Duration(0)
	if as.mayLinger(s, u) {
		lingers = as.st.Executions.TaskGrace(ref) + executions.RefusedTimeout
	}
	as.endAttempt(ref, classify(soFar(s), u, as.st.Executors.Heard(s.Executor())), lingers)
}

// mayLinger reports whether processes of a task may live on for its grace although the cluster reports its end.
func (as *Attempts) mayLinger(s *executions.Shard, u cluster.Update) bool {
	switch u.Reason {
	case cluster.ReasonAgentRemoved:
		// A new agent has registered at the address of the task's agent. The old executors may live, but the new agent
		// refuses to let them in, and they end their tasks (rule X6).
		return true
	case cluster.ReasonTaskRemoved:
		return true
	}
	// Where each task has its own executor, no agent is asked. If the cluster no longer knows a task that had been
	// there, the task was removed while no leader watched.
	return as.st.Opt.TaskExecutors && u.State == cluster.Gone && s.Seen() >= executions.SeenStarting
}

// recordFetched records that a process of an attempt began, so that its package could be fetched.
func (as *Attempts) recordFetched(ref executions.TaskRef) {
	if a := as.st.Config.App(ref.Exec.Settings().App.AppName); a != nil && as.st.Starts.RecordFetched(*a.Config()) {
		as.st.RequestMatch()
	}
}

// recordNotFetched records that an attempt could not fetch its package because its host did not answer, or answered
// with an error for its URL. It ignores an app that was changed since, because that app has another package.
func (as *Attempts) recordNotFetched(ref executions.TaskRef, st *wire.Status) {
	s, with := ref.Shard(), ref.Exec.Settings().App
	a := as.st.Config.App(with.AppName)
	switch {
	case a == nil:
	case a.Config().PodTemplate != with.PodTemplate: // the attempt fetched from another kind of pod
	case st.Unreachable != "" && wire.HostPort(a.Config().AppURL) == st.Unreachable:
		as.st.RequestMatchAt(as.st.Starts.RecordUnreachable(*a.Config(), ref.Exec.ID(), s.Launched(), s.Cause()))
	case st.Unanswered && a.Config().AppURL == with.AppURL:
		as.st.RequestMatchAt(as.st.Starts.RecordUnanswered(*a.Config(), ref.Exec.ID(), s.Launched(), s.Cause()))
	}
}

// updateEnded applies an update of a shard that has ended. The first end is final; a later update may fill in its
// cause, and a live state is answered with KILL (S2, S4).
func (as *Attempts) updateEnded(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	switch {
	case u.State == cluster.Staging, u.State == cluster.Starting, u.State == cluster.Running,
		u.State == cluster.Killing:
		as.st.Kill(u.TaskID, u.AgentID, as.st.Executions.TaskGrace(ref), "its attempt has ended")
	case len(u.UUID) > 0 && s.Cause().IsZero() && s.State() != executions.Finished:
		if st := u.Status; st != nil && st.Cause != "" {
			as.st.Executions.AddCause(ref, reason.FromText(store.Shorten(st.Cause)))
		}
	}
}

// updateUnknownTask kills a live task that belongs to no shard, or whose shard has gone on without it (S4).
func (as *Attempts) updateUnknownTask(u cluster.Update) {
	switch u.State {
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		kind, ended := step.NoteUnknownTask, as.st.Executions.EndedRef(u.TaskID)
		if id, err := jobs.ParseTaskID(u.TaskID); ended.Exec != nil || err == nil && as.st.Config.Job(id.Job) != nil {
			kind = step.NoteFormerTask
		}
		as.st.Note(step.Note{Kind: kind, Task: u.TaskID, Detail: "on agent " + u.AgentID, Problem: true})
		as.st.Kill(u.TaskID, u.AgentID, as.st.Executions.TaskGrace(ended), "it belongs to no shard")
	}
}

// recordPackage records which package an attempt runs with, and reports whether that changed.
func (as *Attempts) recordPackage(ref executions.TaskRef, st *wire.Status) (changed bool) {
	s := ref.Shard()
	if sum, err := hex.DecodeString(st.PackageSHA256); err != nil || len(sum) != sha256.Size ||
		s.Package() == st.PackageSHA256 {
		return false
	}
	as.st.Executions.RecordPackage(ref, st.PackageSHA256)
	if st.PackageNote != "" {
		as.st.Note(step.Note{Kind: step.NotePackageChanged, Job: ref.Exec.Job(), Execution: ref.Exec.ID(),
			Task: s.TaskID(), Detail: "agent " + s.Agent() + ": " + store.Shorten(st.PackageNote), Problem: true})
	}
	return true
}

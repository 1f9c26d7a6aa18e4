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

// Update applies one status update (rules S1-S5, R). Every update with a uuid is acknowledged after the commit of its
// consequences (S3).
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
		as.askAboutOrphansOf(u.ExecutorID)
	}
	ref, found := as.st.Executions.Task(u.TaskID)
	agent, isQuestion := as.st.Agents.AgentOfQuestion(u.TaskID)
	orphan, isOrphan := as.st.Orphans.Get(u.TaskID)
	switch {
	case isQuestion:
		as.applyAgentAnswer(agent, u)
	case isOrphan:
		// The task may be indexed, too: its shard has then ended, while its processes may still run (addEnding).
		// Updates under the present framework id say nothing about a task of a former framework.
		if !as.st.Subscription.IsFormer(&orphan) {
			as.updateOrphan(&orphan, u)
		}
	case found:
		as.updateAttempt(ref, u)
	case as.st.Subscription.InTakeover():
		as.st.Subscription.HandleTakeoverUpdate(u, as.st.Agents.Registered(u.AgentID))
	default:
		as.updateUnknownTask(u)
	}
}

// recordAgent records whether the agent of an update is registered, according to that update.
func (as *Attempts) recordAgent(u cluster.Update) {
	// The master answers reconciliation with GONE for a task that a registered agent does not have.
	agentLacksTask := u.State == cluster.Gone && u.Reason == cluster.ReasonReconciliation
	switch {
	case u.Source != cluster.FromMaster, agentLacksTask, u.Reason == cluster.ReasonAgentReregistered:
		// The master forwards only the updates of registered agents.
		as.st.Agents.Register(as.st.Agents.GetOrAdd(u.AgentID))
	case u.State == cluster.Gone:
		// The agent was removed, or another agent has its address now. If the master later says that it does not know
		// a task there, no agent has confirmed that, so the task may have begun (rule E1).
		as.st.Agents.MarkRemoved(u.AgentID, true)
	case u.State == cluster.Unreachable:
		since := u.UnreachableSince
		if since.IsZero() {
			since = u.Timestamp
		}
		as.st.Agents.MarkUnreachable(u.AgentID, as.st.SinceReported(since)) // only shown: see unreachableFrom
	}
}

// nodeGrace is how long Kubernetes waits for a node before it says that the node is not ready (the default of
// --node-monitor-grace-period since 1.32).
const nodeGrace = 50 * time.Second

// unreachableFrom returns the time from which rule E4 counts for a task that the cluster has just called unreachable.
// It is the present time, because no decision uses the clock of another machine. On Kubernetes, where each task has
// its own executor, it is nodeGrace earlier, but not before the launch: the cluster has already waited that long for
// the node.
func (as *Attempts) unreachableFrom(s *executions.Shard) time.Time {
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
	as.st.Executions.MarkReported(ref)
	if len(u.UUID) > 0 && bytes.Equal(u.UUID, s.UUID()) && s.Unreachable().IsZero() {
		return // a repeated update changes nothing (S1), unless it shows that an unreachable task is back
	}
	switch u.State {
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		as.updateLive(ref, u)
	case cluster.Unreachable:
		as.st.Executions.MarkAway(ref)
		as.markUnreachable(ref, as.unreachableFrom(ref.Shard()))
	case cluster.Unknown:
		as.updateUnknown(ref, u)
	default:
		if u.State.Terminal() {
			as.updateTerminal(ref, u)
		}
		// Any other state comes from a Mesos newer than these rules. It shows only that the master knows the task
		// [D67].
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
		// The master reports what it remembers, so this is no sign of life of a silent executor. But the master no
		// longer calls the agent unreachable: from now on only the executor's silence keeps the task unreachable.
		as.st.Executions.MarkNotAway(ref)
	} else if changed = as.st.Executions.MarkReachable(ref); changed {
		as.recording.TraceUpdate(ref, u, reason.Reason{}) // the agent is back, or the task has not ended after all
	}
	st := u.Status
	fetching := st != nil && st.Phase == wire.PhaseFetch && u.State == cluster.Starting
	changed = as.st.Executions.RecordStage(ref, seen, fetching) || changed
	changed = as.recordWaitText(ref, u) || changed
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
		as.st.Executions.MarkRunning(ref, as.st.ReportedTime(u.Timestamp))
		changed = true
	}
	agentFetches := s.Fetching() && u.Source == cluster.FromAgent // it starts the executor afterwards
	if s.Seen() >= executions.SeenStarting && !agentFetches {
		as.st.StartFailures.Remove(ref.Exec.Settings().App.AppName, s.Agent())
	}
	if s.Seen() >= executions.SeenRunning {
		changed = as.startTimeout(ref) || changed
		as.recordFetched(ref)
	}
	if changed {
		as.st.Executions.RecordUpdate(ref, u.UUID)
	}
	if !s.KillSince().IsZero() {
		as.SendKill(ref) // at every sign of life of the task (K1)
	}
}

// recordWaitText records the agent's reason why a task has not begun, and reports whether the reason changed. A
// running task has none. Only an agent's update in state STARTING has that reason: the message of a master's answer to
// reconciliation is about the answer.
func (as *Attempts) recordWaitText(ref executions.TaskRef, u cluster.Update) (changed bool) {
	s, text := ref.Shard(), ""
	if s.Seen() < executions.SeenRunning {
		if u.State != cluster.Starting || u.Source != cluster.FromAgent {
			return false
		}
		text = store.Shorten(u.Message)
	}
	return as.st.Executions.RecordWaitText(ref, text)
}

// markUnreachable records that a task is unreachable, and that rule E4 counts from since. It does nothing for a task
// that is unreachable already.
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

// updateUnknown applies the report that the master does not know the task. The task has ended if the master has its
// agent registered. Otherwise the agent may come back with the task. It should have registered with this master after
// registerTime: then the answer counts like that of a master that calls the agent unreachable.
func (as *Attempts) updateUnknown(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	if as.st.Agents.Registered(s.Agent()) {
		as.updateTerminal(ref, u)
		return
	}
	as.markUnreachable(ref, as.st.Now())
	if as.st.Now().Sub(as.st.Subscription.Began()) >= registerTime {
		as.st.Executions.MarkUnknown(ref)
	}
}

// updateTerminal applies the report that a task has ended. If the report is an answer to reconciliation, it has no
// cause: the end is recorded as unclear, and the attempt ends with the update that follows, or after
// Options.EndUnclear (S5). If the cluster says that the task does not exist (GONE, UNKNOWN and so on), no update
// follows, so the attempt ends at once.
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
		as.st.Executors.Close(x) // the FAILURE event with the same news may get lost (rules X1, X3)
		ofLastAccept := s.SentWith() != 0 && s.SentWith() == x.SentWith() && x.Pending() == 0
		if ofLastAccept && u.State != cluster.Dropped && len(u.UUID) > 0 {
			as.st.Executors.MarkEnded(x)
		}
	}
	if u.Source == cluster.FromExecutor {
		// A short task is reported by its end alone.
		as.st.StartFailures.Remove(ref.Exec.Settings().App.AppName, s.Agent())
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
	lingerTime := time.Duration(0)
	if as.mayLinger(s, u) {
		lingerTime = as.st.Executions.TaskGrace(ref) + executions.RefusedTimeout
	}
	if !as.knowsEnd(u) && !as.keepUnkilled(ref, u) {
		as.keepUnseen(ref)
	}
	as.endAttempt(ref, classify(soFar(s), u, as.st.Executors.Heard(s.Executor())), lingerTime)
}

// mayLinger reports whether processes of a task may live on for its grace although the cluster reports its end.
func (as *Attempts) mayLinger(s *executions.Shard, u cluster.Update) bool {
	switch u.Reason {
	case cluster.ReasonAgentRemoved:
		// A new agent has registered at the address of the task's agent. The old executors may live, but the new agent
		// refuses to let them in, and they end their tasks (rule X6).
		return true
	case cluster.ReasonTaskRemoved:
		return true // its agent is only about to end it
	}
	// Where each task has its own executor, the cluster answers GONE without asking the agent. If the task had begun
	// to start there, it was removed while no leader watched.
	return as.st.Opt.TaskExecutors && u.State == cluster.Gone && s.Seen() >= executions.SeenStarting
}

// recordFetched records that the package of an attempt was fetched, because a process of the attempt has begun.
func (as *Attempts) recordFetched(ref executions.TaskRef) {
	a := as.st.Config.App(ref.Exec.Settings().App.AppName)
	if a != nil && as.st.StartFailures.RecordFetched(*a.Config()) {
		as.st.RequestMatch()
	}
}

// recordNotFetched records that an attempt could not fetch its package: the host did not answer, or gave no good
// answer for the URL. It ignores the failure if the app was removed or changed so that it no longer fetches from that
// host, or that URL, or in the same pods.
func (as *Attempts) recordNotFetched(ref executions.TaskRef, st *wire.Status) {
	s, with, failures := ref.Shard(), ref.Exec.Settings().App, as.st.StartFailures
	a := as.st.Config.App(with.AppName)
	switch {
	case a == nil:
	case a.Config().PodTemplate != with.PodTemplate:
	case st.Unreachable != "" && wire.HostPort(a.Config().AppURL) == st.Unreachable:
		as.st.RequestMatchAt(failures.RecordUnreachable(*a.Config(), ref.Exec.ID(), s.Launched(), s.Cause()))
	case st.Unanswered && a.Config().AppURL == with.AppURL:
		as.st.RequestMatchAt(failures.RecordUnanswered(*a.Config(), ref.Exec.ID(), s.Launched(), s.Cause()))
	}
}

// updateEnded applies an update of a shard that has ended. The first end is final; a later update may fill in its
// cause, and a live state is answered with KILL (S2, S4).
func (as *Attempts) updateEnded(ref executions.TaskRef, u cluster.Update) {
	s := ref.Shard()
	switch {
	case u.State.Live():
		as.st.Kill(u.TaskID, u.AgentID, as.st.Executions.TaskGrace(ref), "its attempt has ended")
	case len(u.UUID) > 0 && s.Cause().IsZero() && s.State() != executions.Finished:
		if st := u.Status; st != nil && st.Cause != "" {
			as.st.Executions.AddCause(ref, reason.FromText(store.Shorten(st.Cause)))
		}
	}
}

// updateUnknownTask kills a live task that is no attempt of an open execution (S4). The log distinguishes former tasks
// of registered jobs and of known executions from tasks that are unknown altogether.
func (as *Attempts) updateUnknownTask(u cluster.Update) {
	if !u.State.Live() {
		return
	}
	kind, ended := step.NoteUnknownTask, as.st.Executions.EndedRef(u.TaskID)
	if id, err := jobs.ParseTaskID(u.TaskID); ended.Exec != nil || err == nil && as.st.Config.Job(id.Job) != nil {
		kind = step.NoteFormerTask
	}
	as.st.Note(step.Note{Kind: kind, Task: u.TaskID, Detail: "on agent " + u.AgentID, Problem: true})
	as.st.Kill(u.TaskID, u.AgentID, as.st.Executions.TaskGrace(ended), "it belongs to no shard any more")
}

// recordPackage records which package an attempt runs with, and reports whether that changed. It ignores a report
// without a valid checksum.
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

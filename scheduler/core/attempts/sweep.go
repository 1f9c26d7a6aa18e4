package attempts

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Sweep checks every live task and every orphan: whether it has been unreachable (rule E4), without the cause of its
// end (S5) or in STAGING (E5) for too long. It may be called in every step and does its work every step.SweepInterval.
// These times count from committed times (F8); in addition, this leader must itself have found a staged task staged.
func (as *Attempts) Sweep() {
	if as.st.Now().Before(as.nextSweep) {
		return
	}
	as.detectSilence()
	lastSweep := as.nextSweep.Add(-step.SweepInterval)
	as.nextSweep = as.st.Now().Add(step.SweepInterval)
	for _, id := range as.st.Executions.TaskIDs() {
		if ref, ok := as.st.Executions.Task(id); ok && ref.Shard().Live() {
			as.markLeaseOverdue(ref)
			as.sweepTask(ref)
		}
	}
	as.st.Agents.ForgetOld(func(id string) bool { return len(as.st.Executors.On(id)) > 0 })
	as.sweepOrphans()
	as.askAboutUnreachable(lastSweep)
	as.askAboutFormerAgents()
	as.st.Leases.KeepHolders(as.isHolder)
}

// sweepTask checks one live task, and ends its attempt or asks the cluster about it if a time of these rules has
// passed.
func (as *Attempts) sweepTask(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	as.watchTimeout(ref)
	if !as.st.Subscription.Open() || !s.Reported() {
		// What an earlier session reported may be out of date, so no attempt ends before this session has reported it.
		// But if an agent died together with the former master, the new one says nothing of it for ten minutes. Then
		// the silence of its executor counts, because this leader has observed that itself.
		if as.st.Subscription.Open() && as.silentFor(s) >= as.st.Executions.UnreachableAfter(e) &&
			!s.Unreachable().IsZero() && s.EndUnclear().IsZero() {
			as.sweepUnreachable(ref)
		}
		return
	}
	as.recordQuiet(e, s)
	if !s.KillSince().IsZero() && !s.Drain() {
		as.endUnresponsiveExecutor(ref)
	}
	switch {
	case !s.EndUnclear().IsZero():
		if as.st.Now().Sub(s.EndUnclear()) >= as.st.Opt.EndUnclear {
			u := cluster.Update{TaskID: s.TaskID(), AgentID: s.Agent(), State: cluster.State(s.EndState()),
				Source: cluster.FromAgent}
			end := as.endOf(ref, u)
			if u.State != cluster.Finished {
				end.Cause = reason.EndUnexplained(s.EndState())
			}
			as.st.Executions.RecordEnd(ref, end)
			as.recording.TraceDecided(ref, u.State, s.Cause())
			as.keepUnseen(ref)
			as.endAttempt(ref, classify(soFar(s), u, as.st.Executors.Heard(s.Executor())), 0)
		}
	case !s.Unreachable().IsZero():
		as.sweepUnreachable(ref)
	case s.Seen() < executions.SeenStarting && s.AcceptSeq() == 0 && !s.Launched().IsZero():
		// A task without any reported state needs no timer: its agent has not come back yet. A staged task must make
		// progress.
		if s.Seen() < executions.SeenStaging || as.st.Executions.CountStaged(ref) < stagedSweeps {
			return
		}
		switch since := as.st.Now().Sub(s.Launched()); {
		case since >= as.st.Opt.StagingKill && s.KillSent().IsZero():
			as.SendKill(ref)
			as.st.Call(step.CallReconcile{Tasks: []cluster.TaskRef{{TaskID: s.TaskID(), AgentID: s.Agent()}}})
		case since >= as.st.Opt.StagingLost &&
			as.st.Now().Sub(s.KillSent()) >= as.st.Opt.StagingLost-as.st.Opt.StagingKill:
			as.st.Executions.MarkStuckStaging(ref)
			as.markUnreachable(ref, as.st.Now())
			if x := as.st.Executors.Get(s.Executor()); x != nil {
				as.st.Executors.Close(x) // the executor would not take the next attempt, either
			}
		}
	}
}

// sweepUnreachable gives up an attempt that has been unreachable for long enough (rule E4). The session must be open,
// and the cluster must have reported the task in it.
func (as *Attempts) sweepUnreachable(ref executions.TaskRef) {
	e, s := ref.Exec, ref.Shard()
	away := as.st.Now().Sub(s.Unreachable())
	switch {
	case away < as.st.Executions.UnreachableAfter(e):
	case s.Unleased(): // nothing ends it if it still runs: only a report of its end frees the shard (rule K5)
	case s.StuckStaging():
		as.abandon(ref, reason.StuckStaging(s.Agent(), as.st.Now().Sub(s.Launched()).Round(time.Second)))
	case !s.Silent() && as.st.Agents.Registered(s.Agent()):
		// The agent is back, perhaps with the task: the master's answer about the task is awaited (package reconcile).
	case as.holdsLease(s): // the executor runs, and reaches this leader
	case !as.mayGiveUp(s):
	case as.st.OnlySilent(s):
		as.abandon(ref, reason.NoHeartbeat(s.Agent(), away.Round(time.Second)))
	default:
		as.abandon(ref, reason.AgentUnreachable(s.Agent(), away.Round(time.Second)))
	}
}

// sweepAt calls sweepUnreachable for a task at the time at which it may be given up, between two sweeps.
func (as *Attempts) sweepAt(at time.Time, taskID string) {
	as.st.Timers.At(at, func(time.Time) {
		if ref, ok := as.st.Executions.Task(taskID); ok && as.st.Subscription.Open() && ref.Shard().Live() &&
			ref.Shard().Reported() && !ref.Shard().Unreachable().IsZero() && ref.Shard().EndUnclear().IsZero() {
			as.sweepUnreachable(ref)
		}
	})
}

// askAboutUnreachable reconciles each unreachable task whenever the time for which it has been unreachable has
// doubled. An agent may come back without a task that the master does not know. No update reports that the task ended,
// and with offers suppressed there is no other sign of the agent. lastSweep is when the previous sweep was due.
func (as *Attempts) askAboutUnreachable(lastSweep time.Time) {
	if !as.st.Subscription.Open() {
		return
	}
	doublings := func(at, since time.Time) int {
		return bits.Len64(uint64(max(at.Sub(since), 0) / step.SweepInterval))
	}
	var refs []cluster.TaskRef
	for _, id := range as.st.Executions.TaskIDs() {
		s := as.st.Executions.Ref(id).Shard()
		if s.Live() && s.AcceptSeq() == 0 && s.Reported() && !s.Unreachable().IsZero() &&
			doublings(as.st.Now(), s.Unreachable()) > doublings(lastSweep, s.Unreachable()) {
			refs = append(refs, cluster.TaskRef{TaskID: s.TaskID(), AgentID: s.Agent()})
		}
	}
	as.st.Reconcile(refs)
}

// stagedSweeps is the number of sweeps that must have found a task staged before it is killed for that, because the
// task's next update may be on its way.
const stagedSweeps = 6

// unkilledReport is how long after the grace of a kill an executor reports, at the latest, that the processes of an
// exclusive task can't be killed (rule K5).
const unkilledReport = lease.UnkilledAfter + 15*time.Second

// endUnresponsiveExecutor closes an executor that does not answer a kill (rule K3), because it was stopped or hangs.
// Its agent then ends it with all its tasks. Those that were not to be killed are lost, as with any other end of an
// executor.
//
// Each sweep calls endUnresponsiveExecutor for every task whose kill is wanted. Sweeps are counted instead of time,
// because this process may have stood still meanwhile. They do not count while the agent is away, because no answer
// could arrive. A task that the executor has not received yet counts like any other, because an agent that has not
// handed it over answers the kill itself.
//
// The executor of an exclusive task gets at least unkilledReport.
func (as *Attempts) endUnresponsiveExecutor(ref executions.TaskRef) {
	s := ref.Shard()
	x := as.st.Executors.Get(s.Executor())
	// If only the executor is silent, its agent is not away: a stopped executor sends no heartbeats, either.
	agentAway := !s.Unreachable().IsZero() && !as.st.OnlySilent(s)
	canAnswer := !agentAway && s.Seen() >= executions.SeenStaging && s.AcceptSeq() == 0
	if x == nil || x.Unresponsive() || x.Pending() > 0 || !canAnswer {
		return
	}
	grace := as.st.Executions.TaskGrace(ref)
	if s.Lease() > 0 {
		grace += max(unkilledReport-as.st.Opt.KillAnswer, 0)
	}
	if !as.st.Executors.CountUnansweredKill(x, as.nextSweep, grace) {
		return
	}
	as.st.Executors.Close(x)
	as.st.Note(step.Note{Kind: step.NoteExecutor, Task: s.TaskID(), Problem: true,
		Detail: fmt.Sprintf("%s on agent %s did not answer the kill of its task: it is shut down with all its tasks",
			x.ID(), s.Agent())})
}

package executions

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// These are the transitions of a shard and its attempts. Each keeps the indexes over the executions correct and marks
// its changes for the commit; none decides anything, nor what follows in other parts of the core. A transition that is
// impossible in the shard's present state panics, because it is a bug of the caller: the term ends, and nothing of the
// step is written (scheduler/term).

// must panics unless a transition is possible. transition completes a sentence about the shard.
func (r TaskRef) must(possible bool, transition string) {
	if !possible {
		s := r.Shard()
		panic(fmt.Sprintf("item %d of %s, which is %s in attempt %d (task %q), %s",
			s.rec.Item, r.Exec.rec.ID, s.rec.State, s.rec.Attempt, s.rec.TaskID, transition))
	}
}

// NewTask describes the task of a shard's next attempt.
type NewTask struct {
	TaskID                string
	Agent, AgentURL, Host string
	// Original is the id of the lost task that an attempt by failover replaces.
	Original string
	Executor string
	// Accept is the number of the ACCEPT that launches it.
	Accept int64
	// Need, Settings and Grace are set only for a daemon's attempt; see the methods of Shard.
	Need     resources.Amount
	Settings string
	Grace    time.Duration
	// Lease is the length of the leases of an exclusive attempt; 0 for any other. Unleased is set for an exclusive
	// attempt without a lease.
	Lease    time.Duration
	Unleased bool
}

// Launch gives a waiting shard its next attempt.
func (es *Set) Launch(ref TaskRef, t NewTask) {
	a := attempt{TaskID: t.TaskID, Agent: t.Agent, AgentURL: t.AgentURL, Host: t.Host, Original: t.Original,
		Executor: t.Executor,
		Need:     t.Need, Settings: t.Settings, Grace: t.Grace, Lease: t.Lease, Unleased: t.Unleased,
		Launched: es.shared.Now(), acceptSeq: t.Accept, sentWith: t.Accept}
	s := ref.Shard()
	ref.must(s.rec.State == Waiting, "is launched")
	s.rec.State, s.rec.NotBefore = Launching, time.Time{}
	s.rec.Attempt++
	s.rec.attempt, s.rec.GivenUp = a, nil
	es.indexTask(ref)
	es.markShardChanged(ref.Exec, ref.index)
	es.report(Change{Kind: TaskLaunched, Exec: ref.Exec, Index: ref.index})
}

// RecordAnswer records that the ACCEPT of an attempt was answered (rule L4).
func (es *Set) RecordAnswer(ref TaskRef) { ref.Shard().rec.acceptSeq = 0 }

// BeginSession voids what the last session knew of all tasks: their ACCEPTs cannot arrive any more, and earlier
// reports about them and kills of them no longer count.
func (es *Set) BeginSession() {
	for _, ref := range es.tasks {
		s := ref.Shard()
		s.rec.reported, s.rec.unknown = false, false
		s.rec.acceptSeq, s.rec.killSent, s.rec.killTry = 0, time.Time{}, 0
	}
}

// MarkAway records that a master has marked the agent of an attempt as unreachable, as opposed to not knowing the
// task.
func (es *Set) MarkAway(ref TaskRef) {
	if s := ref.Shard(); !s.rec.Away {
		s.rec.Away = true
		es.markShardChanged(ref.Exec, ref.index)
	}
}

// MarkUnknown records that the master does not know an attempt, although its agent has had the time to register with
// this master (rule E4).
func (es *Set) MarkUnknown(ref TaskRef) { ref.Shard().rec.unknown = true }

// MarkNotAway records that the master knows an attempt, and does not call its agent unreachable any more.
func (es *Set) MarkNotAway(ref TaskRef) {
	s := ref.Shard()
	s.rec.unknown = false
	if s.rec.Away {
		s.rec.Away = false
		es.markShardChanged(ref.Exec, ref.index)
	}
}

// MarkUnreachable records since when a live attempt has counted as unreachable (rule E4).
func (es *Set) MarkUnreachable(ref TaskRef, since time.Time) {
	s := ref.Shard()
	ref.must(s.Live(), "is unreachable")
	s.rec.Unreachable = since
	es.markShardChanged(ref.Exec, ref.index)
}

// MarkSilent records that the executor of an unreachable attempt sends no heartbeats.
func (es *Set) MarkSilent(ref TaskRef) {
	ref.Shard().rec.Silent = true
	es.markShardChanged(ref.Exec, ref.index)
}

// MarkHeard records that the executor of a silent attempt is heard again, and returns whether the attempt is reachable
// now. It stays unreachable if the cluster calls its agent unreachable.
func (es *Set) MarkHeard(ref TaskRef) (reachable bool) {
	s := ref.Shard()
	s.rec.Silent, s.rec.unknown = false, false
	if !s.rec.Away {
		s.rec.Unreachable = time.Time{}
	}
	es.markShardChanged(ref.Exec, ref.index)
	return !s.rec.Away
}

// RecordUnclearEnd records that the cluster reports an attempt as ended, in that state, without a cause (rule S5).
// Only the first such report counts.
func (es *Set) RecordUnclearEnd(ref TaskRef, state string) {
	if s := ref.Shard(); s.rec.EndUnclear.IsZero() {
		s.rec.EndUnclear, s.rec.EndState = es.shared.Now(), state
		es.markShardChanged(ref.Exec, ref.index)
	}
}

// MarkReachable records that an attempt was reported alive: its agent answers, and it has not ended. It returns
// whether that is news.
func (es *Set) MarkReachable(ref TaskRef) (changed bool) {
	s := ref.Shard()
	if s.rec.Unreachable.IsZero() && s.rec.EndUnclear.IsZero() {
		return false
	}
	s.rec.Unreachable, s.rec.Away, s.rec.Silent, s.rec.unknown = time.Time{}, false, false, false
	s.rec.EndUnclear, s.rec.EndState = time.Time{}, ""
	es.markShardChanged(ref.Exec, ref.index)
	return true
}

// MarkRunning records that a live attempt runs. since is when the run began according to the cluster; it counts
// unless the executor has reported the time.
func (es *Set) MarkRunning(ref TaskRef, since time.Time) {
	s := ref.Shard()
	ref.must(s.Live(), "runs")
	s.rec.State, s.rec.runningSince = Running, es.shared.Now()
	if s.rec.Start.IsZero() {
		es.RecordStart(ref, since)
	}
	es.markShardChanged(ref.Exec, ref.index)
	es.report(Change{Kind: TaskRunning, Exec: ref.Exec, Index: ref.index})
}

// WantedKill describes why and how a task is to be killed.
type WantedKill struct {
	Why     reason.Reason // the reason of this task alone; none if its execution ends, or for its timeout
	Drain   bool          // a daemon's shard may finish its present run (rule X12)
	Timeout bool          // the task exceeded its timeout (rule K4)
	Replace bool          // the shard is to get new settings (rule X8)
}

// WantKill records that the task of a live shard is to be killed (rule K1). A kill is sent if none was wanted before,
// or if the wanted one drains the shard and this one does not.
func (es *Set) WantKill(ref TaskRef, k WantedKill) {
	s := ref.Shard()
	ref.must(s.Live(), "is to be killed")
	send := s.rec.KillSince.IsZero() || s.rec.Drain && !k.Drain
	if send {
		s.rec.KillSince, s.rec.Drain, s.rec.killTry = es.shared.Now(), k.Drain, 0
	}
	if !k.Why.IsZero() {
		s.rec.Kill = k.Why
	}
	s.rec.TimedOut, s.rec.Replacing = s.rec.TimedOut || k.Timeout, s.rec.Replacing || k.Replace
	if send || !k.Why.IsZero() {
		es.markShardChanged(ref.Exec, ref.index)
		es.report(Change{Kind: TaskKillRequested, Exec: ref.Exec, Index: ref.index, Why: k.Why, Send: send})
	}
}

// RecordKillSent records that a kill was sent now.
func (es *Set) RecordKillSent(ref TaskRef) {
	s := ref.Shard()
	s.rec.killSent = es.shared.Now()
	s.rec.killTry++
}

// complete ends a shard, and returns whether its execution has ended with it.
func (es *Set) complete(ref TaskRef, state State) (last bool) {
	e, s := ref.Exec, ref.Shard()
	ref.must(!s.rec.State.Terminal() && state.Terminal(), "ends as "+string(state))
	s.rec.State = state
	if s.rec.Complete.IsZero() {
		s.rec.Complete = es.shared.Wall()
	}
	s.rec.Unreachable, s.rec.EndUnclear, s.rec.KillSince, s.rec.NotBefore = time.Time{}, time.Time{}, time.Time{},
		time.Time{}
	s.rec.acceptSeq = 0
	es.markShardChanged(e, ref.index)
	e.shardsOpen--
	return e.shardsOpen == 0
}

// requeue makes a shard wait for another attempt after a delay. It keeps from the last attempt where it ran and why it
// ended.
func (es *Set) requeue(ref TaskRef, source Source, delay time.Duration) {
	e, s := ref.Exec, ref.Shard()
	ref.must(s.Live(), "is requeued")
	es.ForgetTask(s.rec.TaskID)
	s.rec.State, s.rec.Type = Waiting, source
	s.rec.WaitSince, s.rec.NotBefore = es.shared.Now(), es.shared.Now().Add(delay)
	if !s.rec.Start.IsZero() && (e.rec.Begun.IsZero() || s.rec.Start.Before(e.rec.Begun)) {
		e.rec.Begun = s.rec.Start
		es.markChanged(e)
	}
	s.rec.attempt = s.rec.past()
	es.markShardChanged(e, ref.index)
}

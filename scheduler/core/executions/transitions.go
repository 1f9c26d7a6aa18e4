package executions

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// These are the transitions of a shard and its attempts: what can happen to them. Each keeps the indexes over the
// executions true and marks what it changes for the commit; none decides anything. What follows from a transition
// elsewhere is up to its caller. One that can't happen to a shard as it is is a bug of its caller, and panics: the
// term ends, and nothing of the step is written (scheduler/term).

// must panics unless a transition is possible. It says what would happen to the shard.
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
	// Original is the task that was lost, of an attempt by failover.
	Original string
	Executor string
	// Accept is the number of the ACCEPT that launches it.
	Accept int64
	// Need, Settings and Grace are set for a daemon's attempt only; see the methods of Shard.
	Need     resources.Amount
	Settings string
	Grace    time.Duration
}

// Launch gives a waiting shard its next attempt.
func (es *Set) Launch(ref TaskRef, t NewTask) {
	a := attempt{TaskID: t.TaskID, Agent: t.Agent, AgentURL: t.AgentURL, Host: t.Host, Original: t.Original,
		Executor: t.Executor,
		Need:     t.Need, Settings: t.Settings, Grace: t.Grace, Launched: es.shared.Now(), acceptSeq: t.Accept,
		sentWith: t.Accept}
	s := ref.Shard()
	ref.must(s.rec.State == Waiting, "is launched")
	s.rec.State, s.rec.NotBefore = Launching, time.Time{}
	s.rec.Attempt++
	s.rec.attempt = a
	es.begin(ref)
	es.touchShard(ref.Exec, ref.index)
	es.tell(Change{Kind: TaskLaunched, Exec: ref.Exec, Index: ref.index})
}

// Answered notes that the ACCEPT of an attempt was answered (rule L4).
func (es *Set) Answered(ref TaskRef) { ref.Shard().rec.acceptSeq = 0 }

// SessionBegan voids what the last session knew of all tasks: their ACCEPTs can't arrive any more, and what was
// reported of them, and sent to them, counts for nothing.
func (es *Set) SessionBegan() {
	for _, ref := range es.tasks {
		s := ref.Shard()
		s.rec.known, s.rec.acceptSeq, s.rec.killSent, s.rec.killTry = false, 0, time.Time{}, 0
	}
}

// MarkedAway notes that a master has the agent of an attempt marked as unreachable, and not only does not know the
// task.
func (es *Set) MarkedAway(ref TaskRef) {
	if s := ref.Shard(); !s.rec.Away {
		s.rec.Away = true
		es.touchShard(ref.Exec, ref.index)
	}
}

// FoundUnreachable notes since when the agent of a live attempt has not answered the master (rule E4).
func (es *Set) FoundUnreachable(ref TaskRef, since time.Time) {
	s := ref.Shard()
	ref.must(s.Live(), "is unreachable")
	s.rec.Unreachable = since
	es.touchShard(ref.Exec, ref.index)
}

// EndUnclear notes that the cluster reports an attempt as ended, in that state, without a cause (rule S5). Only the
// first such report counts.
func (es *Set) EndUnclear(ref TaskRef, state string) {
	if s := ref.Shard(); s.rec.EndUnclear.IsZero() {
		s.rec.EndUnclear, s.rec.EndState = es.shared.Now(), state
		es.touchShard(ref.Exec, ref.index)
	}
}

// FoundReachable notes that an attempt was reported alive: its agent answers, and it has not ended. It returns whether
// that is news.
func (es *Set) FoundReachable(ref TaskRef) (news bool) {
	s := ref.Shard()
	if s.rec.Unreachable.IsZero() && s.rec.EndUnclear.IsZero() {
		return false
	}
	s.rec.Unreachable, s.rec.Away, s.rec.EndUnclear, s.rec.EndState = time.Time{}, false, time.Time{}, ""
	es.touchShard(ref.Exec, ref.index)
	return true
}

// FoundRunning notes that a live attempt runs. since is when it began by the cluster, which counts unless its executor
// has reported when.
func (es *Set) FoundRunning(ref TaskRef, since time.Time) {
	s := ref.Shard()
	ref.must(s.Live(), "runs")
	s.rec.State, s.rec.runningSince = Running, es.shared.Now()
	if s.rec.Start.IsZero() {
		es.Began(ref, since)
	}
	es.touchShard(ref.Exec, ref.index)
	es.tell(Change{Kind: TaskRuns, Exec: ref.Exec, Index: ref.index})
}

// WantedKill says why a task is to be killed, and how.
type WantedKill struct {
	Why     reason.Reason // of this task alone; none where its execution ends, or for its timeout
	Drain   bool          // the run under way of a daemon's shard may come to its end (rule X12)
	Timeout bool          // it ran for too long (rule K4)
	Replace bool          // it is to have new settings (rule X8)
}

// WantKill notes that the task of a live shard is to be killed (rule K1). A kill is sent for that if none was wanted
// before, or only one that drains the shard and this one does not.
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
		es.touchShard(ref.Exec, ref.index)
		es.tell(Change{Kind: TaskKillWanted, Exec: ref.Exec, Index: ref.index, Why: k.Why, Send: send})
	}
}

// KillSent notes that a kill was sent now.
func (es *Set) KillSent(ref TaskRef) {
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
	es.touchShard(e, ref.index)
	e.shardsOpen--
	return e.shardsOpen == 0
}

// requeue puts a shard back to wait for another attempt after a delay. Of the last one it keeps where it ran and why
// it ended.
func (es *Set) requeue(ref TaskRef, source Source, delay time.Duration) {
	e, s := ref.Exec, ref.Shard()
	ref.must(s.Live(), "is requeued")
	es.ForgetTask(s.rec.TaskID)
	s.rec.State, s.rec.Type = Waiting, source
	s.rec.WaitSince, s.rec.NotBefore = es.shared.Now(), es.shared.Now().Add(delay)
	if !s.rec.Start.IsZero() && (e.rec.Begun.IsZero() || s.rec.Start.Before(e.rec.Begun)) {
		e.rec.Begun = s.rec.Start
		es.touch(e)
	}
	s.rec.attempt = s.rec.past()
	es.touchShard(e, ref.index)
}

package core

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
)

// These are the transitions of a shard and its attempts: what can happen to them. Each keeps the indexes over the
// executions true and marks what it changes for the commit; none decides anything. What follows from a transition
// elsewhere is up to its caller. One that can't happen to a shard as it is is a bug of its caller, and panics: the term
// ends, and nothing of the step is written (scheduler/term).

// must panics unless a transition is possible. It says what would happen to the shard.
func (r taskRef) must(possible bool, transition string) {
	if !possible {
		s := r.shard()
		panic(fmt.Sprintf("item %d of %s, which is %s in attempt %d (task %q), %s",
			s.Item, r.exec.ID, s.State, s.Attempt, s.TaskID, transition))
	}
}

// launch gives a waiting shard its next attempt.
func (es *executions) launch(ref taskRef, a attempt) {
	s := ref.shard()
	ref.must(s.State == Waiting, "is launched")
	s.State, s.NotBefore = Launching, time.Time{}
	s.Attempt++
	s.attempt = a
	es.begin(ref)
	es.touchShard(ref.exec, ref.index)
	es.tell(change{kind: taskLaunched, exec: ref.exec, index: ref.index})
}

// answered notes that the ACCEPT of an attempt is no longer under way (rule L4).
func (es *executions) answered(ref taskRef) { ref.shard().acceptSeq = 0 }

// sessionBegan voids what the last session knew of all tasks: their ACCEPTs can't arrive any more, and what was
// reported of them, and sent to them, counts for nothing.
func (es *executions) sessionBegan() {
	for _, ref := range es.tasks {
		s := ref.shard()
		s.known, s.acceptSeq, s.killSent, s.killTry = false, 0, time.Time{}, 0
	}
}

// markedAway notes that a master had the agent of an attempt marked unreachable, and not only did not know the task.
func (es *executions) markedAway(ref taskRef) {
	if s := ref.shard(); !s.Away {
		s.Away = true
		es.touchShard(ref.exec, ref.index)
	}
}

// unreachable notes that the agent of an attempt does not answer the master since then (rule E4).
func (es *executions) unreachable(ref taskRef, since time.Time) {
	s := ref.shard()
	ref.must(s.live(), "is unreachable")
	s.Unreachable = since
	es.touchShard(ref.exec, ref.index)
}

// endUnclear notes that the cluster says of an attempt that it has ended, as that state, without a cause (rule S5).
func (es *executions) endUnclear(ref taskRef, state string) {
	if s := ref.shard(); s.EndUnclear.IsZero() {
		s.EndUnclear, s.EndState = es.Now(), state
		es.touchShard(ref.exec, ref.index)
	}
}

// reached notes that an attempt was reported alive: its agent answers, and it has not ended. It returns whether that is
// news.
func (es *executions) reached(ref taskRef) (news bool) {
	s := ref.shard()
	if s.Unreachable.IsZero() && s.EndUnclear.IsZero() {
		return false
	}
	s.Unreachable, s.Away, s.EndUnclear, s.EndState = time.Time{}, false, time.Time{}, ""
	es.touchShard(ref.exec, ref.index)
	return true
}

// running notes that an attempt runs, since then unless its executor has said when it began.
func (es *executions) running(ref taskRef, since time.Time) {
	s := ref.shard()
	ref.must(s.live(), "runs")
	s.State, s.runningSince = Running, es.Now()
	if s.Start.IsZero() {
		es.began(ref, since)
	}
	es.touchShard(ref.exec, ref.index)
	es.tell(change{kind: taskRuns, exec: ref.exec, index: ref.index})
}

// wantedKill says why a task is wanted to end, and how.
type wantedKill struct {
	why     reason.Reason // of this task alone; none where its execution ends, or for its timeout
	drain   bool          // the run under way of a daemon's shard may come to its end (rule X12)
	timeout bool          // it ran for too long (rule K4)
	replace bool          // it is to have new settings (rule X8)
}

// wantKill notes that the task of a live shard is wanted to end (rule K1). A kill is sent for that, unless one is wanted
// already that did not let the run under way end.
func (es *executions) wantKill(ref taskRef, k wantedKill) {
	s := ref.shard()
	ref.must(s.live(), "is to be killed")
	send := s.KillSince.IsZero() || s.Drain && !k.drain
	if send {
		s.KillSince, s.Drain, s.killTry = es.Now(), k.drain, 0
	}
	if !k.why.IsZero() {
		s.Kill = k.why
	}
	s.TimedOut, s.Replacing = s.TimedOut || k.timeout, s.Replacing || k.replace
	if send || !k.why.IsZero() {
		es.touchShard(ref.exec, ref.index)
		es.tell(change{kind: taskKillWanted, exec: ref.exec, index: ref.index, why: k.why, send: send})
	}
}

// killSent notes that a kill was sent.
func (es *executions) killSent(ref taskRef) {
	s := ref.shard()
	s.killSent = es.Now()
	s.killTry++
}

// complete ends a shard, and returns whether its execution has ended with it.
func (es *executions) complete(ref taskRef, state State) (last bool) {
	e, s := ref.exec, ref.shard()
	ref.must(!s.State.terminal() && state.terminal(), "ends as "+string(state))
	s.State = state
	if s.Complete.IsZero() {
		s.Complete = es.Wall()
	}
	s.Unreachable, s.EndUnclear, s.KillSince, s.NotBefore = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	s.acceptSeq = 0
	es.touchShard(e, ref.index)
	e.shardsOpen--
	return e.shardsOpen == 0
}

// requeue puts a shard back to wait for another attempt after a delay. Of the last one it keeps where it ran and why it
// ended.
func (es *executions) requeue(ref taskRef, source Source, delay time.Duration) {
	e, s := ref.exec, ref.shard()
	ref.must(s.live(), "is requeued")
	es.forgetTask(s.TaskID)
	s.State, s.Type = Waiting, source
	s.WaitSince, s.NotBefore = es.Now(), es.Now().Add(delay)
	if !s.Start.IsZero() && (e.Begun.IsZero() || s.Start.Before(e.Begun)) {
		e.Begun = s.Start
		es.touch(e)
	}
	s.attempt = s.past()
	es.touchShard(e, ref.index)
}

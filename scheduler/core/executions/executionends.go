package executions

import (
	"bytes"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// tell has the rest of the core hear of a change.
func (es *Set) tell(c Change) {
	if es.observe != nil {
		es.observe(c)
	}
}

// launchFirst gives an execution, at its first launch, the settings that it is held to, and shards (rule F7).
func (es *Set) LaunchFirst(e *Execution, with *Settings) {
	e.rec.Settings, e.rec.LaunchedAt = with, es.Wall()
	e.shards = make([]Shard, with.Job.ShardingTotalCount)
	for i := range e.shards {
		e.shards[i] = Shard{rec: shardRecord{Item: i, State: Waiting, Type: e.rec.Source}}
		es.touchShard(e, i)
	}
	e.shardsOpen = len(e.shards)
	es.touch(e)
	es.tell(Change{Kind: ExecutionLaunched, Exec: e})
}

// ends notes why the present attempt of a shard ends, as which state it is recorded, and how many attempts of each kind
// the shard has had with it. What follows for the shard is another transition.
func (es *Set) Ends(ref TaskRef, as State, failed bool, cause reason.Reason, counts Tries) {
	es.tell(Change{Kind: TaskEnds, Exec: ref.Exec, Index: ref.index, State: as, Failed: failed, Why: cause})
	s := ref.Shard()
	s.rec.Cause, s.rec.Tries = cause.Shortened(store.Shorten), counts
}

// completeShard ends a shard, and its execution with the last one.
func (es *Set) CompleteShard(ref TaskRef, state State) {
	live := ref.Shard().Live()
	last := es.complete(ref, state)
	if live {
		es.tell(Change{Kind: TaskEnded, Exec: ref.Exec, Index: ref.index, State: state})
	}
	if last {
		es.endExecution(ref.Exec)
		return
	}
	es.liftShutdown(ref.Exec)
}

// runAgain puts a shard back to wait for another attempt after a delay. output is where the output of the last one is, as
// its agent serves it, "" if it has none.
func (es *Set) RunAgain(ref TaskRef, source Source, delay time.Duration, output string) {
	e, s := ref.Exec, ref.Shard()
	es.tell(Change{Kind: ShardRequeued, Exec: e, Index: ref.index, At: es.Now().Add(delay)})
	s.keepOutput(output)
	es.requeue(ref, source, delay)
	es.liftShutdown(e)
	es.AddLaunchable(e)
	es.waitsUntil(e, s)
	es.NeedChanged()
}

// waitsUntil has a shard be placed when its backoff has passed. It waits for something else then, for people too.
func (es *Set) waitsUntil(e *Execution, s *Shard) {
	es.MatchAt(s.rec.NotBefore)
	es.Timers.At(s.rec.NotBefore, func(time.Time) { es.SeeExecution(e.rec.ID, e.rec.Job) })
}

// endExecution files an execution among the ended ones and lets the next of its job begin.
func (es *Set) endExecution(e *Execution) {
	es.NeedChanged()
	es.end(e)
	e.prepared = nil
	es.dequeue(e)
	es.tell(Change{Kind: ExecutionEnded, Exec: e})
}

// drop ends an execution that other fires have crowded out while it waited (rule F5).
func (es *Set) Drop(e *Execution, why reason.Reason) {
	e.rec.Dropped, e.rec.Kill = true, why
	es.endExecution(e)
}

// kill ends what waits of an execution at once, and wants what runs of it killed (rule K1: committed first, sent again
// until it has ended).
func (es *Set) Kill(e *Execution, why reason.Reason) {
	if e.rec.Ended > 0 {
		return
	}
	if !e.Launched() {
		e.rec.Kill = why
		es.endExecution(e)
		return
	}
	if e.GoesOn() {
		e.rec.Kill = why
		es.touch(e)
		es.tell(Change{Kind: ExecutionKilled, Exec: e, Why: why})
	}
	for i := range e.shards {
		s := &e.shards[i]
		switch {
		case s.rec.State == Waiting && !why.Is(reason.ServerStopped):
			s.rec.Cause = why
			es.CompleteShard(TaskRef{e, i}, Killed)
		case s.Live():
			es.WantKill(TaskRef{e, i}, WantedKill{})
		}
	}
}

// drainShards wants the tasks of a standing execution to end with the run under way of each. What a pause has drained
// waits, and is placed again when the job is resumed (rule F10).
func (es *Set) DrainShards(e *Execution, why reason.Reason) {
	for i := range e.shards {
		if s := &e.shards[i]; s.Live() && s.rec.KillSince.IsZero() {
			es.WantKill(TaskRef{e, i}, WantedKill{Why: why, Drain: true})
		}
	}
}

// drain ends a standing execution, and lets the runs under way come to their end (rule F11).
func (es *Set) Drain(e *Execution, why reason.Reason) {
	if !e.rec.Kill.IsZero() {
		return
	}
	e.rec.Kill = why
	es.touch(e)
	es.DrainShards(e, why)
	for i := range e.shards {
		if s := &e.shards[i]; s.rec.State == Waiting {
			s.rec.Cause = why
			es.CompleteShard(TaskRef{e, i}, Killed)
		}
	}
}

// liftShutdown makes what a stopped server left behind launchable again, once
// nothing of it is on the cluster any more.
func (es *Set) liftShutdown(e *Execution) {
	if es.Draining() || !e.rec.Kill.Is(reason.ServerStopped) {
		return
	}
	for i := range e.shards {
		if e.shards[i].Live() {
			return
		}
	}
	e.rec.Kill = reason.Reason{}
	es.touch(e)
	es.MatchAgain()
}

// leaveWaiting notes since when the shards wait that were not launched with the others of their execution (rule L1).
func (es *Set) LeaveWaiting(e *Execution) {
	for i := range e.shards {
		if s := &e.shards[i]; s.rec.State == Waiting && s.rec.WaitSince.IsZero() {
			s.rec.WaitSince = e.rec.Made
			es.touchShard(e, i)
		}
	}
}

// launchedAll notes that no shard of an execution waits to be launched.
func (es *Set) LaunchedAll(e *Execution) {
	es.removeLaunchable(e)
	e.Prepare().encoded = nil
}

// setUnplaced keeps what a match, or a change, has made of an execution.
func (es *Set) SetUnplaced(e *Execution, u Unplaced) {
	if !e.unplaced.Why.Equal(u.Why) {
		es.SeeExecution(e.rec.ID, e.rec.Job)
	}
	e.unplaced = u
	if !u.Why.IsZero() {
		es.tell(Change{Kind: ExecutionWaits, Exec: e, Why: u.Why})
	}
}

// takeSettings makes settings those of a standing execution, which all its launches from now on take (rule X8).
func (es *Set) TakeSettings(e *Execution, now Settings) {
	encoded := store.Encode(now)
	if e.settingsEncoded == nil {
		e.settingsEncoded = store.Encode(e.rec.Settings)
	}
	if bytes.Equal(encoded, e.settingsEncoded) {
		return
	}
	e.rec.Settings, e.settingsEncoded, e.prepared, e.described = &now, encoded, nil, Described{}
	es.SetUnplaced(e, Unplaced{})
	es.touch(e)
	es.MatchAgain()
	es.NeedChanged()
	es.Outdate(e)
}

// outdate has all shards of a standing execution be compared with its settings.
func (es *Set) Outdate(e *Execution) {
	e.outdated = make([]int, len(e.shards))
	for i := range e.outdated {
		e.outdated[i] = i
	}
}

// upToDate notes that the first of the shards that were to be compared has the settings of its execution.
func (es *Set) UpToDate(e *Execution) { e.outdated = e.outdated[1:] }

// replaced notes that a shard runs well with the settings for which it was killed.
func (es *Set) Replaced(ref TaskRef) {
	ref.Shard().rec.Replacing = false
	es.touchShard(ref.Exec, ref.index)
}

// ranWell notes that an attempt ran well for a while, which makes good for the failures before it.
func (es *Set) RanWell(ref TaskRef) { ref.Shard().rec.Tries = Tries{} }

// recordAgain marks what a former term ended: that leader's disk may never be read again, or have missed it when its
// process died.
func (es *Set) RecordAgain(e *Execution) {
	for i := range e.shards {
		e.shards[i].unrecorded = e.shards[i].rec.State.Terminal()
	}
}

// unrecorded returns the shards that recordAgain has marked, and takes the marks off.
func (es *Set) Unrecorded(e *Execution) (refs []TaskRef) {
	for i := range e.shards {
		if s := &e.shards[i]; s.unrecorded {
			s.unrecorded = false
			refs = append(refs, TaskRef{e, i})
		}
	}
	return refs
}

// recordWait notes that it is recorded what an execution waits for, unless that is recorded already, or too often.
func (es *Set) RecordWait(e *Execution, why reason.Reason) bool {
	if why.IsZero() || why.Equal(e.waitRecorded) || e.waitsRecorded >= waitsRecorded ||
		e.waitsRecorded > 0 && es.Now().Sub(e.waitRecordedAt) < waitRecordedEvery {
		return false
	}
	e.waitRecorded, e.waitRecordedAt = why, es.Now()
	e.waitsRecorded++
	return true
}

const (
	// waitsRecorded bounds how often it is recorded what an execution waits for, waitRecordedEvery is the least time between two of them.
	waitsRecorded     = 10
	waitRecordedEvery = time.Minute
)

package core

import (
	"bytes"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// tell has the rest of the core hear of a change.
func (es *executions) tell(c change) {
	if es.observe != nil {
		es.observe(c)
	}
}

// launchFirst gives an execution, at its first launch, the settings that it is held to, and shards (rule F7).
func (es *executions) launchFirst(e *execution, with *settings) {
	e.Settings, e.LaunchedAt = with, es.Wall()
	e.Shards = make([]shard, with.Job.ShardingTotalCount)
	for i := range e.Shards {
		e.Shards[i] = shard{Item: i, State: Waiting, Type: e.Source}
		es.touchShard(e, i)
	}
	e.shardsOpen = len(e.Shards)
	es.touch(e)
	es.tell(change{kind: executionLaunched, exec: e})
}

// ends notes why the present attempt of a shard ends, as which state it is recorded, and how many attempts of each kind
// the shard has had with it. What follows for the shard is another transition.
func (es *executions) ends(ref taskRef, as State, failed bool, cause reason.Reason, counts tries) {
	es.tell(change{kind: taskEnds, exec: ref.exec, index: ref.index, state: as, failed: failed, why: cause})
	s := ref.shard()
	s.Cause, s.tries = cause.Shortened(store.Shorten), counts
}

// completeShard ends a shard, and its execution with the last one.
func (es *executions) completeShard(ref taskRef, state State) {
	live := ref.shard().live()
	last := es.complete(ref, state)
	if live {
		es.tell(change{kind: taskEnded, exec: ref.exec, index: ref.index, state: state})
	}
	if last {
		es.endExecution(ref.exec)
		return
	}
	es.liftShutdown(ref.exec)
}

// runAgain puts a shard back to wait for another attempt after a delay. output is where the output of the last one is, as
// its agent serves it, "" if it has none.
func (es *executions) runAgain(ref taskRef, source Source, delay time.Duration, output string) {
	e, s := ref.exec, ref.shard()
	es.tell(change{kind: shardRequeued, exec: e, index: ref.index, at: es.Now().Add(delay)})
	s.keepOutput(output)
	es.requeue(ref, source, delay)
	es.liftShutdown(e)
	es.addLaunchable(e)
	es.waitsUntil(e, s)
	es.NeedChanged()
}

// waitsUntil has a shard be placed when its backoff has passed. It waits for something else then, for people too.
func (es *executions) waitsUntil(e *execution, s *shard) {
	es.MatchAt(s.NotBefore)
	es.Timers.At(s.NotBefore, func(time.Time) { es.SeeExecution(e.ID, e.Job) })
}

// endExecution files an execution among the ended ones and lets the next of its job begin.
func (es *executions) endExecution(e *execution) {
	es.NeedChanged()
	es.end(e)
	e.prepared = nil
	es.dequeue(e)
	es.tell(change{kind: executionEnded, exec: e})
}

// drop ends an execution that other fires have crowded out while it waited (rule F5).
func (es *executions) drop(e *execution, why reason.Reason) {
	e.Dropped, e.Kill = true, why
	es.endExecution(e)
}

// kill ends what waits of an execution at once, and wants what runs of it killed (rule K1: committed first, sent again
// until it has ended).
func (es *executions) kill(e *execution, why reason.Reason) {
	if e.Ended > 0 {
		return
	}
	if !e.launched() {
		e.Kill = why
		es.endExecution(e)
		return
	}
	if e.goesOn() {
		e.Kill = why
		es.touch(e)
		es.tell(change{kind: executionKilled, exec: e, why: why})
	}
	for i := range e.Shards {
		s := &e.Shards[i]
		switch {
		case s.State == Waiting && !why.Is(reason.ServerStopped):
			s.Cause = why
			es.completeShard(taskRef{e, i}, Killed)
		case s.live():
			es.wantKill(taskRef{e, i}, wantedKill{})
		}
	}
}

// drainShards wants the tasks of a standing execution to end with the run under way of each. What a pause has drained
// waits, and is placed again when the job is resumed (rule F10).
func (es *executions) drainShards(e *execution, why reason.Reason) {
	for i := range e.Shards {
		if s := &e.Shards[i]; s.live() && s.KillSince.IsZero() {
			es.wantKill(taskRef{e, i}, wantedKill{why: why, drain: true})
		}
	}
}

// drain ends a standing execution, and lets the runs under way come to their end (rule F11).
func (es *executions) drain(e *execution, why reason.Reason) {
	if !e.Kill.IsZero() {
		return
	}
	e.Kill = why
	es.touch(e)
	es.drainShards(e, why)
	for i := range e.Shards {
		if s := &e.Shards[i]; s.State == Waiting {
			s.Cause = why
			es.completeShard(taskRef{e, i}, Killed)
		}
	}
}

// liftShutdown makes what a stopped server left behind launchable again, once
// nothing of it is on the cluster any more.
func (es *executions) liftShutdown(e *execution) {
	if es.Draining() || !e.Kill.Is(reason.ServerStopped) {
		return
	}
	for i := range e.Shards {
		if e.Shards[i].live() {
			return
		}
	}
	e.Kill = reason.Reason{}
	es.touch(e)
	es.MatchAgain()
}

// leaveWaiting notes since when the shards wait that were not launched with the others of their execution (rule L1).
func (es *executions) leaveWaiting(e *execution) {
	for i := range e.Shards {
		if s := &e.Shards[i]; s.State == Waiting && s.WaitSince.IsZero() {
			s.WaitSince = e.Made
			es.touchShard(e, i)
		}
	}
}

// launchedAll notes that no shard of an execution waits to be launched.
func (es *executions) launchedAll(e *execution) {
	es.removeLaunchable(e)
	e.prepare().encoded = nil
}

// setUnplaced keeps what a match, or a change, has made of an execution.
func (es *executions) setUnplaced(e *execution, u unplaced) {
	if !e.unplaced.why.Equal(u.why) {
		es.SeeExecution(e.ID, e.Job)
	}
	e.unplaced = u
}

// takeSettings makes settings those of a standing execution, which all its launches from now on take (rule X8).
func (es *executions) takeSettings(e *execution, now settings) {
	encoded := store.Encode(now)
	if e.settingsEncoded == nil {
		e.settingsEncoded = store.Encode(e.Settings)
	}
	if bytes.Equal(encoded, e.settingsEncoded) {
		return
	}
	e.Settings, e.settingsEncoded, e.prepared, e.described = &now, encoded, nil, described{}
	es.setUnplaced(e, unplaced{})
	es.touch(e)
	es.MatchAgain()
	es.NeedChanged()
	es.outdate(e)
}

// outdate has all shards of a standing execution be compared with its settings.
func (es *executions) outdate(e *execution) {
	e.outdated = make([]int, len(e.Shards))
	for i := range e.outdated {
		e.outdated[i] = i
	}
}

// upToDate notes that the first of the shards that were to be compared has the settings of its execution.
func (es *executions) upToDate(e *execution) { e.outdated = e.outdated[1:] }

// replaced notes that a shard runs well with the settings for which it was killed.
func (es *executions) replaced(ref taskRef) {
	ref.shard().Replacing = false
	es.touchShard(ref.exec, ref.index)
}

// ranWell notes that an attempt ran well for a while, which makes good for the failures before it.
func (es *executions) ranWell(ref taskRef) { ref.shard().tries = tries{} }

// recordAgain marks what a former term ended: that leader's disk may never be read again, or have missed it when its
// process died.
func (es *executions) recordAgain(e *execution) {
	for i := range e.Shards {
		e.Shards[i].unrecorded = e.Shards[i].State.terminal()
	}
}

// unrecorded returns the shards that recordAgain has marked, and takes the marks off.
func (es *executions) unrecorded(e *execution) (refs []taskRef) {
	for i := range e.Shards {
		if s := &e.Shards[i]; s.unrecorded {
			s.unrecorded = false
			refs = append(refs, taskRef{e, i})
		}
	}
	return refs
}

// recordWait notes that it is recorded what an execution waits for, unless that is recorded already, or too often.
func (es *executions) recordWait(e *execution, why reason.Reason) bool {
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

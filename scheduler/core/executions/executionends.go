package executions

import (
	"bytes"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// report reports a change to the observer.
func (es *Set) report(c Change) {
	if es.observe != nil {
		es.observe(c)
	}
}

// LaunchFirst gives an execution, at its first launch, waiting shards and the settings that it keeps (rule F7). with
// must not be changed afterwards.
func (es *Set) LaunchFirst(e *Execution, with *Settings) {
	e.rec.Settings, e.rec.LaunchedAt = with, es.shared.Wall()
	e.shards = make([]Shard, with.Job.ShardingTotalCount)
	for i := range e.shards {
		e.shards[i] = Shard{rec: shardRecord{Item: i, State: Waiting, Type: e.rec.Source}}
		es.markShardChanged(e, i)
	}
	e.shardsOpen = len(e.shards)
	es.markChanged(e)
	es.report(Change{Kind: ExecutionLaunched, Exec: e})
}

// EndAttempt records that the present attempt of a shard ends. as is the state with which the attempt is recorded,
// failed says whether it failed by itself, and counts are the new counts of the shard. Another transition ends or
// requeues the shard in the same step.
func (es *Set) EndAttempt(ref TaskRef, as State, failed bool, cause reason.Reason, counts Tries) {
	es.report(Change{Kind: AttemptEnding, Exec: ref.Exec, Index: ref.index, State: as, Failed: failed, Why: cause})
	s := ref.Shard()
	s.rec.Cause, s.rec.Tries = cause.Shortened(store.Shorten), counts
}

// CompleteShard ends a shard with a terminal state. If it was the last open shard, the execution ends, too.
func (es *Set) CompleteShard(ref TaskRef, state State) {
	live := ref.Shard().Live()
	last := es.complete(ref, state)
	if live {
		es.report(Change{Kind: ShardEnded, Exec: ref.Exec, Index: ref.index, State: state})
	}
	if last {
		es.endExecution(ref.Exec)
		return
	}
	es.liftShutdown(ref.Exec)
}

// Requeue makes a live shard wait for another attempt, which begins after a delay. output is the path of the last
// attempt's output, "" if it has none.
func (es *Set) Requeue(ref TaskRef, source Source, delay time.Duration, output string) {
	e, s := ref.Exec, ref.Shard()
	es.report(Change{Kind: ShardRequeued, Exec: e, Index: ref.index, At: es.shared.Now().Add(delay)})
	s.keepOutput(output)
	es.requeue(ref, source, delay)
	es.liftShutdown(e)
	es.AddLaunchable(e)
	es.scheduleRetry(e, s)
	es.shared.NeedChanged()
}

// scheduleRetry requests a match when the shard's backoff ends. It also marks the execution as changed at that time,
// because users then see another reason why the shard waits.
func (es *Set) scheduleRetry(e *Execution, s *Shard) {
	es.shared.RequestMatchAt(s.rec.NotBefore)
	es.shared.Timers.At(s.rec.NotBefore, func(time.Time) { es.shared.ExecutionChanged(e.rec.ID, e.rec.Job) })
}

// endExecution moves an execution to the ended executions, so that the next execution of its job may begin.
func (es *Set) endExecution(e *Execution) {
	es.shared.NeedChanged()
	if last := es.LastLaunchedEnded(e.rec.Job); last != nil && last.Daemon() {
		es.shared.ExecutionChanged(last.rec.ID, last.rec.Job) // it no longer shows the daemon's runs
	}
	es.end(e)
	e.prepared = nil
	es.dequeue(e)
	es.report(Change{Kind: ExecutionEnded, Exec: e})
}

// Drop ends a waiting execution to make room for later fires (rule F5).
func (es *Set) Drop(e *Execution, why reason.Reason) {
	e.rec.Dropped, e.rec.Kill = true, why
	es.endExecution(e)
}

// Kill ends the waiting shards of an execution at once, and requests the kill of its live shards. The request is
// committed before it is sent, and is repeated until the shards have ended (rule K1). An execution that was not
// launched ends at once. If the reason is the stop of a server, the waiting shards stay for the next server. An ended
// execution is ignored.
func (es *Set) Kill(e *Execution, why reason.Reason) {
	if e.rec.EndNumber > 0 {
		return
	}
	if !e.Launched() {
		e.rec.Kill = why
		es.endExecution(e)
		return
	}
	if e.GoesOn() {
		e.rec.Kill = why
		es.markChanged(e)
		es.report(Change{Kind: ExecutionKilled, Exec: e, Why: why})
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

// EndRuns requests that each live task of a standing execution ends with its present run. A shard that a pause has
// drained waits, and is placed again when the job is resumed (rule F10).
func (es *Set) EndRuns(e *Execution, why reason.Reason) {
	for i := range e.shards {
		if s := &e.shards[i]; s.Live() && s.rec.KillSince.IsZero() {
			es.WantKill(TaskRef{e, i}, WantedKill{Why: why, Drain: true})
		}
	}
}

// EndAfterRuns ends a standing execution, and lets the present runs of its shards come to their end (rule F11).
func (es *Set) EndAfterRuns(e *Execution, why reason.Reason) {
	if !e.rec.Kill.IsZero() {
		return
	}
	e.rec.Kill = why
	es.markChanged(e)
	es.EndRuns(e, why)
	for i := range e.shards {
		if s := &e.shards[i]; s.rec.State == Waiting {
			s.rec.Cause = why
			es.CompleteShard(TaskRef{e, i}, Killed)
		}
	}
}

// liftShutdown removes the kill that a stopped server left behind in an execution, once none of its tasks is on the
// cluster, so that its waiting shards can be launched.
func (es *Set) liftShutdown(e *Execution) {
	if es.shared.Draining() || !e.rec.Kill.Is(reason.ServerStopped) {
		return
	}
	for i := range e.shards {
		if e.shards[i].Live() {
			return
		}
	}
	e.rec.Kill = reason.Reason{}
	es.markChanged(e)
	es.shared.RequestMatch()
}

// RecordWaitSince records that the shards that were left out at the first launch of the execution have waited since
// the execution was created (rule L1).
func (es *Set) RecordWaitSince(e *Execution) {
	for i := range e.shards {
		if s := &e.shards[i]; s.rec.State == Waiting && s.rec.WaitSince.IsZero() {
			s.rec.WaitSince = e.rec.CreatedAt
			es.markShardChanged(e, i)
		}
	}
}

// FinishLaunch records that no shard of the execution waits to be launched.
func (es *Set) FinishLaunch(e *Execution) {
	es.removeLaunchable(e)
	e.Prepare().encoded = nil
}

// SetUnplaced replaces the result of the last match for an execution. The zero value clears the result, because a
// change may have made it obsolete.
func (es *Set) SetUnplaced(e *Execution, u Unplaced) {
	if !e.unplaced.Why.Equal(u.Why) {
		es.shared.ExecutionChanged(e.rec.ID, e.rec.Job)
	}
	e.unplaced = u
	if !u.Why.IsZero() {
		es.report(Change{Kind: ExecutionUnplaced, Exec: e, Why: u.Why})
	}
}

// ReplaceSettings replaces the settings of a standing execution, which from then on launches its shards with the new
// ones (rule X8). All its shards are then outdated. Equal settings change nothing.
func (es *Set) ReplaceSettings(e *Execution, settings Settings) {
	encoded := store.Encode(settings)
	if e.settingsEncoded == nil {
		e.settingsEncoded = store.Encode(e.rec.Settings)
	}
	if bytes.Equal(encoded, e.settingsEncoded) {
		return
	}
	e.rec.Settings, e.settingsEncoded, e.prepared, e.described = &settings, encoded, nil, Described{}
	es.SetUnplaced(e, Unplaced{})
	es.markChanged(e)
	es.shared.RequestMatch()
	es.shared.NeedChanged()
	es.MarkOutdated(e)
}

// MarkOutdated marks all shards of a standing execution as outdated, so that each is compared with the execution's
// settings.
func (es *Set) MarkOutdated(e *Execution) {
	e.outdated = make([]int, len(e.shards))
	for i := range e.outdated {
		e.outdated[i] = i
	}
}

// DropFirstOutdated removes the first of the outdated shards from the list, because it needs no replacement any more.
// The list must not be empty.
func (es *Set) DropFirstOutdated(e *Execution) { e.outdated = e.outdated[1:] }

// MarkReplaced records that a shard runs well with the settings for which it was killed.
func (es *Set) MarkReplaced(ref TaskRef) {
	ref.Shard().rec.Replacing = false
	es.markShardChanged(ref.Exec, ref.index)
}

// ClearTries clears the failure counts of a shard whose attempt ran well for a while.
func (es *Set) ClearTries(ref TaskRef) { ref.Shard().rec.Tries = Tries{} }

// MarkUnrecorded marks the ended shards of an execution to be recorded again. A former term has ended them, and the
// disk of its leader may never be read again, or may lack them because the leader died.
func (es *Set) MarkUnrecorded(e *Execution) {
	for i := range e.shards {
		e.shards[i].unrecorded = e.shards[i].rec.State.Terminal()
	}
}

// TakeUnrecorded returns the shards that MarkUnrecorded has marked, and removes the marks.
func (es *Set) TakeUnrecorded(e *Execution) (refs []TaskRef) {
	for i := range e.shards {
		if s := &e.shards[i]; s.unrecorded {
			s.unrecorded = false
			refs = append(refs, TaskRef{e, i})
		}
	}
	return refs
}

// ShouldRecordWait reports whether the history should record that an execution waits because of why, and counts that
// record. It returns false if the reason was the last one recorded, or if this execution has too many or too recent
// records.
func (es *Set) ShouldRecordWait(e *Execution, why reason.Reason) bool {
	if why.IsZero() || why.Equal(e.waitRecorded) || e.waitsRecorded >= maxWaitsRecorded ||
		e.waitsRecorded > 0 && es.shared.Now().Sub(e.waitRecordedAt) < waitRecordedInterval {
		return false
	}
	e.waitRecorded, e.waitRecordedAt = why, es.shared.Now()
	e.waitsRecorded++
	return true
}

const (
	// maxWaitsRecorded is the maximum number of records of an execution's waiting reasons, waitRecordedInterval the
	// minimum interval between two of them.
	maxWaitsRecorded     = 10
	waitRecordedInterval = time.Minute
)

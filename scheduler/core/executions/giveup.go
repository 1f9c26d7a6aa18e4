package executions

import (
	"slices"
	"time"
)

// givenUp is an attempt that was given up and may still run, as it was then. Its shard takes it back if the attempt is
// heard again before another one has begun (rule E5).
type givenUp struct {
	attempt
	Type Source `json:"y,omitempty"`
	Tries
}

// RecordGivenUp keeps the live attempt of a shard, which is about to end as lost, so that TakeBack can restore it. The
// next launch of the shard forgets it.
func (es *Set) RecordGivenUp(ref TaskRef) {
	s := ref.Shard()
	ref.must(s.Live(), "is given up")
	s.rec.GivenUp = &givenUp{s.rec.attempt, s.rec.Type, s.rec.Tries}
	es.markShardChanged(ref.Exec, ref.index)
}

// GivenUp reports whether TakeBack can restore the attempt with that task id (found), and whether that attempt was
// reported as running before (ran).
func (s *Shard) GivenUp(taskID string) (ran, found bool) {
	g := s.rec.GivenUp
	found = g != nil && g.TaskID == taskID
	return found && g.Seen >= SeenRunning, found
}

// TakeBack makes the attempt that was given up the present one of its shard again, and returns since when it was
// unreachable. If the execution has ended, it is opened again, as the first of its job's queue. The caller has to make
// sure that no other open execution of that job was launched.
func (es *Set) TakeBack(ref TaskRef) (unreachable time.Time) {
	e, s := ref.Exec, ref.Shard()
	back := s.rec.GivenUp
	ref.must(back != nil && !s.Live(), "is taken back")
	if e.rec.EndNumber > 0 {
		es.reopen(e)
	}
	if s.rec.State.Terminal() {
		e.shardsOpen++
	}
	unreachable = back.Unreachable
	s.rec.attempt, s.rec.Type, s.rec.Tries, s.rec.GivenUp = back.attempt, back.Type, back.Tries, nil
	s.rec.Unreachable, s.rec.Away, s.rec.Silent, s.rec.acceptSeq = time.Time{}, false, false, 0
	s.rec.State, s.rec.NotBefore = Launching, time.Time{}
	if s.rec.Seen >= SeenRunning {
		s.rec.State, s.rec.runningSince = Running, es.shared.Now()
	}
	s.rec.Returns++
	s.rec.Earlier = slices.DeleteFunc(slices.Clone(s.rec.Earlier),
		func(a EarlierAttempt) bool { return a.TaskID == s.rec.TaskID })
	es.indexTask(ref)
	es.markShardChanged(e, ref.index)
	if e.Daemon() {
		es.MarkOutdated(e)
	}
	es.shared.NeedChanged()
	es.report(Change{Kind: TaskReturned, Exec: e, Index: ref.index})
	return unreachable
}

// reopen makes an ended execution the first of its job's queue again.
func (es *Set) reopen(e *Execution) {
	es.ended.remove(e)
	e.rec.LastEndNumber = e.rec.EndNumber
	e.rec.EndNumber, e.rec.EndedAt, e.endedAt = 0, time.Time{}, time.Time{}
	e.rec.Reopened++
	es.open[e.rec.ID] = e
	es.IndexTasks(e)
	queue := es.queues[e.rec.Job]
	if len(queue) > 0 {
		es.removeLaunchable(queue[0])
	}
	es.queues[e.rec.Job] = slices.Insert(queue, 0, e)
	es.markChanged(e)
	es.report(Change{Kind: ExecutionReopened, Exec: e})
}

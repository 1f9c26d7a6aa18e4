package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// These are the transitions of an attempt by which it follows what the cluster reports. Each returns whether it was news;
// reported has the news be written, together.

// knownAgain notes that the cluster has reported anything of a task in this session.
func (es *executions) knownAgain(ref taskRef) { ref.shard().known = true }

// saw notes how far a task was seen to go (rule S2: never back), and whether its executor fetches its package.
func (es *executions) saw(ref taskRef, seen int, fetching bool) (news bool) {
	s := ref.shard()
	switch {
	case fetching && s.Seen < seenStarting:
		s.Fetching = true // a repeated or late one changes nothing: the executor may have gone on since
	case !fetching && seen >= seenStarting && s.Fetching:
		s.Fetching, news = false, true
	}
	if seen > s.Seen {
		s.Seen, news = seen, true
	}
	return news
}

// waitsFor notes what its agent says of why a task has not begun, "" for nothing.
func (es *executions) waitsFor(ref taskRef, text string) (news bool) {
	s := ref.shard()
	news, s.waits = s.waits != text, text
	return news
}

// writesTo notes in which folder of its sandbox a task writes.
func (es *executions) writesTo(ref taskRef, dir string) (news bool) {
	s := ref.shard()
	if news = dir != "" && s.Dir != dir; news {
		s.Dir = dir
	}
	return news
}

// ranIn notes the sandbox of a task: its agent's work folder, and the run of its executor.
func (es *executions) ranIn(ref taskRef, workDir, container string) (news bool) {
	s := ref.shard()
	news = s.WorkDir != workDir || s.Container != container
	s.WorkDir, s.Container = workDir, container
	return news
}

// ranWith notes with which package a task runs.
func (es *executions) ranWith(ref taskRef, sum string) { ref.shard().Package = sum }

// began notes when the process of a task began. Only the first moment is counted that is said of a task: a later one
// corrects it.
func (es *executions) began(ref taskRef, at time.Time) {
	s := ref.shard()
	if s.Start.IsZero() && s.Attempt == 1 && ref.exec.Source == NormalTrigger {
		es.Numbers.BeginDelay.Observe(max(at.Sub(ref.exec.Fire), 0).Seconds())
	}
	s.Start = at
}

// timeoutBegan notes that a task's timeout counts from now (rule K4).
func (es *executions) timeoutBegan(ref taskRef) { ref.shard().RunningAt = es.Now() }

// reported notes that an update has brought news.
func (es *executions) reported(ref taskRef, uuid []byte) {
	ref.shard().UUID = uuid
	es.touchShard(ref.exec, ref.index)
}

// reportedEnd is what is known of the end of an attempt.
type reportedEnd struct {
	uuid     []byte
	complete time.Time
	exit     *int
	cause    reason.Reason
}

// endReported notes how an attempt has ended. What follows from that is another transition, in the same step.
func (es *executions) endReported(ref taskRef, end reportedEnd) {
	s := ref.shard()
	s.UUID, s.Complete, s.Exit, s.Cause = end.uuid, end.complete, end.exit, end.cause.Shortened(store.Shorten)
}

// endDecided notes why an attempt ends of which no end was reported.
func (es *executions) endDecided(ref taskRef, cause reason.Reason) { ref.shard().Cause = cause }

// causeLearned notes why an attempt ended that has ended before.
func (es *executions) causeLearned(ref taskRef, cause reason.Reason) {
	ref.shard().Cause = cause
	es.touchShard(ref.exec, ref.index)
}

// foundStaged counts the sweeps that found a task staged, and returns how many there were.
func (es *executions) foundStaged(ref taskRef) int {
	s := ref.shard()
	s.staged++
	return s.staged
}

// stuck notes that a task got no further than staged, in spite of a kill.
func (es *executions) stuck(ref taskRef) { ref.shard().stuckStaging = true }

// progressed notes what the program of a task says of its progress, nil for nothing.
func (es *executions) progressed(ref taskRef, now *ProgressView) {
	s := ref.shard()
	if was := s.progress; (was == nil) != (now == nil) || now != nil && *was != *now {
		s.progress = now
		es.SeeExecution(ref.exec.ID, ref.exec.Job)
	}
}

// keepFramework notes under which framework id tasks ran that have output: it is about to be another one.
func (es *executions) keepFramework(id string) {
	keep := func(ref taskRef) {
		if s := ref.shard(); s.Framework == "" && s.Dir != "" {
			s.Framework = id
			es.touchShard(ref.exec, ref.index)
		}
	}
	for _, ref := range es.tasks {
		keep(ref)
	}
	for _, ref := range es.ended.tasks {
		keep(ref)
	}
}

package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// These are the transitions of an attempt that follow what the cluster reports. Those that return news report
// whether anything changed; their caller then calls Reported, which marks all of it to be written together.

// KnownAgain notes that the cluster has reported something of a task in this session.
func (es *Set) KnownAgain(ref TaskRef) { ref.Shard().rec.known = true }

// SawStage notes how far a task was seen to go, one of the Seen constants (rule S2: it never goes back), and whether
// its executor fetches its package.
func (es *Set) SawStage(ref TaskRef, seen int, fetching bool) (news bool) {
	s := ref.Shard()
	switch {
	case fetching && s.rec.Seen < SeenStarting:
		s.rec.Fetching = true // a repeated or late one changes nothing: the executor may have gone on since
	case !fetching && seen >= SeenStarting && s.rec.Fetching:
		s.rec.Fetching, news = false, true
	}
	if seen > s.rec.Seen {
		s.rec.Seen, news = seen, true
	}
	return news
}

// WaitsFor notes what the agent says of why a task has not begun, "" for nothing.
func (es *Set) WaitsFor(ref TaskRef, text string) (news bool) {
	s := ref.Shard()
	news, s.rec.waits = s.rec.waits != text, text
	return news
}

// WritesTo notes the folder inside the sandbox that a task writes to; "" changes nothing.
func (es *Set) WritesTo(ref TaskRef, dir string) (news bool) {
	s := ref.Shard()
	if news = dir != "" && s.rec.Dir != dir; news {
		s.rec.Dir = dir
	}
	return news
}

// RanIn notes the sandbox of a task: its agent's work folder, and the id of the run of its executor.
func (es *Set) RanIn(ref TaskRef, workDir, container string) (news bool) {
	s := ref.Shard()
	news = s.rec.WorkDir != workDir || s.rec.Container != container
	s.rec.WorkDir, s.rec.Container = workDir, container
	return news
}

// RanWith notes the checksum of the package that a task runs with.
func (es *Set) RanWith(ref TaskRef, sum string) { ref.Shard().rec.Package = sum }

// Began notes when the process of a task began. A later report corrects the moment, but only the first one is
// counted in the delay of fires.
func (es *Set) Began(ref TaskRef, at time.Time) {
	s := ref.Shard()
	if s.rec.Start.IsZero() && s.rec.Attempt == 1 && ref.Exec.rec.Source == NormalTrigger {
		es.shared.Numbers.BeginDelay.Observe(max(at.Sub(ref.Exec.rec.Fire), 0).Seconds())
	}
	s.rec.Start = at
}

// TimeoutBegan notes that a task's timeout counts from now (rule K4).
func (es *Set) TimeoutBegan(ref TaskRef) { ref.Shard().rec.RunningAt = es.shared.Now() }

// Reported notes that the update with that uuid has changed something, and marks the shard to be written.
func (es *Set) Reported(ref TaskRef, uuid []byte) {
	ref.Shard().rec.UUID = uuid
	es.touchShard(ref.Exec, ref.index)
}

// End is what is known of the end of an attempt.
type End struct {
	UUID     []byte
	Complete time.Time
	Exit     *int
	Cause    reason.Reason
}

// EndReported notes how an attempt has ended. What follows from that is another transition, in the same step.
func (es *Set) EndReported(ref TaskRef, end End) {
	s := ref.Shard()
	s.rec.UUID, s.rec.Complete, s.rec.Exit, s.rec.Cause = end.UUID, end.Complete, end.Exit,
		end.Cause.Shortened(store.Shorten)
}

// EndDecided notes the cause of an end that the scheduler decides because none was reported.
func (es *Set) EndDecided(ref TaskRef, cause reason.Reason) { ref.Shard().rec.Cause = cause }

// CauseLearned adds the cause to an attempt that has ended before.
func (es *Set) CauseLearned(ref TaskRef, cause reason.Reason) {
	ref.Shard().rec.Cause = cause
	es.touchShard(ref.Exec, ref.index)
}

// FoundStaged counts a sweep that found a task staged, and returns how many there were.
func (es *Set) FoundStaged(ref TaskRef) int {
	s := ref.Shard()
	s.rec.staged++
	return s.rec.staged
}

// FoundStuck notes that a task got no further than staged, in spite of a kill.
func (es *Set) FoundStuck(ref TaskRef) { ref.Shard().rec.stuckStaging = true }

// Progressed replaces what the program of a task reports of its progress; nil for nothing.
func (es *Set) Progressed(ref TaskRef, now *Progress) {
	s := ref.Shard()
	if was := s.rec.progress; (was == nil) != (now == nil) || now != nil && *was != *now {
		s.rec.progress = now
		es.shared.ExecutionChanged(ref.Exec.rec.ID, ref.Exec.rec.Job)
	}
}

// KeepFramework notes the framework id under which all tasks with output ran, because it is about to change.
func (es *Set) KeepFramework(id string) {
	keep := func(ref TaskRef) {
		if s := ref.Shard(); s.rec.Framework == "" && s.rec.Dir != "" {
			s.rec.Framework = id
			es.touchShard(ref.Exec, ref.index)
		}
	}
	for _, ref := range es.tasks {
		keep(ref)
	}
	for _, ref := range es.ended.tasks {
		keep(ref)
	}
}

package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// These are the transitions of an attempt by which it follows what the cluster reports. Each returns whether it was news;
// reported has the news be written, together.

// knownAgain notes that the cluster has reported anything of a task in this session.
func (es *Set) KnownAgain(ref TaskRef) { ref.Shard().rec.known = true }

// saw notes how far a task was seen to go (rule S2: never back), and whether its executor fetches its package.
func (es *Set) Saw(ref TaskRef, seen int, fetching bool) (news bool) {
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

// waitsFor notes what its agent says of why a task has not begun, "" for nothing.
func (es *Set) WaitsFor(ref TaskRef, text string) (news bool) {
	s := ref.Shard()
	news, s.rec.waits = s.rec.waits != text, text
	return news
}

// writesTo notes in which folder of its sandbox a task writes.
func (es *Set) WritesTo(ref TaskRef, dir string) (news bool) {
	s := ref.Shard()
	if news = dir != "" && s.rec.Dir != dir; news {
		s.rec.Dir = dir
	}
	return news
}

// ranIn notes the sandbox of a task: its agent's work folder, and the run of its executor.
func (es *Set) RanIn(ref TaskRef, workDir, container string) (news bool) {
	s := ref.Shard()
	news = s.rec.WorkDir != workDir || s.rec.Container != container
	s.rec.WorkDir, s.rec.Container = workDir, container
	return news
}

// ranWith notes with which package a task runs.
func (es *Set) RanWith(ref TaskRef, sum string) { ref.Shard().rec.Package = sum }

// began notes when the process of a task began. Only the first moment is counted that is said of a task: a later one
// corrects it.
func (es *Set) Began(ref TaskRef, at time.Time) {
	s := ref.Shard()
	if s.rec.Start.IsZero() && s.rec.Attempt == 1 && ref.Exec.rec.Source == NormalTrigger {
		es.Numbers.BeginDelay.Observe(max(at.Sub(ref.Exec.rec.Fire), 0).Seconds())
	}
	s.rec.Start = at
}

// timeoutBegan notes that a task's timeout counts from now (rule K4).
func (es *Set) TimeoutBegan(ref TaskRef) { ref.Shard().rec.RunningAt = es.Now() }

// reported notes that an update has brought news.
func (es *Set) Reported(ref TaskRef, uuid []byte) {
	ref.Shard().rec.UUID = uuid
	es.touchShard(ref.Exec, ref.index)
}

// reportedEnd is what is known of the end of an attempt.
type End struct {
	UUID     []byte
	Complete time.Time
	Exit     *int
	Cause    reason.Reason
}

// endReported notes how an attempt has ended. What follows from that is another transition, in the same step.
func (es *Set) EndReported(ref TaskRef, end End) {
	s := ref.Shard()
	s.rec.UUID, s.rec.Complete, s.rec.Exit, s.rec.Cause = end.UUID, end.Complete, end.Exit, end.Cause.Shortened(store.Shorten)
}

// endDecided notes why an attempt ends of which no end was reported.
func (es *Set) EndDecided(ref TaskRef, cause reason.Reason) { ref.Shard().rec.Cause = cause }

// causeLearned notes why an attempt ended that has ended before.
func (es *Set) CauseLearned(ref TaskRef, cause reason.Reason) {
	ref.Shard().rec.Cause = cause
	es.touchShard(ref.Exec, ref.index)
}

// foundStaged counts the sweeps that found a task staged, and returns how many there were.
func (es *Set) FoundStaged(ref TaskRef) int {
	s := ref.Shard()
	s.rec.staged++
	return s.rec.staged
}

// stuck notes that a task got no further than staged, in spite of a kill.
func (es *Set) Stuck(ref TaskRef) { ref.Shard().rec.stuckStaging = true }

// progressed notes what the program of a task says of its progress, nil for nothing.
func (es *Set) Progressed(ref TaskRef, now *Progress) {
	s := ref.Shard()
	if was := s.rec.progress; (was == nil) != (now == nil) || now != nil && *was != *now {
		s.rec.progress = now
		es.SeeExecution(ref.Exec.rec.ID, ref.Exec.rec.Job)
	}
}

// keepFramework notes under which framework id tasks ran that have output: it is about to be another one.
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

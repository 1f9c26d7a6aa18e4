package executions

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// These transitions of an attempt follow the reports of the cluster. Some return whether they changed anything; if so,
// their caller calls RecordUpdate, which marks the shard to be written with all its changes.

// MarkReported records that the cluster has reported the task in this session.
func (es *Set) MarkReported(ref TaskRef) { ref.Shard().rec.reported = true }

// RecordStage records the reported state of a task, one of the Seen constants, and whether its package is being
// fetched. A state before the furthest one changes nothing (rule S2).
func (es *Set) RecordStage(ref TaskRef, seen int, fetching bool) (changed bool) {
	s := ref.Shard()
	switch {
	case fetching && s.rec.Seen < SeenStarting:
		// After a later state this would be a repeated or late update: the executor has progressed since.
		s.rec.Fetching = true
	case !fetching && seen >= SeenStarting && s.rec.Fetching:
		s.rec.Fetching, changed = false, true
	}
	if seen > s.rec.Seen {
		s.rec.Seen, changed = seen, true
	}
	return changed
}

// RecordWaitText records the agent's reason why a task has not begun, "" for none.
func (es *Set) RecordWaitText(ref TaskRef, text string) (changed bool) {
	s := ref.Shard()
	changed, s.rec.waitText = s.rec.waitText != text, text
	return changed
}

// RecordDir records the folder inside the sandbox that a task writes to; "" changes nothing.
func (es *Set) RecordDir(ref TaskRef, dir string) (changed bool) {
	s := ref.Shard()
	if changed = dir != "" && s.rec.Dir != dir; changed {
		s.rec.Dir = dir
	}
	return changed
}

// RecordSandbox records the sandbox of a task: its agent's work folder, and the id of the run of its executor.
func (es *Set) RecordSandbox(ref TaskRef, workDir, container string) (changed bool) {
	s := ref.Shard()
	changed = s.rec.WorkDir != workDir || s.rec.Container != container
	s.rec.WorkDir, s.rec.Container = workDir, container
	return changed
}

// RecordPackage records the checksum of the package that a task runs with.
func (es *Set) RecordPackage(ref TaskRef, sum string) { ref.Shard().rec.Package = sum }

// RecordStart records when the process of a task began. A later report corrects the time, but only the first one
// counts for the delay of fires.
func (es *Set) RecordStart(ref TaskRef, at time.Time) {
	s := ref.Shard()
	if s.rec.Start.IsZero() && s.rec.Attempt == 1 && ref.Exec.rec.Source == NormalTrigger {
		es.shared.Numbers.BeginDelay.Observe(max(at.Sub(ref.Exec.rec.Fire), 0).Seconds())
	}
	s.rec.Start = at
}

// StartTimeout records that a task's timeout counts from now (rule K4).
func (es *Set) StartTimeout(ref TaskRef) { ref.Shard().rec.RunningAt = es.shared.Now() }

// RecordUpdate records that the update with that uuid has changed something, and marks the shard to be written.
func (es *Set) RecordUpdate(ref TaskRef, uuid []byte) {
	ref.Shard().rec.UUID = uuid
	es.markShardChanged(ref.Exec, ref.index)
}

// End describes the end of an attempt.
type End struct {
	UUID     []byte
	Complete time.Time
	Exit     *int
	Cause    reason.Reason
}

// RecordEnd records how an attempt has ended. Another transition, in the same step, ends or requeues the shard.
func (es *Set) RecordEnd(ref TaskRef, end End) {
	s := ref.Shard()
	s.rec.UUID, s.rec.Complete, s.rec.Exit, s.rec.Cause = end.UUID, end.Complete, end.Exit,
		end.Cause.Shortened(store.Shorten)
}

// SetCause records the cause of an end that no update has reported.
func (es *Set) SetCause(ref TaskRef, cause reason.Reason) { ref.Shard().rec.Cause = cause }

// AddCause adds the cause to an attempt that has ended earlier.
func (es *Set) AddCause(ref TaskRef, cause reason.Reason) {
	ref.Shard().rec.Cause = cause
	es.markShardChanged(ref.Exec, ref.index)
}

// CountStaged counts a sweep that found a task staged, and returns the number of these sweeps.
func (es *Set) CountStaged(ref TaskRef) int {
	s := ref.Shard()
	s.rec.staged++
	return s.rec.staged
}

// MarkStuckStaging records that a task stayed staged in spite of a kill.
func (es *Set) MarkStuckStaging(ref TaskRef) { ref.Shard().rec.stuckStaging = true }

// SetProgress replaces the progress that the program of a task reports; nil for none.
func (es *Set) SetProgress(ref TaskRef, now *Progress) {
	s := ref.Shard()
	if was := s.rec.progress; (was == nil) != (now == nil) || now != nil && *was != *now {
		s.rec.progress = now
		es.shared.ExecutionChanged(ref.Exec.rec.ID, ref.Exec.rec.Job)
	}
}

// StoreFramework stores the framework id under which all tasks with output ran, because it is about to change.
func (es *Set) StoreFramework(id string) {
	keep := func(ref TaskRef) {
		if s := ref.Shard(); s.rec.Framework == "" && s.rec.Dir != "" {
			s.rec.Framework = id
			es.markShardChanged(ref.Exec, ref.index)
		}
	}
	for _, ref := range es.tasks {
		keep(ref)
	}
	for _, ref := range es.ended.tasks {
		keep(ref)
	}
}

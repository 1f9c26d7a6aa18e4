package attempts

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// beginTimeout counts a task's timeout from now: RUNNING was heard. The moment is committed with what the update has changed,
// so that a new leader goes on counting from it (rule F8). beginTimeout reports whether it is news.
func (as *Attempts) beginTimeout(ref executions.TaskRef) bool {
	s := ref.Shard()
	if !s.RunningAt().IsZero() || ref.Exec.Timeout() == 0 {
		return false
	}
	as.Executions.TimeoutBegan(ref)
	as.watchTimeout(ref)
	return true
}

// watchTimeout has a task be looked at when its time is over, if that comes before the next sweep, which calls it again. So there
// are never more timers than tasks that are about to be killed, however many short tasks have a long timeout.
func (as *Attempts) watchTimeout(ref executions.TaskRef) {
	s := ref.Shard()
	if s.RunningAt().IsZero() || !s.KillSince().IsZero() {
		return
	}
	at := s.RunningAt().Add(ref.Exec.Timeout())
	if at.After(as.nextSweep) {
		return
	}
	id := s.TaskID()
	as.Timers.At(at, func(time.Time) {
		if ref, ok := as.Executions.Task(id); ok {
			as.killTimedOut(ref)
		}
	})
}

// killTimedOut wants a task killed that has run for too long, unless its kill is wanted already: then that reason holds (rule K1).
func (as *Attempts) killTimedOut(ref executions.TaskRef) {
	s := ref.Shard()
	if !s.Live() || !s.KillSince().IsZero() || s.RunningAt().IsZero() || as.Now().Before(s.RunningAt().Add(ref.Exec.Timeout())) {
		return
	}
	as.Note(step.Note{Kind: step.NoteTimedOut, Job: ref.Exec.Job(), Execution: ref.Exec.ID(), Task: s.TaskID(), Detail: "it has run for " + ref.Exec.Timeout().String(), Problem: true})
	as.Executions.WantKill(ref, executions.WantedKill{Timeout: true})
}

package attempts

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// startTimeout starts a task's timeout, because RUNNING was reported. The time is committed with the other changes of
// the update, so that a new leader continues to count from it (rule F8). startTimeout returns false if the timeout
// began earlier or the task has none.
func (as *Attempts) startTimeout(ref executions.TaskRef) bool {
	s := ref.Shard()
	if !s.RunningAt().IsZero() || ref.Exec.Timeout() == 0 {
		return false
	}
	as.st.Executions.StartTimeout(ref)
	as.watchTimeout(ref)
	return true
}

// watchTimeout schedules a check of the task at its timeout, if the timeout comes before the next sweep. Each sweep
// calls watchTimeout again. So timers exist only for tasks that are about to be killed, however many short tasks have
// a long timeout.
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
	as.st.Timers.At(at, func(time.Time) {
		if ref, ok := as.st.Executions.Task(id); ok {
			as.killTimedOut(ref)
		}
	})
}

// killTimedOut requests the kill of a task that has exceeded its timeout. If a kill was requested before, its reason
// takes precedence over the timeout (rule K1).
func (as *Attempts) killTimedOut(ref executions.TaskRef) {
	s := ref.Shard()
	if !s.Live() || !s.KillSince().IsZero() || s.RunningAt().IsZero() ||
		as.st.Now().Before(s.RunningAt().Add(ref.Exec.Timeout())) {
		return
	}
	as.st.Note(step.Note{Kind: step.NoteTimedOut, Job: ref.Exec.Job(), Execution: ref.Exec.ID(), Task: s.TaskID(),
		Detail: "it ran for " + ref.Exec.Timeout().String(), Problem: true})
	as.st.Executions.WantKill(ref, executions.WantedKill{Timeout: true})
}

package attempts

import (
	"cmp"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// endAttempt ends the present attempt of a shard: the shard ends with it, or waits for another attempt (see next).
// lingerTime is how long processes of the attempt may live on. Meanwhile no other attempt of the shard begins (promise
// 2).
func (as *Attempts) endAttempt(ref executions.TaskRef, result outcome, lingerTime time.Duration) {
	e, s := ref.Exec, ref.Shard()
	var orphan orphans.Orphan
	if lingerTime > 0 {
		orphan = as.newOrphan(ref)
	}
	if e.Daemon() {
		as.daemons.EndAttempt(ref)
	}
	in := as.endingOf(ref, result)
	v := next(in)
	failed := result == outcomeFailed && !in.drained() || v.state == executions.Failed
	as.st.Executions.EndAttempt(ref, v.attempt, failed, v.cause, v.counts)
	if v.blameAgent && as.st.Config.App(e.Settings().App.AppName) != nil {
		// Where each task has its own executor, the tasks of one execution with the same attempt number start and fail
		// together, so they count as one start.
		start := cmp.Or(s.Executor(), fmt.Sprintf("%s#%d", e.ID(), s.Attempt()))
		as.st.RequestMatchAt(as.st.StartFailures.Record(e.Settings().App.AppName, s.Agent(), start, in.cause))
	}
	if x := as.st.Executors.Get(s.Executor()); x != nil && v.closeExecutor {
		if v.mismatch {
			as.st.Note(step.Note{Kind: step.NoteExecutor, Problem: true, Detail: s.Executor() +
				" gets no more tasks, because the master knows it with another ExecutorInfo; a new one is started"})
		}
		as.st.Executors.Close(x)
	}
	as.st.Leases.Forget(s.TaskID())
	if v.state.Terminal() {
		as.st.Executions.CompleteShard(ref, v.state)
		if lingerTime > 0 {
			as.addEnding(orphan, lingerTime)
		}
	} else {
		as.st.Executions.Requeue(ref, v.source, max(v.delay, lingerTime), as.places.Output(s))
	}
}

// AnswerLaunch applies the answer to the ACCEPT with number seq, which named these tasks. If ok is true, the master
// has the tasks, and the kills that waited for the answer are sent. If ok is false, the tasks were never launched, and
// message says why (rules L3, L4). AnswerLaunch ignores a task that is unknown or that another ACCEPT launched.
func (as *Attempts) AnswerLaunch(tasks []string, seq int64, ok bool, message string) {
	for _, id := range tasks {
		ref, found := as.st.Executions.Task(id)
		if !found || ref.Shard().AcceptSeq() != seq {
			continue
		}
		s := ref.Shard()
		as.st.Executions.RecordAnswer(ref)
		switch {
		case !s.Live():
		case !ok:
			why := reason.LaunchRefused(message)
			as.st.Executions.SetCause(ref, why)
			as.recording.TraceDecided(ref, cluster.Dropped, why)
			as.endAttempt(ref, outcomeNeverStarted, 0)
		case !s.KillSince().IsZero():
			as.SendKill(ref)
		}
	}
}

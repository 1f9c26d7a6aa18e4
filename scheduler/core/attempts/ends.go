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

// endAttempt ends the present attempt of a shard: the shard ends with it, or waits for another attempt (see next). The
// processes of the attempt may live on for the time lingers; until then no other attempt of the shard begins (promise
// 2).
func (as *Attempts) endAttempt(ref executions.TaskRef, result outcome, lingers time.Duration) {
	e, s := ref.Exec, ref.Shard()
	var orphan orphans.Orphan
	if lingers > 0 {
		orphan = as.newOrphan(ref)
	}
	if e.Daemon() {
		as.daemons.EndAttempt(ref)
	}
	in := as.endingOf(ref, result)
	v := next(in)
	as.st.Executions.EndAttempt(ref, v.attempt, result == outcomeFailed || v.state == executions.Failed, v.cause,
		v.counts)
	if v.blameAgent && as.st.Config.App(e.Settings().App.AppName) != nil {
		// Shards that bring their executors start and fail together, so those of one execution with the same attempt
		// number count as one start.
		start := cmp.Or(s.Executor(), fmt.Sprintf("%s#%d", e.ID(), s.Attempt()))
		as.st.RequestMatchAt(as.st.Starts.Record(e.Settings().App.AppName, s.Agent(), start, in.cause))
	}
	if x := as.st.Executors.Get(s.Executor()); x != nil && v.closeExecutor {
		if v.mismatch {
			detail := s.Executor() + " takes no more tasks: the master has another ExecutorInfo of it; a new one is started"
			as.st.Note(step.Note{Kind: step.NoteExecutor, Detail: detail, Problem: true})
		}
		as.st.Executors.Close(x)
	}
	if v.state.Terminal() {
		as.st.Executions.CompleteShard(ref, v.state)
		if lingers > 0 {
			as.addEnding(orphan, lingers)
		}
	} else {
		as.st.Executions.Requeue(ref, v.source, max(v.delay, lingers), as.places.Output(s))
	}
}

// AnswerLaunch applies the answer to the ACCEPT with number seq, which named these tasks. If ok is true, the master
// has them, so a kill that waited for the answer is sent. If it is false, they were never launched, and message says
// why (rules L3, L4). AnswerLaunch ignores a task that is unknown or that another ACCEPT launched.
func (as *Attempts) AnswerLaunch(tasks []string, seq int64, ok bool, message string) {
	for _, id := range tasks {
		ref, known := as.st.Executions.Task(id)
		if !known || ref.Shard().AcceptSeq() != seq {
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

package core

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// countRun counts an execution that has ended, among all and for its job, and records its duration.
func countRun(st *state.State, e *executions.Execution) {
	j := st.Config.Job(e.Job())
	if j == nil || j.Config() == nil || e.Dropped() || e.Daemon() { // runs of daemons are counted one by one
		return
	}
	stats.ObserveRun(&st.Numbers.ExecutionRun, e.Begin(), e.Complete())
	s := st.JobStats.Of(e.Job())
	if s == nil {
		return
	}
	s.Last(e.Result() == executions.ResultFinished, e.EndedAt(), e.Begin(), e.Complete())
	switch e.Result() {
	case executions.ResultFinished:
		s.Finished++
	case executions.ResultFailed:
		s.Failed++
	case executions.ResultKilled:
		s.Killed++
	}
}

// loadJobStats sets the last runs of jobs from the kept ended executions. The counters of a new leader begin at 0.
func loadJobStats(st *state.State) {
	for e := range st.Executions.AllEnded() {
		if j := st.Config.Job(e.Job()); j == nil || j.Config() == nil || e.Dropped() || e.Daemon() {
			continue
		}
		if s := st.JobStats.Of(e.Job()); s != nil {
			s.Last(e.Result() == executions.ResultFinished, e.EndedAt(), e.Begin(), e.Complete())
		}
	}
}

// countLaunch records, at the first launch of an execution, how long the execution has waited and how late its fire
// is.
func countLaunch(shared *step.Shared, e *executions.Execution) {
	if e.Daemon() {
		return
	}
	shared.Numbers.ExecutionWait.Observe(max(shared.Now().Sub(e.CreatedAt()), 0).Seconds())
	if e.Source() == executions.NormalTrigger {
		shared.Numbers.FireDelay.Observe(max(shared.Wall().Sub(e.Fire()), 0).Seconds())
	}
}

// countEnd counts a task whose shard has ended with it, by the state of the shard.
func countEnd(shared *step.Shared, state executions.State) {
	switch state {
	case executions.Finished:
		shared.Numbers.TasksFinished++
	case executions.Killed:
		shared.Numbers.TasksKilled++
	case executions.Lost:
		shared.Numbers.TasksLost++
	case executions.TimedOut:
		shared.Numbers.TasksTimedOut++
	default:
		shared.Numbers.TasksFailed++
	}
}

package core

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// countRun counts the end of an execution with its job.
func countRun(c *state.State, e *executions.Execution) {
	j := c.Config.Job(e.Job())
	if j == nil || j.Config() == nil || e.Dropped() || e.Daemon() { // runs of daemons are counted one by one
		return
	}
	stats.ObserveRun(&c.Numbers.ExecutionRun, e.Begin(), e.Complete())
	s := c.JobStats.Of(e.Job())
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

// loadJobStats sets the last runs of jobs from the kept ended executions; the counters of a new leader begin at 0.
func loadJobStats(c *state.State) {
	for e := range c.Executions.AllEnded() {
		if j := c.Config.Job(e.Job()); j == nil || j.Config() == nil || e.Dropped() || e.Daemon() {
			continue
		}
		if s := c.JobStats.Of(e.Job()); s != nil {
			s.Last(e.Result() == executions.ResultFinished, e.EndedAt(), e.Begin(), e.Complete())
		}
	}
}

// countLaunch counts how long an execution has waited, at its first launch.
func countLaunch(c *step.Shared, e *executions.Execution) {
	if e.Daemon() {
		return
	}
	c.Numbers.ExecutionWait.Observe(max(c.Now().Sub(e.CreatedAt()), 0).Seconds())
	if e.Source() == executions.NormalTrigger {
		c.Numbers.FireDelay.Observe(max(c.Wall().Sub(e.Fire()), 0).Seconds())
	}
}

func countEnd(c *step.Shared, state executions.State) {
	switch state {
	case executions.Finished:
		c.Numbers.TasksFinished++
	case executions.Killed:
		c.Numbers.TasksKilled++
	case executions.Lost:
		c.Numbers.TasksLost++
	case executions.TimedOut:
		c.Numbers.TasksTimedOut++
	default:
		c.Numbers.TasksFailed++
	}
}

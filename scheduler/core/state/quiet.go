package state

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// quietAfter is after how long without a word an executor with a daemon's shard is called quiet: it should report every
// wire.ReportEvery.
const quietAfter = time.Minute

// QuietFor is for how long nothing has come from the executor of a daemon's shard, nor anything else that would explain it; 0
// while that is less than quietAfter.
func (s *State) QuietFor(e *executions.Execution, sh *executions.Shard) time.Duration {
	x, a := s.Executors.Get(sh.Executor()), s.Agents.Get(sh.Agent())
	if x == nil || a == nil || !a.Registered() || !s.Subscription.Open() || sh.State() != executions.Running || !sh.Unreachable().IsZero() || e.Settings().Job.JobExecutionType != jobs.Daemon {
		return 0
	}
	since := slices.MaxFunc([]time.Time{x.ReportedAt(), x.LastUpdate(), a.RegisteredAt(), sh.Launched()}, time.Time.Compare)
	if quiet := s.Now().Sub(since); quiet >= quietAfter {
		return quiet
	}
	return 0
}

// QuietNote says so, or nothing.
func (s *State) QuietNote(e *executions.Execution, sh *executions.Shard) reason.Reason {
	if quiet := s.QuietFor(e, sh); quiet > 0 {
		return reason.ExecutorQuiet(quiet.Round(time.Second), sh.Agent())
	}
	return reason.Reason{}
}

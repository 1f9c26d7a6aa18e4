package state

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// quietAfter is the silence after which an executor with a daemon's shard counts as quiet. Such an executor normally
// reports every wire.ReportInterval.
const quietAfter = time.Minute

// QuietFor returns how long the executor of a daemon's running shard has reported nothing although its agent is
// registered and a session is open. It is 0 for less than quietAfter, for any other shard, and if the shard is
// unreachable.
func (s *State) QuietFor(e *executions.Execution, sh *executions.Shard) time.Duration {
	x, a := s.Executors.Get(sh.Executor()), s.Agents.Get(sh.Agent())
	if x == nil || a == nil || !a.Registered() || !s.Subscription.Open() || sh.State() != executions.Running ||
		!sh.Unreachable().IsZero() || e.Settings().Job.JobExecutionType != jobs.Daemon {
		return 0
	}
	since := slices.MaxFunc([]time.Time{x.ReportedAt(), x.LastUpdate(), a.RegisteredAt(), sh.Launched()},
		time.Time.Compare)
	if quiet := s.Now().Sub(since); quiet >= quietAfter {
		return quiet
	}
	return 0
}

// QuietNote returns a note that the executor of a shard is quiet (QuietFor); none if it is not.
func (s *State) QuietNote(e *executions.Execution, sh *executions.Shard) reason.Reason {
	if quiet := s.QuietFor(e, sh); quiet > 0 {
		return reason.ExecutorQuiet(quiet.Round(time.Second), sh.Agent())
	}
	return reason.Reason{}
}

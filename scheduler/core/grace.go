package core

import (
	"cmp"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// killGrace is the time between SIGTERM and SIGKILL that tasks of an execution are launched with: their job's own, or the server's.
func (es *executions) killGrace(e *execution) time.Duration {
	if e.launched() && e.Settings.Job.KillGraceSeconds > 0 {
		return time.Duration(e.Settings.Job.KillGraceSeconds) * time.Second
	}
	return es.Opt.KillGrace
}

// taskGrace is the grace of a shard's present task. The settings of a daemon's execution may have changed since its launch.
func (es *executions) taskGrace(ref taskRef) time.Duration {
	if ref.exec == nil {
		return es.Opt.KillGrace
	}
	return cmp.Or(ref.shard().Grace, es.killGrace(ref.exec))
}

// longestKillGrace is the longest grace that any task on the cluster has, and at least the server's: so long the end of all may take.
func (es *executions) longestKillGrace() time.Duration {
	longest := es.Opt.KillGrace
	for _, ref := range es.tasks {
		if ref.shard().live() {
			longest = max(longest, es.taskGrace(ref))
		}
	}
	return longest
}

// retryBackoff is how long a shard of a job waits after its first failure, and how long at most after any (rule E6).
func (es *executions) retryBackoff(job *jobs.Config) (first, most time.Duration) {
	if job.RetryBackoffSeconds > 0 {
		first = time.Duration(job.RetryBackoffSeconds) * time.Second
		return first, max(first, es.Opt.BackoffMost)
	}
	return es.Opt.BackoffFirst, es.Opt.BackoffMost
}

// longestDelay is how far ahead a shard's NotBefore can be: what lies further ahead was stored by another clock (rule
// F8).
func (es *executions) longestDelay(e *execution) time.Duration {
	if !e.launched() {
		return es.Opt.BackoffMost
	}
	_, most := es.retryBackoff(&e.Settings.Job)
	return max(most, es.killGrace(e)+refusedWithin)
}

// refusedWithin is more than an executor takes to ask an agent that has just registered (rule X5), and an agent to hear that a task was removed.
const refusedWithin = 5 * time.Second

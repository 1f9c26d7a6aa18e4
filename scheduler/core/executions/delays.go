package executions

import (
	"cmp"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// KillGrace returns the time between SIGTERM and SIGKILL that tasks of an execution are launched with: that of their
// job or, if the job has none, of the server.
func (es *Set) KillGrace(e *Execution) time.Duration {
	if e.Launched() && e.rec.Settings.Job.KillGraceSeconds > 0 {
		return time.Duration(e.rec.Settings.Job.KillGraceSeconds) * time.Second
	}
	return es.shared.Opt.KillGrace
}

// TaskGrace is the grace of a shard's present task, which differs from KillGrace if the settings of a daemon have
// changed since its launch. For the zero TaskRef it is the grace of the server.
func (es *Set) TaskGrace(ref TaskRef) time.Duration {
	if ref.Exec == nil {
		return es.shared.Opt.KillGrace
	}
	return cmp.Or(ref.Shard().rec.Grace, es.KillGrace(ref.Exec))
}

// LongestKillGrace returns the longest grace of any task on the cluster, and at least that of the server: the time
// that killing all of them may take.
func (es *Set) LongestKillGrace() time.Duration {
	longest := es.shared.Opt.KillGrace
	for _, ref := range es.tasks {
		if ref.Shard().Live() {
			longest = max(longest, es.TaskGrace(ref))
		}
	}
	return longest
}

// UnreachableAfter returns how long the agent of a shard of a launched execution may be unreachable before the shard is
// given up (rule E4).
func (es *Set) UnreachableAfter(e *Execution) time.Duration {
	return cmp.Or(time.Duration(e.rec.Settings.Job.UnreachableSeconds)*time.Second, es.shared.Opt.UnreachableAfter)
}

// RetryBackoff returns how long a shard of a job waits after its first failure, and how long at most after any failure
// (rule E6).
func (es *Set) RetryBackoff(job *jobs.Config) (first, limit time.Duration) {
	if job.RetryBackoffSeconds > 0 {
		first = time.Duration(job.RetryBackoffSeconds) * time.Second
		return first, max(first, es.shared.Opt.MaxBackoff)
	}
	return es.shared.Opt.MinBackoff, es.shared.Opt.MaxBackoff
}

// longestDelay returns how far ahead a shard's NotBefore can be. A later NotBefore was stored by another clock (rule
// F8).
func (es *Set) longestDelay(e *Execution) time.Duration {
	if !e.Launched() {
		return es.shared.Opt.MaxBackoff
	}
	_, limit := es.RetryBackoff(&e.rec.Settings.Job)
	return max(limit, es.KillGrace(e)+RefusedTimeout)
}

// RefusedTimeout bounds how long an executor of a replaced agent runs on until the new agent has refused it (rule X5),
// and how long an agent takes to learn that a task was removed.
const RefusedTimeout = 5 * time.Second

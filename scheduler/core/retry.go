package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// failShard ends a shard in that state, or has it run again if its job's maxRetries allow that (rules E3, E6).
func (c *Core) failShard(ref taskRef, state State) {
	e, s := ref.exec, ref.shard()
	job := &e.Settings.Job
	if s.Fails >= job.MaxRetries {
		c.completeShard(ref, state)
		return
	}
	first, most := c.retryBackoff(job)
	c.requeueAfter(ref, e.Source, Backoff(first, most, s.Fails))
	s.Fails++
}

// retryBackoff is how long a shard of a job waits after its first failure, and how long at most after any (rule E6).
func (c *Core) retryBackoff(job *jobs.Config) (first, most time.Duration) {
	if job.RetryBackoffSeconds > 0 {
		first = time.Duration(job.RetryBackoffSeconds) * time.Second
		return first, max(first, c.opt.BackoffMost)
	}
	return c.opt.BackoffFirst, c.opt.BackoffMost
}

// longestDelay is how far ahead a shard's NotBefore can be: what lies further ahead was stored by another clock (rule F8).
func (c *Core) longestDelay(e *execution) time.Duration {
	if !e.launched() {
		return c.opt.BackoffMost
	}
	_, most := c.retryBackoff(&e.Settings.Job)
	return max(most, c.killGrace(e)+refusedWithin)
}

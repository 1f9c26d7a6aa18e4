package core

import "slices"

// countRun counts the end of an execution with its job.
func (c *Core) countRun(e *execution) {
	j := c.config.jobs[e.Job]
	if j == nil || j.cfg == nil || e.Dropped || e.daemon() { // runs of daemons are counted one by one
		return
	}
	s := c.ofJobs.of(e.Job)
	if s == nil {
		return
	}
	s.last(e)
	switch e.result() {
	case resultFinished:
		s.Finished++
	case resultFailed:
		s.Failed++
	case resultKilled:
		s.Killed++
	}
}

// loadJobStats takes what the history has of last runs; a new leader counts from 0.
func (c *Core) loadJobStats() {
	for e := range c.executions.ended.all() {
		if j := c.config.jobs[e.Job]; j == nil || j.cfg == nil || e.Dropped || e.daemon() {
			continue
		}
		if s := c.ofJobs.of(e.Job); s != nil {
			s.last(e)
		}
	}
}

// Stats returns counters and gauges.
func (c *Core) Stats() Stats {
	s := c.stats
	s.Leading, s.Subscribed = true, c.subscription.open
	s.Apps, s.ExecutorsRunning, s.OffersHeld = len(c.config.apps), len(c.executors.byID), c.flow.held.Len()
	s.FireDelayBuckets = slices.Clone(s.FireDelayBuckets)
	for _, j := range c.config.jobs {
		if j.cfg != nil {
			s.Jobs++
		}
	}
	for _, e := range c.executions.open {
		if e.launched() {
			s.ExecutionsRunning++
		} else {
			s.ExecutionsWaiting++
		}
	}
	for _, ref := range c.executions.tasks {
		if ref.shard().live() {
			s.TasksRunning++
		}
	}
	s.NotificationsPending = len(c.notifications.pending)
	s.JobsWithoutMetrics = len(c.ofJobs.leftOut)
	for _, of := range c.ofJobs.byJob {
		s.OfJobs = append(s.OfJobs, *of)
	}
	return s
}

func (c *Core) countDelay(seconds float64) {
	c.stats.FireDelayCount++
	c.stats.FireDelaySum += seconds
	for i, bound := range FireDelayBounds() {
		if seconds <= bound {
			c.stats.FireDelayBuckets[i]++
		}
	}
}

func (c *Core) countEnd(state State) {
	switch state {
	case Finished:
		c.stats.TasksFinished++
	case Killed:
		c.stats.TasksKilled++
	case Lost:
		c.stats.TasksLost++
	default:
		c.stats.TasksFailed++
	}
}

// last takes from an execution, which ended after all that were taken before, what a job's last run says.
func (s *JobStats) last(e *execution) {
	if e.result() == resultFinished {
		s.LastSuccess = e.EndedAt
	}
	if begin := e.begin(); !begin.IsZero() {
		s.LastDuration = max(e.complete().Sub(begin), 0)
	}
}

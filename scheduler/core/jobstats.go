package core

import (
	"slices"
	"time"
)

// JobStats are one job's numbers for metrics.
type JobStats struct {
	Job string
	// LastSuccess is when its last run that finished ended, zero if none is known.
	LastSuccess time.Time
	// LastDuration is how long the last run of it took that had a process, from its first process to its end; 0 if none is known.
	LastDuration time.Duration
	// Finished, Failed and Killed count its runs since this leader's term began.
	Finished, Failed, Killed int64
}

// jobStats are the numbers of the jobs that ended a run, of at most `most` jobs: those that came first. Each job
// would be some series more in every scrape, and a cluster may have 100,000.
type jobStats struct {
	most  int
	byJob map[string]*JobStats
	// leftOut are the jobs that ended a run and for which there was no room.
	leftOut map[string]bool
}

func newJobStats(most int) jobStats {
	return jobStats{most: most, byJob: map[string]*JobStats{}, leftOut: map[string]bool{}}
}

// of a job are its numbers, or nil when there is no room for them.
func (m *jobStats) of(job string) *JobStats {
	s := m.byJob[job]
	switch {
	case s != nil:
	case len(m.byJob) >= m.most:
		m.leftOut[job] = true
	default:
		s = &JobStats{Job: job}
		m.byJob[job] = s
		delete(m.leftOut, job)
	}
	return s
}

// forget makes room: the job is no more.
func (m *jobStats) forget(job string) {
	delete(m.byJob, job)
	delete(m.leftOut, job)
}

// countRun counts the end of an execution with its job.
func (c *Core) countRun(e *execution) {
	j := c.config.jobs[e.Job]
	if j == nil || j.cfg == nil || e.Dropped {
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

// last takes from an execution, which ended after all that were taken before, what a job's last run says.
func (s *JobStats) last(e *execution) {
	if e.result() == resultFinished {
		s.LastSuccess = e.EndedAt
	}
	if begin := e.begin(); !begin.IsZero() {
		s.LastDuration = max(e.complete().Sub(begin), 0)
	}
}

// loadJobStats takes what the history has of last runs; a new leader counts from 0.
func (c *Core) loadJobStats() {
	for e := range c.executions.ended.all() {
		if j := c.config.jobs[e.Job]; j == nil || j.cfg == nil || e.Dropped {
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
	s.JobsWithoutMetrics = len(c.ofJobs.leftOut)
	for _, of := range c.ofJobs.byJob {
		s.OfJobs = append(s.OfJobs, *of)
	}
	return s
}

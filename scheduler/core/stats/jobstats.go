package stats

import "github.com/elasticjob-go/elasticjob/internal/wire"

// PerJob counts the runs of each job, for a limited number of jobs: the first ones that ended a run. The limit bounds
// the number of exported series, because a cluster may have 100,000 jobs. The zero value has no room; use NewPerJob.
type PerJob struct {
	limit int
	// All has the counts by job. Only the methods of PerJob may change the map.
	All map[string]*JobStats
	// leftOut are the jobs that ended a run while there was no room for their counts.
	leftOut map[string]bool
}

// NewPerJob makes a PerJob with room for the counts of limit jobs.
func NewPerJob(limit int) PerJob {
	return PerJob{limit: limit, All: map[string]*JobStats{}, leftOut: map[string]bool{}}
}

// Of returns the counts of a job that ended a run, for the caller to increase; nil if there is no room for them.
func (m *PerJob) Of(job string) *JobStats {
	s := m.All[job]
	switch {
	case s != nil:
	case len(m.All) >= m.limit:
		m.leftOut[job] = true
	default:
		s = &JobStats{Job: job}
		m.All[job] = s
		delete(m.leftOut, job)
	}
	return s
}

// CountRuns adds ended runs of a daemon's shard: runs is the number of all of them, failed that of the failed ones.
func (m *PerJob) CountRuns(job string, runs, failed int64) {
	if s := m.Of(job); s != nil {
		s.Finished, s.Failed = s.Finished+runs-failed, s.Failed+failed
	}
}

// RunEnded records the last run of a daemon's job, with its success and its duration.
func (m *PerJob) RunEnded(job string, run *wire.Run) {
	s := m.Of(job)
	if s == nil {
		return
	}
	s.LastDuration = max(run.Complete.Sub(run.Start), 0)
	if run.State == wire.RunFinished {
		s.LastSuccess = run.Complete
	}
}

// Forget drops the counts of a job that was removed, which makes room for another job.
func (m *PerJob) Forget(job string) {
	delete(m.All, job)
	delete(m.leftOut, job)
}

// LeftOut returns the jobs that ended a run while there was no room for their counts. The map must not be changed.
func (m *PerJob) LeftOut() map[string]bool { return m.leftOut }

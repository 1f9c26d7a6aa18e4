package stats

import "github.com/elasticjob-go/elasticjob/wire"

// jobStats are the numbers of the jobs that ended a run, of at most `most` jobs: those that came first. Each job
// would be some series more in every scrape, and a cluster may have 100,000.
type PerJob struct {
	most int
	All  map[string]*JobStats
	// leftOut are the jobs that ended a run and for which there was no room.
	leftOut map[string]bool
}

func NewPerJob(most int) PerJob {
	return PerJob{most: most, All: map[string]*JobStats{}, leftOut: map[string]bool{}}
}

// Of a job are its numbers, or nil when there is no room for them.
func (m *PerJob) Of(job string) *JobStats {
	s := m.All[job]
	switch {
	case s != nil:
	case len(m.All) >= m.most:
		m.leftOut[job] = true
	default:
		s = &JobStats{Job: job}
		m.All[job] = s
		delete(m.leftOut, job)
	}
	return s
}

// CountRuns counts runs of a daemon's shard.
func (m *PerJob) CountRuns(job string, runs, failed int64) {
	if s := m.Of(job); s != nil {
		s.Finished, s.Failed = s.Finished+runs-failed, s.Failed+failed
	}
}

// RunEnded takes what a daemon's last run says.
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

// Forget makes room: the job is no more.
func (m *PerJob) Forget(job string) {
	delete(m.All, job)
	delete(m.leftOut, job)
}

// LeftOut are the jobs that ended a run and for which there was no room.
func (j *PerJob) LeftOut() map[string]bool { return j.leftOut }

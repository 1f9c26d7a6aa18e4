package core

import "github.com/elasticjob-go/elasticjob/wire"

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

// countRuns counts runs of a daemon's shard.
func (m *jobStats) countRuns(job string, runs, failed int64) {
	if s := m.of(job); s != nil {
		s.Finished, s.Failed = s.Finished+runs-failed, s.Failed+failed
	}
}

// runEnded takes what a daemon's last run says.
func (m *jobStats) runEnded(job string, run *wire.Run) {
	s := m.of(job)
	if s == nil {
		return
	}
	s.LastDuration = max(run.Complete.Sub(run.Start), 0)
	if run.State == wire.RunFinished {
		s.LastSuccess = run.Complete
	}
}

// forget makes room: the job is no more.
func (m *jobStats) forget(job string) {
	delete(m.byJob, job)
	delete(m.leftOut, job)
}

package core

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

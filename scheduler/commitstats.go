package scheduler

import (
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// commitStats measures the commits of all terms of this process. A failed commit ends its term, and must be visible
// after that.
type commitStats struct {
	mu     sync.Mutex
	took   stats.Histogram
	writes stats.Histogram
	events stats.Histogram
	failed int64
}

func newCommitStats() *commitStats {
	return &commitStats{took: stats.NewLatencies(), writes: stats.NewSizes(), events: stats.NewSizes()}
}

// observe counts an answered commit, with the number of events of its step.
func (s *commitStats) observe(took time.Duration, writes, events int, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took.Observe(took.Seconds())
	s.writes.Observe(float64(writes))
	s.events.Observe(float64(events))
	if failed {
		s.failed++
	}
}

// addTo sets the fields of st that are about commits.
func (s *commitStats) addTo(st *stats.Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.CommitTime, st.CommitWrites, st.CommitEvents, st.CommitsFailed = s.took, s.writes, s.events, s.failed
}

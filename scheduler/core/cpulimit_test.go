package core

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestCPULimit checks that the launch of a shard carries the job's CPU limit. A change of the limit must change the
// fingerprint of the shard, so that the shards of daemons are replaced.
func TestCPULimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{0, 1.5} {
		s := newStage(t)
		s.app()
		s.job(func(j *jobs.Config) { j.CPULimit = limit })
		launched := s.startWithCPUs(8)[0]
		if want := int64(limit * 1000); launched.CPULimitMilli != want {
			t.Errorf("limit %v: launched with %d, want %d", limit, launched.CPULimitMilli, want)
		}
		e := s.core.executions.Get(launched.Task.ExecutionID)
		before := s.core.daemons.Describer().Fingerprint(e, 0)
		e.Settings().Job.CPULimit = 2
		if s.core.daemons.Describer().Fingerprint(e, 0) == before {
			t.Errorf("limit %v: another limit does not change the fingerprint", limit)
		}
	}
}

package core

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestFetchingIsReportedOnce repeats the report that a task fetches its package, after a process of the task may have
// begun. The task must not count as fetching again (rules E1, S2).
func TestFetchingIsReportedOnce(t *testing.T) {
	t.Parallel()
	fetching := &wire.Status{Phase: wire.PhaseFetch}
	beginning := &wire.Status{}
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1 })
	s.trigger()
	s.offer("S1", 8, 8192)
	l := s.answerAccepts()[0]
	// isFetchingAfter reports whether the task counts as fetching after a status update.
	isFetchingAfter := func(uuid string, status *wire.Status) bool {
		s.update(l, cluster.Starting, func(u *cluster.Update) { u.UUID, u.Status = []byte(uuid), status })
		return s.core.executions.Ref(l.TaskID).Shard().Fetching()
	}
	if !isFetchingAfter("1", fetching) || isFetchingAfter("2", beginning) || isFetchingAfter("1", fetching) {
		t.Error("the first report is ignored, or counts a second time")
	}
}

package core

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestFetchingIsReportedOnce checks that a task which may have begun does not count as never begun because an old
// report, that its package is being fetched, comes late or twice (rules E1, S2).
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
	report := func(uuid string, data *wire.Status) bool {
		s.update(l, cluster.Starting, func(u *cluster.Update) { u.UUID, u.Status = []byte(uuid), data })
		ref := s.core.executions.Ref(l.TaskID)
		return ref.Shard().Fetching()
	}
	if !report("1", fetching) || report("2", beginning) || report("1", fetching) {
		t.Error("the first report is ignored, or an old one counts")
	}
}

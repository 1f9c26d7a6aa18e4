package core

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestFetchingIsReportedOnce: an old report that the package is fetched, delivered late or repeated, does not make a
// task that may have begun count as never begun (rules E1, S2).
func TestFetchingIsReportedOnce(t *testing.T) {
	t.Parallel()
	fetching := &wire.Status{Phase: wire.PhaseFetch}
	begins := &wire.Status{}
	s := newStage(t)
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1 })
	s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepted()[0]
	report := func(uuid string, data *wire.Status) bool {
		s.update(l, cluster.Starting, func(u *cluster.Update) { u.UUID, u.Status = []byte(uuid), data })
		ref := s.core.executions.Ref(l.TaskID)
		return ref.Shard().Fetching()
	}
	if !report("1", fetching) || report("2", begins) || report("1", fetching) {
		t.Error("an old report counts")
	}
}

package core

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// TestK1AnsweredKillsCauseNoSteps requests many kills one after the other, which are all answered. The core must not
// wake once for each of them afterwards.
func TestK1AnsweredKillsCauseNoSteps(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	const shards = 200
	s.job(func(c *jobs.Config) { c.ShardingTotalCount, c.CPUCount, c.MemoryMB = shards, 0.01, 1 })
	s.trigger()
	s.offer("S1", 80, 81920)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	for i, l := range launches {
		s.now = s.now.Add(time.Millisecond)
		s.step(Request{Token: uint64(i), Event: operator.KillRequested{TaskID: l.TaskID}})
	}
	for _, l := range launches {
		s.update(l, cluster.Killed)
	}
	end, steps := s.now.Add(10*time.Second), 0
	for s.now.Before(end) {
		d := s.core.Step(s.clocks(), rand.NewPCG(1, 2), nil)
		s.now = s.core.shared.Began().Add(max(d.Wake, s.core.shared.Now().Sub(s.core.shared.Began())+time.Microsecond))
		steps++
	}
	if steps > shards/4 {
		t.Errorf("%d steps in 10 s with nothing to do", steps)
	}
}

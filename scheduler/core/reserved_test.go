package core

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// part returns reserved resources of an offer, whose key names the reservation.
func part(key string, cpus, mem float64) cluster.Reserved {
	return cluster.Reserved{Key: key, Resources: resources.New(cpus, mem)}
}

// TestL7ReservedResourcesAreUsedFirst launches two shards that need reserved and unreserved resources together.
// Reserved resources must be used before unreserved ones, and by the executor before the tasks.
func TestL7ReservedResourcesAreUsedFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app(func(c *app.Config) { c.CPUCount, c.MemoryMB = 0.5, 128 })
	s.job(func(c *jobs.Config) { c.ShardingTotalCount, c.CPUCount, c.MemoryMB = 2, 1, 256 })
	s.trigger()
	s.offerReserved(2.5, 1024, nil, part("dynamic", 0.25, 0), part("static", 0.5, 400))
	l := s.answerAccepts()
	if len(l) != 2 {
		t.Fatalf("%d launches", len(l))
	}
	if diff := cmp.Diff([]cluster.Reserved{part("dynamic", 0.25, 0), part("static", 0.25, 128)},
		l[0].Executor.Reserved); diff != "" {
		t.Errorf("the executor (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.Reserved{part("static", 0.25, 256)}, l[0].Reserved); diff != "" {
		t.Errorf("the first task (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]cluster.Reserved{part("static", 0, 16)}, l[1].Reserved); diff != "" {
		t.Errorf("the second task (-want +got):\n%s", diff)
	}
}

// TestX4AnExecutorKeepsTheReservedResourcesOfItsStart checks that later launches name the executor with the reserved
// resources with which it was started, whatever reserved resources are offered later, also under another leader. The
// executor's resources must not be taken from later offers again.
func TestX4AnExecutorKeepsTheReservedResourcesOfItsStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app(func(c *app.Config) { c.CPUCount, c.MemoryMB = 0.5, 128 })
	s.job(func(c *jobs.Config) { c.ShardingTotalCount, c.CPUCount, c.MemoryMB, c.Cron = 1, 1, 256, "" })
	s.trigger()
	s.offerReserved(4, 4096, nil, part("static", 0.2, 0))
	first := s.answerAccepts()
	s.reportRunning(first)
	s.reportFinished(first)
	for _, restart := range []bool{false, true} {
		if restart {
			s.restart()
		}
		s.trigger()
		s.offerReserved(4, 4096, []string{first[0].Executor.ID}, part("other", 0.7, 1000))
		s.runFor(time.Second)
		l := s.answerAccepts()
		if len(l) != 1 {
			t.Fatalf("restart %v: %d launches", restart, len(l))
		}
		if diff := cmp.Diff(first[0].Executor, l[0].Executor); diff != "" {
			t.Errorf("restart %v: the executor differs (-first +second):\n%s", restart, diff)
		}
		if want := []cluster.Reserved{part("other", 0.7, 256)}; !slices.Equal(l[0].Reserved, want) {
			t.Errorf("restart %v: the task takes %+v, want %+v", restart, l[0].Reserved, want)
		}
		s.reportRunning(l)
		s.reportFinished(l)
	}
}

// TestNoReservedResourcesAreNamedWithoutReservations checks that launches name no reserved resources if the offer has
// none.
func TestNoReservedResourcesAreNamedWithoutReservations(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.offer("S1", 8, 8192)
	for _, l := range s.answerAccepts() {
		if l.Reserved != nil || l.Executor.Reserved != nil {
			t.Errorf("the task names the reserved resources %+v, its executor %+v", l.Reserved, l.Executor.Reserved)
		}
	}
}

// offerReserved offers resources of agent S1, on which the given executors run. The parts of them are reserved.
func (s *stage) offerReserved(cpus, mem float64, executors []string, parts ...cluster.Reserved) {
	s.t.Helper()
	s.offerCount++
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{
		ID: "R" + string(rune('a'+s.offerCount)), AgentID: "S1", Hostname: "S1", AgentURL: "http://S1:5051",
		Resources: resources.New(cpus, mem), Reserved: parts, ExecutorIDs: executors,
	}}}))
}

package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/wire"
)

// One agent, forty jobs that fire each second and fill it as soon as anything is free, and one that needs all of it, or half:
// rule L2 bounds how long that one waits.
func TestL2AJobThatNeedsMuchRoomRunsInACrowdedCluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wants, large int
		takes        time.Duration
	}{
		{wants: 19, large: 1, takes: 130 * time.Second},
		{wants: 10, large: 1, takes: 300 * time.Second},
		{wants: 15, large: 3, takes: 130 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d jobs want %d, runs take %s", test.large, test.wants, test.takes), func(t *testing.T) {
			t.Parallel()
			p := newPretendedCluster(t, 1, resources.New(19.1, 64000), 40+test.large, func(i int, j *jobs.Config) {
				j.Cron, j.CPUCount = "* * * * * ?", 1
				if i >= 40 {
					j.JobName, j.Cron, j.ShardingTotalCount = fmt.Sprint("large_", i), "0 0/10 * * * ?", test.wants
				}
			})
			p.takes = test.takes
			last := map[string]time.Time{}
			p.launched = func(id string) {
				if name, _, _ := strings.Cut(id, "@-@"); strings.HasPrefix(name, "large_") {
					last[name] = p.now
				}
			}
			began := p.now
			for i := range test.large {
				last[fmt.Sprint("large_", 40+i)] = began
			}
			// It fires each ten minutes. The small ones that are older have their turns too, but take what comes free one by one.
			most := 10*time.Minute + p.core.opt.ReserveAfter + time.Duration(test.large+1)*(test.takes+time.Minute)
			for p.now.Sub(began) < 4*time.Hour {
				p.run(time.Minute)
				for name, at := range last {
					if waits := p.now.Sub(at); waits > most {
						t.Fatalf("%s had no run for %s, want one every %s", name, waits, most)
					}
				}
			}
			if small := p.tasks; small < 100 {
				t.Errorf("only %d tasks ran in four hours", small)
			}
		})
	}
}

// What was drained for a reservation that ended without a launch is not handed out before the next one begins.
func TestL2WhatWasDrainedIsForTheNextReservation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "small", 1 })
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "large", 7 })
	s.offer("S1", 8, 8192)
	s.step(TriggerAsked{Token: 1, Job: "large"})
	s.step(s.told(cluster.Rescind{OfferID: "O1"}))
	for s.core.reservation == nil {
		if s.core.pool.Len() == 0 {
			s.offer("S1", 4, 8192) // another framework has the rest
		}
		s.until(time.Second)
	}
	first := *s.core.reservation
	s.step(TriggerAsked{Token: 2, Job: "small"})
	s.accepts = nil
	for s.now.Before(first.until.Add(-time.Second)) {
		if s.core.pool.Len() == 0 {
			s.offer("S1", 4, 8192)
		}
		s.until(time.Second)
	}
	if len(s.accepts) > 0 {
		t.Fatal("what is reserved was used by another execution")
	}
	s.offer("S1", 8, 8192) // it is all there, in the moment in which the reservation ends
	s.now = first.until
	s.step()
	launched := s.accepted()
	if len(launched) == 0 || !strings.HasPrefix(launched[0].TaskID, "large@") {
		t.Errorf("launched: %+v", launched)
	}
}

// While an orphan of its shard is seen alive, an execution may not be launched (rule E5), and so gets no reservation.
func TestL2NoReservationForAnExecutionThatMayNotBeLaunched(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, withFailover, func(j *jobs.Config) { j.CPUCount = 3 })
	lost := s.start(8)
	s.run(lost)
	s.unreachable(lost[0])
	s.until(3 * time.Minute)
	s.offer("S2", 8, 8192)
	again := s.accepted()
	s.run(again)
	s.finish(again)
	s.trigger()
	s.offer("S3", 2, 8192)
	s.update(lost[0], cluster.Running, fromMaster(cluster.ReasonReconciliation))
	if x, err := s.core.Explain("my_job", s.now); err != nil || len(x.Waiting) == 0 || s.core.canLaunch(s.core.jobs["my_job"]) {
		t.Fatalf("%+v, %v: want an execution that waits for its orphan", x, err)
	}
	for range 60 {
		if s.core.pool.Len() == 0 {
			s.offer("S3", 2, 8192)
		}
		s.until(time.Second)
		if r := s.core.reservation; r != nil {
			t.Fatalf("%+v is for an execution that may not be launched", r)
		}
	}
}

// A shard once ran for three hours on the agent. When nothing of ours runs there any more, that is no reason to keep it so long.
func TestL2AReservationEndsAMinuteAfterItsAgentsAreDrained(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = "large", 7 })
	l := s.start(8)
	s.run(l)
	s.update(l[0], cluster.Finished, func(u *cluster.Update) {
		u.Data = statusData(wire.Status{StartTime: s.now.Add(-3 * time.Hour), CompleteTime: s.now})
	})
	s.step(TriggerAsked{Token: 1, Job: "large"})
	var began time.Time
	for range 300 {
		if s.core.pool.Len() == 0 {
			s.offer("S1", 4, 8192, l[0].Executor.ID) // another framework has the rest
		}
		s.until(time.Second)
		switch r := s.core.reservation; {
		case r == nil:
		case began.IsZero():
			began = r.since
		case !r.since.Equal(began):
			return // another one has begun
		}
		if !began.IsZero() && s.core.reservation == nil {
			return
		}
	}
	t.Errorf("reserved since %s: %+v", began, s.core.reservation)
}

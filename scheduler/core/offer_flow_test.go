package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

func TestWhatNeverFitsHoldsNoOffer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.CPUCount = 1000 })
	s.trigger()
	d := s.offer("S1", 8, 8192)
	declined := calls[step.CallDecline](d)
	if len(declined) != 1 || declined[0].Refuse < 10*time.Second {
		t.Fatalf("declined %+v, want the offer, for long", declined)
	}
	if len(calls[step.CallSuppress](d)) > 0 {
		t.Fatal("SUPPRESS: a larger agent that comes would not be seen")
	}
}

// TestOffersGoWithTheirAgent: the offers of a removed agent are void, including those that are held.
func TestOffersGoWithTheirAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(needsTwoAgents)
	s.trigger()
	s.offer("S2", 5, 8192)
	s.step(s.clusterEvent(cluster.Failure{AgentID: "S2"}))
	s.offer("S1", 8, 8192)
	if len(s.accepts) > 0 {
		t.Fatalf("launched on an agent that was removed: %+v", s.accepts)
	}
	s.offer("S3", 5, 8192)
	if got := len(s.answerAccepts()); got != 3 {
		t.Errorf("%d shards were launched, want 3", got)
	}
}

// A change may make a shard fit that did not fit before: the core matches it again, and drops the old reason.
func TestAChangedJobIsMatchedAgain(t *testing.T) {
	t.Parallel()
	for _, cpus := range []float64{100, 8} {
		s := newStage(t)
		s.app()
		s.job(oneShard, func(j *jobs.Config) { j.CPUCount = cpus })
		s.trigger()
		s.offer("S1", 4, 8192)
		s.runFor(time.Second)
		s.updateJob("my_job", func(j *jobs.Config) { j.CPUCount = 1 })
		revived := len(calls[step.CallRevive](s.last))
		for range 10 {
			s.runFor(100 * time.Millisecond)
			revived += len(calls[step.CallRevive](s.last))
		}
		if revived == 0 {
			t.Errorf("%v CPU: nothing is revived", cpus)
		}
		x, err := s.core.views.Explain("my_job")
		if err != nil || len(x.Waiting) != 1 ||
			strings.Contains(x.Waiting[0].Reason, fmt.Sprint("needs ", cpus, " CPU")) {
			t.Errorf("%v CPU: %+v, %v", cpus, x.Waiting, err)
		}
	}
}

// An agent whose CPU and memory are all revocable makes offers without any resources that a shard could use.
func TestAnOfferOfNothingIsGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{ID: "O", AgentID: "S1"}}}))
	if d := calls[step.CallDecline](s.last); len(d) != 1 || d[0].Refuse != s.opt.MaxRefuse ||
		s.core.placement.Held().Len() > 0 {
		t.Errorf("%+v", d)
	}
	revives := 0
	for end := s.now.Add(5 * time.Second); s.now.Before(end); {
		s.runFor(50 * time.Millisecond)
		revives += len(calls[step.CallRevive](s.last))
	}
	if revives > 1 {
		t.Errorf("%d REVIVEs bring it back", revives)
	}
}

// scarceCluster has three agents of 8 CPUs of which other frameworks use 4, and a master with the filters of Mesos.
type scarceCluster struct {
	*stage
	filters  map[string]time.Time
	revived  bool
	held     map[string]time.Duration // by agent
	declines int
}

// play makes and ends offers, with a master that allocates each second.
func (s *scarceCluster) play(d time.Duration) {
	s.t.Helper()
	const tick = 50 * time.Millisecond
	for i := 0; i < int(d/tick); i++ {
		for end := s.now.Add(tick); s.now.Before(end); s.hear() {
			next := end
			if wake := s.wake(); wake.After(s.now) && wake.Before(end) {
				next = wake
			}
			s.now = next
			s.step()
		}
		for _, a := range []string{"S1", "S2", "S3"} {
			mine := s.core.placement.Held().Free(a)
			if !mine.IsZero() {
				s.held[a] += tick
			} else if (s.revived || i%20 == 0) && !s.now.Before(s.filters[a]) && !s.core.placement.Suppressed() {
				s.offer(a, 4, 4000)
				s.hear()
			}
		}
		s.revived = false
	}
}

func (s *scarceCluster) hear() {
	for _, call := range s.last.Calls {
		switch call := call.(type) {
		case step.CallDecline:
			s.declines++
			for _, a := range []string{"S1", "S2", "S3"} {
				if s.core.placement.Held().Free(a).IsZero() && !s.now.Before(s.filters[a]) {
					s.filters[a] = s.now.Add(call.Refuse)
				}
			}
		case step.CallRevive:
			clear(s.filters)
			s.revived = true
		}
	}
	s.last.Calls = nil
}

func newScarceCluster(t *testing.T, cpus float64, shards int) *scarceCluster {
	t.Helper()
	s := &scarceCluster{stage: newStage(t), filters: map[string]time.Time{}, held: map[string]time.Duration{}}
	s.opt.ReserveAfter = time.Hour // so that rule L2 has no effect here
	s.restart()
	s.app()
	for _, a := range []string{"S1", "S2", "S3"} {
		s.offer(a, 8, 8000)
	}
	s.runFor(time.Second)
	s.job(func(j *jobs.Config) { j.ShardingTotalCount, j.CPUCount = shards, cpus })
	s.trigger()
	s.hear()
	return s
}

func TestWhatDoesNotFitHoldsNoOffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		cpus   float64
		shards int
		most   time.Duration // for which an agent's offers are held, of 5 minutes
	}{
		{"one large shard", 6, 1, time.Second},
		{"shards of which some would fit", 1, 20, 12 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScarceCluster(t, tt.cpus, tt.shards)
			s.play(5 * time.Minute)
			if len(s.accepts) > 0 {
				t.Fatalf("launched %+v", s.accepts)
			}
			for a, held := range s.held {
				if held > tt.most {
					t.Errorf("agent %s is held for %s of 5 minutes, want %s at most", a, held, tt.most)
				}
			}
			if s.declines > 150 {
				t.Errorf("%d times given back", s.declines)
			}
			if x := s.explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "which lacks") {
				t.Errorf("%+v", x.Waiting[0])
			}
			// A shard that fits and begins to wait gets its offers at once.
			s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount = "small_job", 1 })
			s.triggerJob("small_job")
			s.hear()
			s.play(300 * time.Millisecond)
			if l := s.answerAccepts(); len(l) != 1 || !strings.HasPrefix(l[0].TaskID, "small_job") {
				t.Errorf("launched %+v", l)
			}
		})
	}
}

func TestL1TheEndOfATaskHasAllOfferedAtOnceForWhatStartsTogether(t *testing.T) {
	t.Parallel()
	s := newScarceCluster(t, 1, 5)
	s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.CPUCount = "first_job", 1, 1 })
	s.filters["S3"], s.filters["S2"] = s.now.Add(time.Hour), s.now.Add(time.Hour)
	s.triggerJob("first_job")
	s.offer("S1", 3, 3000)
	l := s.answerAccepts()
	if len(l) != 1 {
		t.Fatalf("launched %+v", l)
	}
	s.reportRunning(l)
	s.runFor(20 * time.Second)
	s.offer("S1", 1.5, 2000, l[0].Executor.ID)
	s.runFor(8 * time.Second)
	if s.core.placement.Held().Len() > 0 {
		t.Fatal("what does not help is held")
	}
	s.update(l[0], cluster.Finished)
	if len(calls[step.CallRevive](s.last)) != 1 {
		t.Errorf("nothing is asked for: %+v", s.last.Calls)
	}
}

package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestUnplacedShards checks that Unplaced lists exactly the shards that could run on additional agents, with the
// reasons that explain shows.
func TestUnplacedShards(t *testing.T) {
	t.Parallel()
	small := cluster.Offer{AgentID: "n1", Resources: resources.New(2, 1000), Total: resources.New(2, 1000)}
	for name, c := range map[string]struct {
		happens func(s *stage)
		want    int    // the number of listed shards
		why     string // a part of their reason
	}{
		"nothing waits":   {func(*stage) {}, 0, ""},
		"no agent at all": {func(s *stage) { s.trigger() }, 3, "offered nothing"},
		"too few for all its shards, which start together": {func(s *stage) {
			s.trigger()
			s.offerAgent(small)
		}, 3, "start together"},
		"a shard larger than any agent": {func(s *stage) {
			s.updateJob("my_job", func(j *jobs.Config) { j.CPUCount = 5 })
			s.trigger()
			s.offerAgent(small)
		}, 3, "agent"},
		"placed": {func(s *stage) {
			s.trigger()
			s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(9, 9000), Total: resources.New(9, 9000)})
		}, 0, ""},
		"the job is disabled": {func(s *stage) {
			s.trigger()
			s.apply(s.core.planDisableJob("my_job", true))
		}, 0, ""},
		"no session with the cluster": {func(s *stage) {
			s.trigger()
			s.unsubscribe()
		}, 0, ""},
		"behind a run that is placed": {func(s *stage) {
			s.trigger()
			s.reportRunning(s.offerAndAnswer(cluster.Offer{AgentID: "n2", Resources: resources.New(3, 9000),
				Total: resources.New(9, 9000)}))
			s.trigger()
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStageOfTaskExecutors(t)
			s.app()
			s.job()
			c.happens(s)
			got := s.core.views.Unplaced(100)
			if len(got) != c.want {
				t.Fatalf("%d shards are listed, want %d: %+v", len(got), c.want, got)
			}
			for i, u := range got {
				if u.Job != "my_job" || u.Item != i || u.Execution == "" || u.Resources.CPUMilli < 1000 ||
					!strings.Contains(u.Why, c.why) || u.Why != s.explain("my_job").Waiting[i].Reason {
					t.Errorf("shard %d is listed as %+v", i, u)
				}
			}
			if want := min(2, c.want); len(s.core.views.Unplaced(2)) != want {
				t.Errorf("Unplaced(2) returned %+v", s.core.views.Unplaced(2))
			}
		})
	}
}

// TestUnplacedRetry checks that a failed shard is listed only after its retry backoff.
func TestUnplacedRetry(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.MaxRetries = 1 })
	s.trigger()
	l := s.offerAndAnswer(cluster.Offer{AgentID: "n1", Resources: resources.New(1, 64), Total: resources.New(1, 64)})
	s.reportRunning(l)
	s.reportFailed(l[0])
	if got := s.core.views.Unplaced(9); len(got) != 0 {
		t.Errorf("listed during its backoff: %+v", got)
	}
	s.stepAfter(time.Hour)
	if got := s.core.views.Unplaced(9); len(got) != 1 || got[0].Item != 0 {
		t.Errorf("after its backoff, %+v are listed, want the failed shard", got)
	}
}

// offerAndAnswer makes an offer, answers the ACCEPTs, and returns their launches.
func (s *stage) offerAndAnswer(o cluster.Offer) []cluster.TaskLaunch {
	s.t.Helper()
	s.offerAgent(o)
	return s.answerAccepts()
}

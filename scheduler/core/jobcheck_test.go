package core

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// candidate returns the document of a job that is not registered. It has shards of 1 CPU and 64 MB, unless the changes
// say otherwise.
func candidate(shards int, change ...func(*jobs.Config)) jobs.Config {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "new_job", "my_app",
		jobs.Transient, shards, 1, 64
	for _, f := range change {
		f(&j)
	}
	return j
}

// checkJob checks the registration of a job. It fails the test if the check changes the jobs, or makes the next step
// write something.
func (s *stage) checkJob(c jobs.Config) (views.JobCheck, error) {
	s.t.Helper()
	before := s.core.views.Jobs()
	check, err := s.core.views.CheckJob(config.RegisterJob{Config: c})
	if diff := cmp.Diff(before, s.core.views.Jobs()); diff != "" {
		s.t.Errorf("the check has changed the jobs:\n%s", diff)
	}
	if d := s.step(); len(d.Writes) > 0 || len(d.Change) > 0 {
		s.t.Errorf("the check has led to writes: %+v", d.Writes)
	}
	return check, err
}

// TestACheckSaysWhereShardsWouldGo checks whether the shards of a new job fit, where they would run, and why they would
// not, with different offers and agents.
func TestACheckSaysWhereShardsWouldGo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before func(*stage)
		job    jobs.Config
		fits   bool
		shards []views.PlacedShardView
		reason string
	}{
		{"no agent was seen yet", func(*stage) {}, candidate(3), false, nil, "no agent has offered anything yet"},
		{"declined, and large enough", func(s *stage) { s.offer("S1", 4, 4096) }, candidate(3), true, nil,
			"no offers are held now; the agents seen so far have room for all 3 shards beside what runs on them"},
		{"declined, one shard", func(s *stage) { s.offer("S1", 4, 4096) }, candidate(1), true, nil, "room for its 1 shard beside"},
		{"declined, and too small", func(s *stage) { s.offer("S1", 4, 4096); s.offer("S2", 2, 4096) }, candidate(9),
			false, nil,
			"no offers are held now; the agents seen so far have room for 4 of 9 shards beside what runs on them (each takes 1 CPU"},
		{"others run there", func(s *stage) {
			s.job()
			s.reportRunning(s.startWithCPUs(4.5))
		}, candidate(2), false, nil, "the agents seen so far have room for 1 of 2 shards"},
		{"on offer", func(s *stage) { s.hold("S1", 4) }, candidate(3), true, placedOn("S1", 3), ""},
		{"on offer, and too little", func(s *stage) { s.hold("S1", 4) }, candidate(9), false, nil,
			"9 shards, which start together, need 1 CPU, 64 MB each (and 0.5 CPU, 128 MB once per agent for the executor of my_app), but 1 agent on offer has room for 3; the closest to one more is agent S1 (host S1), which lacks 0.5 CPU"},
		{"never", func(s *stage) { s.hold("S1", 4) }, candidate(1, func(j *jobs.Config) { j.CPUCount = 64 }), false, nil, "no agent can ever hold one shard"},
		{"on offer too little, but other agents are known", func(s *stage) {
			s.offer("S2", 8, 8192)
			s.hold("S1", 4)
		}, candidate(8), true, nil, "the offers held now have no room for all; the agents seen so far have room for all 8 shards"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			tt.before(s)
			got, err := s.checkJob(tt.job)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.shards
			if want == nil {
				want = []views.PlacedShardView{}
			}
			if diff := cmp.Diff(want, got.Placement.Shards); diff != "" {
				t.Errorf("shards (-want +got):\n%s", diff)
			}
			if got.Placement.Fits != tt.fits || !strings.Contains(got.Placement.Reason, tt.reason) ||
				tt.reason == "" && got.Placement.Reason != "" {
				t.Errorf("fits %t, with the reason %q; want %t, with %q", got.Placement.Fits, got.Placement.Reason,
					tt.fits, tt.reason)
			}
		})
	}
}

// hold makes an agent known, and holds an offer of it until the next step. That step declines the offer unless
// something is due.
func (s *stage) hold(agent string, cpus float64) {
	s.t.Helper()
	s.offer(agent, cpus, 4096)
	s.core.placement.Offer(cluster.Offer{ID: "held", AgentID: agent, Hostname: agent,
		Resources: resources.New(cpus, 4096)})
}

// TestACheckIsTrue checks that a job that is registered and triggered is launched where its check predicted.
func TestACheckIsTrue(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.hold("S1", 8)
	check, err := s.checkJob(candidate(3, func(j *jobs.Config) { j.JobName = "my_job_2" }))
	if err != nil {
		t.Fatal(err)
	}
	s.job(func(j *jobs.Config) { j.JobName = "my_job_2" })
	s.triggerJob("my_job_2")
	s.offer("S1", 8, 4096)
	var got []views.PlacedShardView
	for _, task := range s.answerAccepts() {
		if id, err := jobs.ParseTaskID(task.TaskID); err == nil && id.Job == "my_job_2" {
			got = append(got, views.PlacedShardView{Item: id.Item, Agent: id.Agent, Hostname: "S1"})
		}
	}
	if !reflect.DeepEqual(got, check.Placement.Shards) || len(got) != 3 {
		t.Errorf("the job was launched on %v, but the check predicted %v", got, check.Placement.Shards)
	}
}

// TestACheckRefusesWhatRegisterWould checks that a check refuses what a registration would. The check of an update has
// the same notes as the updated job would have.
func TestACheckRefusesWhatRegisterWould(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	refusals := map[string]jobs.Config{
		"job_exists":    candidate(1, func(j *jobs.Config) { j.JobName = "my_job" }),
		"app_not_found": candidate(1, func(j *jobs.Config) { j.AppName = "other" }),
	}
	for code, c := range refusals {
		if _, err := s.checkJob(c); err == nil || problem.Of(err).Code != code {
			t.Errorf("the check gave %v, want %s", err, code)
		}
	}
	s.apply(s.core.planDisableJob("my_job", true))
	v, err := s.core.views.Job("my_job")
	if err != nil {
		t.Fatal(err)
	}
	check, err := s.core.views.CheckJob(config.UpdateJob{Config: candidate(2,
		func(j *jobs.Config) { j.JobName, j.Cron = "my_job", "0 0 0 1 1 ? 2020" }), Version: v.Version})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(check.Job.Notes, "; ")
	if !check.Job.Disabled || !strings.Contains(notes, "never fires (again)") ||
		!strings.Contains(notes, "the job is disabled: until that ends") {
		t.Errorf("the checked job is shown as %+v", check.Job)
	}
	if after, _ := s.core.views.Job("my_job"); after.Cron != v.Cron ||
		after.ShardingTotalCount != v.ShardingTotalCount {
		t.Errorf("the check has changed the job: %+v", after)
	}
}

// TestChecksAtTheSameTime calls checks concurrently, as readers may. The race detector finds any write among them.
func TestChecksAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.offer("S2", 8, 8192)
	s.hold("S1", 4)
	var wg sync.WaitGroup
	for shards := 1; shards <= 8; shards++ {
		wg.Go(func() {
			for range 20 {
				if _, err := s.core.views.CheckJob(config.RegisterJob{Config: candidate(shards)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// placedOn returns the first shards of a job, all placed on one agent.
func placedOn(agent string, shards int) (placed []views.PlacedShardView) {
	for item := range shards {
		placed = append(placed, views.PlacedShardView{Item: item, Agent: agent, Hostname: agent})
	}
	return placed
}

// TestMemoryOfAnExecutorInAPod checks the note about a shard with less memory than the executor in its pod needs. An
// exclusive shard needs more, because a supervisor runs beside its executor.
func TestMemoryOfAnExecutorInAPod(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pods, exclusive bool
		memoryMB        float64
		note            string
	}{
		"on Mesos":              {false, false, 8, ""},
		"enough":                {true, false, 16, ""},
		"too little":            {true, false, 15, "needs 16 of that"},
		"exclusive, enough":     {true, true, 20, ""},
		"exclusive, too little": {true, true, 19, "needs 20 of that"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if tt.pods {
				s = newStageOfTaskExecutors(t)
			}
			s.app()
			check, err := s.checkJob(candidate(1, func(j *jobs.Config) {
				j.MemoryMB, j.Exclusive, j.LeaseSeconds = tt.memoryMB, tt.exclusive, 60
			}))
			got := strings.Join(check.Job.Notes, "; ")
			if want := tt.note != ""; err != nil || strings.Contains(got, "executor that starts each shard") != want ||
				!strings.Contains(got, tt.note) {
				t.Errorf("got the notes %q, %v", got, err)
			}
		})
	}
}

package core

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// The following functions change a job, for stage.job.

func everyFiveSeconds(j *jobs.Config) { j.Cron = "0/5 * * * * ?" }

func oneShard(j *jobs.Config) { j.ShardingTotalCount = 1 }

func withFailover(j *jobs.Config) { j.Failover = true }

func withMisfire(j *jobs.Config) { j.Misfire = true }

func hourly(j *jobs.Config) { j.Cron = "0 0 * * * ?" }

// startWithCPUs triggers my_job, offers agent S1 with that many CPUs, and returns the launches there.
func (s *stage) startWithCPUs(cpus float64) []cluster.TaskLaunch {
	s.t.Helper()
	s.trigger()
	s.offer("S1", cpus, 8192)
	return s.answerAccepts()
}

// runJobOn registers my_app and my_job, runs the only shard of the job on an agent, and returns the launch.
func (s *stage) runJobOn(agent string, change func(*jobs.Config)) cluster.TaskLaunch {
	s.t.Helper()
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1; change(j) })
	s.trigger()
	s.offer(agent, 4, 1000)
	launches := s.answerAccepts()
	if len(launches) != 1 {
		s.t.Fatalf("%d tasks were launched, want 1", len(launches))
	}
	s.reportRunning(launches)
	return launches[0]
}

// launch triggers my_job, and launches its shards on agent S1, which offers 8 CPUs.
func (s *stage) launch() (id string, launches []cluster.TaskLaunch) {
	s.t.Helper()
	id = s.trigger()
	s.offer("S1", 8, 8192)
	return id, s.answerAccepts()
}

// runJob registers my_app and my_job, and runs the job's shards on agent S1.
func (s *stage) runJob(change ...func(*jobs.Config)) []cluster.TaskLaunch {
	s.t.Helper()
	s.app()
	s.job(change...)
	launches := s.startWithCPUs(8)
	s.reportRunning(launches)
	return launches
}

// triggerJob triggers a job, and fails the test if the request is refused.
func (s *stage) triggerJob(name string) Decision {
	s.t.Helper()
	d := s.step(Request{Token: 1, Event: operator.TriggerRequested{Job: name}})
	if len(d.Replies) != 1 || d.Replies[0].Err != nil {
		s.t.Fatalf("trigger %s: %+v", name, d.Replies)
	}
	return d
}

// updateJob changes the document of a job.
func (s *stage) updateJob(name string, change func(*jobs.Config)) {
	s.t.Helper()
	s.apply(s.core.planUpdateJob(name, func(j jobs.Config) (jobs.Config, error) {
		change(&j)
		return j, nil
	}))
}

// explain returns what users see when they ask why a job does not run.
func (s *stage) explain(job string) views.Explanation {
	s.t.Helper()
	x, err := s.core.views.Explain(job)
	if err != nil {
		s.t.Fatal(err)
	}
	return x
}

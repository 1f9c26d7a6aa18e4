package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// What people set of executors counts for new ones; one that runs is told of in the words it was started with.
func TestX4UserAndEnvironmentAreThoseOfTheStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.ExecutorUser, s.opt.ExecutorShutdown = "batch", 9500*time.Millisecond
	s.opt.ExecutorEnvironment = func(hostname string) map[string]string { return map[string]string{"CA": "old", "HOST": hostname} }
	s.restart()
	s.app()
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 1; j.Cron = "" })
	launch := func(executors ...string) cluster.Executor {
		t.Helper()
		s.trigger()
		s.offer("S1", 8, 8192, executors...)
		s.until(time.Second)
		l := s.accepted()
		if len(l) != 1 {
			t.Fatalf("launched %v", l)
		}
		s.run(l)
		s.finish(l)
		return l[0].Executor
	}
	first := launch()
	if first.Version != 3 || first.User != "batch" || first.ShutdownGrace != 9500*time.Millisecond || first.Environment["CA"] != "old" || first.Environment["HOST"] == "" {
		t.Fatalf("started with %+v", first)
	}
	// Another CA or grace: the running executor is used on as it is.
	s.opt.ExecutorEnvironment = func(string) map[string]string { return map[string]string{"CA": "new"} }
	s.opt.ExecutorShutdown = time.Minute
	s.restart()
	if diff := cmp.Diff(first, launch(first.ID)); diff != "" {
		t.Errorf("told otherwise (-first +second):\n%s", diff)
	}
	// Another user: nothing more is run as the former one.
	s.opt.ExecutorUser = "nightly"
	s.restart()
	third := launch(first.ID)
	if third.ID == first.ID || third.User != "nightly" || third.Environment["CA"] != "new" {
		t.Errorf("started with %+v", third)
	}
}

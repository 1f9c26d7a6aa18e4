package core

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// A daemon's shard that is killed while the server stops is not recorded as killed: the next server places it again.
func TestX8AShardKilledWhileTheServerStopsIsPlacedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) {
		c.JobExecutionType, c.Cron, c.ShardingTotalCount = jobs.Daemon, "0/10 * * * * ?", 2
	})
	s.offer("S1", 8, 8192)
	launches := s.accepted()
	s.run(launches)
	s.step(Request{Token: 1, Event: operator.KillRequested{TaskID: launches[0].TaskID}})
	s.step(Drain{})
	for _, l := range launches {
		s.update(l, cluster.Killed)
	}
	e := s.core.executions.Standing("my_job")
	if e == nil {
		t.Fatal("there is no standing execution any more")
	}
	for i := range e.NumShards() {
		if sh := e.Shard(i); sh.State() != executions.Waiting {
			t.Errorf("item %d is %s, %q; want it to wait for the next server", i, sh.State(), sh.Cause())
		}
	}
}

// An overview names a daemon that sends no reports, by the shard that has been silent longest, until it reports again.
func TestAnOverviewNamesSilentDaemons(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) {
		c.JobExecutionType, c.Cron, c.ShardingTotalCount = jobs.Daemon, "0/10 * * * * ?", 2
	})
	s.offer("S1", 8, 8192)
	launches := s.accepted()
	s.run(launches)
	silent := func() (found []views.Problem) {
		for _, trouble := range s.core.views.Facts().Problems {
			if trouble.Kind == views.ProblemDaemonSilent {
				found = append(found, trouble)
			}
		}
		return found
	}
	if got := silent(); len(got) != 0 {
		t.Fatalf("it has just begun: %+v", got)
	}
	for range 90 {
		s.after(time.Second)
	}
	got := silent()
	if len(got) != 1 || got[0].Job != "my_job" || got[0].App != "my_app" || got[0].Agent != "S1" ||
		got[0].Count != 2 || !got[0].Why.Is("executor_quiet") ||
		s.wall().Sub(got[0].Since) < time.Minute {
		t.Errorf("after 90 s: %+v", got)
	}
	s.says(launches[0], wire.Report{Time: s.wall()})
	if got := silent(); len(got) != 0 {
		t.Errorf("its executor was heard: %+v", got)
	}
}

package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// TestL6AnAgentWhereTheExecutorFailsIsAvoidedThenTheShardFails lets the executor of a shard fail to start five times.
// After the first failure the agent is avoided for a while, and after the last the shard fails.
func TestL6AnAgentWhereTheExecutorFailsIsAvoidedThenTheShardFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	for i := range 5 {
		s.runFor(time.Minute)
		s.offer("S1", 8, 8192)
		l := s.answerAccepts()
		if len(l) != 1 {
			t.Fatalf("try %d: %d launches, want 1", i+1, len(l))
		}
		s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonContainerLaunchFailed),
			func(u *cluster.Update) { u.Message = "no such file" })
		if i == 0 {
			s.runFor(300 * time.Millisecond)
			s.offer("S1", 8, 8192)
			x := s.explain("my_job")
			if len(s.accepts) > 0 || len(x.Waiting) != 1 ||
				!strings.Contains(x.Waiting[0].Reason, "failed to start there") {
				t.Fatalf("the agent is not avoided, or explain shows another reason: %+v", x)
			}
		}
	}
	if v := s.execution(id); v.State != executions.Failed || !strings.Contains(v.Reason, "no such file") {
		t.Fatalf("after five failures the execution is %+v", v)
	}
}

// TestF8StartFailuresSurviveAChangeOfLeader checks that a new leader knows the start failures of an app on an agent,
// and that a change of the app ends them.
func TestF8StartFailuresSurviveAChangeOfLeader(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(func(c *jobs.Config) { c.ShardingTotalCount = 1 })
	s.trigger()
	for range 4 {
		s.offer("S1", 8, 8000)
		launches := s.answerAccepts()
		if len(launches) != 1 {
			t.Fatalf("%d launches, want 1", len(launches))
		}
		s.update(launches[0], cluster.Failed, fromAgent(cluster.ReasonContainerLaunchFailed))
		s.runFor(10 * time.Second)
	}
	before, _ := s.core.startFailures.Of("my_app", "S1")
	s.restart()
	after, found := s.core.startFailures.Of("my_app", "S1")
	if !found || after.Tries != before.Tries || !after.Since.Equal(before.Since) {
		t.Fatalf("the new leader has the start failures %+v, want %+v", after, before)
	}
	s.apply(s.core.planUpdateApp("my_app",
		func(a app.Config) (app.Config, error) { a.BootstrapScript = "bin/other.sh"; return a, nil }))
	if _, found := s.core.startFailures.Of("my_app", "S1"); found ||
		s.stored["/scheduler/start-failure/my_app@-@S1"] != nil {
		t.Error("a changed app has start failures from before the change")
	}
}

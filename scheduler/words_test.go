package scheduler

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// A run of which all shards finished has no reason, also when its end was asked for meanwhile.
func TestAFinishedRunHasNoReason(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*stage){
		"stop":    func(s *stage) { s.step(Drain{}) },
		"disable": func(s *stage) { s.apply(s.core.planDisableJob("my_job", true)) },
	} {
		s := newStage(t)
		s.app()
		s.job(oneShard)
		id := s.trigger()
		s.offer("S1", 8, 8192)
		l := s.accepted()
		s.run(l)
		end(s)
		s.update(l[0], cluster.Finished)
		if v := s.execution(id); v.State != Finished || v.Reason != "" {
			t.Errorf("%s: %s: %s", name, v.State, v.Reason)
		}
		for _, n := range s.last.Notes {
			if n.Kind == NoteExecutionEnded && n.Detail != "FINISHED" {
				t.Errorf("%s: %s", name, n.Detail)
			}
		}
	}
}

// Shards that can never start together are noted when the job is registered, and the note goes with the shortage.
func TestShardsThatNeverFitTogetherAreNoted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	notes := func() string {
		t.Helper()
		v, err := s.core.Job("my_job")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(v.Notes, "; ")
	}
	s.job(func(j *jobs.Config) { j.ShardingTotalCount = 10_000 })
	if got := notes(); got != "" {
		t.Errorf("no agent was seen yet: %s", got)
	}
	s.offer("S1", 8, 8192)
	s.offer("S2", 4.5, 8192)
	if got := notes(); !strings.Contains(got, "room for 11 of its 10000 shards at once") {
		t.Error(got)
	}
	s.apply(s.core.planUpdateJob("my_job", func(j jobs.Config) (jobs.Config, error) {
		j.ShardingTotalCount = 11
		return j, nil
	}))
	if got := notes(); got != "" {
		t.Error(got)
	}
}

// What is told of a task whose executor ended names the executor, the agent, and where to look.
func TestAnExecutorsEndIsASentence(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	id := s.trigger()
	s.offer("S1", 8, 8192)
	l := s.accepted()
	s.run(l)
	s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated), func(u *cluster.Update) { u.ExecutorID, u.Message = "", "Executor terminated" })
	want := "its executor my_app@-@S1@-@1 on agent S1 ended before the task did (FAILED, REASON_EXECUTOR_TERMINATED: Executor terminated): it was killed, was over a limit, or had a fault; " +
		"its stderr (GET /api/operate/sandbox?appName=my_app) and that agent's log tell more"
	if v := s.execution(id); v.Shards[0].FailureCause != want {
		t.Errorf("%s\nwant %s", v.Shards[0].FailureCause, want)
	}
}

package core

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestE2LostShardRunsAgainOnlyWithFailover checks that a lost shard is launched again with failover, and ends as lost
// without it.
func TestE2LostShardRunsAgainOnlyWithFailover(t *testing.T) {
	t.Parallel()
	for _, failover := range []bool{false, true} {
		t.Run(fmt.Sprintf("failover=%v", failover), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(func(j *jobs.Config) { j.Failover, j.ShardingTotalCount = failover, 1 })
			id, l := s.launch()
			s.reportRunning(l)
			s.update(l[0], cluster.Failed, fromAgent(cluster.ReasonExecutorTerminated))
			v := s.execution(id)
			if !failover {
				if v.State != executions.Failed || v.Shards[0].State != executions.Lost {
					t.Fatalf("the execution is %+v, want it failed with a lost shard", v)
				}
				return
			}
			if v.State != executions.Running || v.Shards[0].State != executions.Waiting {
				t.Fatalf("the execution is %+v, want its shard to wait", v)
			}
			s.runFor(time.Second)
			s.offer("S2", 8, 8192)
			again := s.answerAccepts()
			if len(again) != 1 || !strings.Contains(again[0].TaskID, "@-@FAILOVER@-@S2@-@") {
				t.Fatalf("launched %+v, want one attempt for failover on S2", again)
			}
		})
	}
}

// TestE2LossesWithAgents loses a shard up to six times together with its agent. It is run again each time if agents are
// removed, or if the same machine falls silent. It fails if two different machines fall silent.
func TestE2LossesWithAgents(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		silent bool
		hosts  int
		want   executions.State
	}{
		"six agents are removed":           {false, 6, executions.Running},
		"six machines fall silent":         {true, 6, executions.Failed},
		"a machine falls silent each time": {true, 1, executions.Running},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(oneShard, withFailover)
			id := s.trigger()
			for i := range 6 {
				agent := fmt.Sprint("S", i)
				s.offerCount++
				s.step(s.clusterEvent(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("O", s.offerCount),
					AgentID: agent, Hostname: fmt.Sprint("h", i%test.hosts), Resources: resources.New(8, 8192)}}}))
				l := s.answerAccepts()
				if len(l) == 0 {
					break
				}
				s.reportRunning(l)
				if test.silent {
					s.reportUnreachable(l[0])
				}
				s.step(s.clusterEvent(cluster.Failure{AgentID: agent}))
				s.runFor(time.Minute)
				if !test.silent {
					s.update(l[0], cluster.Gone, fromMaster(cluster.ReasonAgentRemoved))
				}
				s.runFor(2 * time.Minute)
			}
			v := s.execution(id)
			if v.State != test.want {
				t.Fatalf("the execution is %s: %s; want %s", v.State, v.Reason, test.want)
			}
			if v.State == executions.Failed && (v.Shards[0].State != executions.Lost || v.Shards[0].Attempt != 2) {
				t.Errorf("the shard is %+v, want it lost in its second attempt", v.Shards[0])
			}
		})
	}
}

// TestS5AnEndWithoutCauseIsWaitedFor checks that an end that only the master reports, without its cause, does not count
// until the agent has reported the end with the cause.
func TestS5AnEndWithoutCauseIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, reason := range []cluster.Reason{cluster.ReasonReconciliation, cluster.ReasonAgentReregistered} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.job(oneShard)
			id, l := s.launch()
			s.reportRunning(l)
			s.update(l[0], cluster.Failed, fromMaster(reason))
			s.runFor(14 * time.Minute)
			if v := s.execution(id); v.State != executions.Running {
				t.Fatalf("%s before the agent reported the cause: %s", v.State, v.Reason)
			}
			exit := 3
			s.update(l[0], cluster.Failed, func(u *cluster.Update) {
				u.Status = &wire.Status{Cause: "the disk was full", ExitStatus: &exit}
			})
			if v := s.execution(id); v.State != executions.Failed || v.Shards[0].FailureCause != "the disk was full" ||
				*v.Shards[0].ExitStatus != 3 {
				t.Fatalf("after the agent reported the cause: %+v", v)
			}
		})
	}
}

// TestS5AnEndWhoseCauseNeverComesCounts checks that an end without a cause counts after a time in which the agent
// could have reported the cause.
func TestS5AnEndWhoseCauseNeverComesCounts(t *testing.T) {
	t.Parallel()
	for state, want := range map[cluster.State]string{
		cluster.Finished: "",
		cluster.Failed:   "the cluster reported FAILED, and the agent gave no reason",
	} {
		s := newStage(t)
		s.app()
		s.job(oneShard)
		id, l := s.launch()
		s.reportRunning(l)
		s.update(l[0], state, fromMaster(cluster.ReasonReconciliation))
		s.runFor(16 * time.Minute)
		cause := s.core.executions.EndedByID(id).Shard(0).Cause()
		if v := s.execution(id); (v.State == executions.Finished) != (state == cluster.Finished) ||
			cause.String() != want {
			t.Errorf("%s: the cause is %q, %+v", state, cause, v)
		}
	}
}

// TestATimeThatJSONCannotHoldIsReplaced checks that an update with a time that JSON can't hold is stored with the
// present time. Otherwise the next leader would lose the execution.
func TestATimeThatJSONCannotHoldIsReplaced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard)
	l := s.startWithCPUs(8)
	s.update(l[0], cluster.Running, func(u *cluster.Update) { u.Timestamp = time.Unix(1e12, 0) })
	s.restart()
	s.runFor(time.Minute)
	s.update(l[0], cluster.Finished)
	if n := s.core.executions.NumOpen(); n != 0 {
		t.Errorf("%d executions are open after the end of the only task", n)
	}
}

// TestLongCausesKeepTheirBeginningAndTheirEnd checks that Shorten cuts the middle of a long cause, and replaces control
// characters there. It returns a short cause unchanged.
func TestLongCausesKeepTheirBeginningAndTheirEnd(t *testing.T) {
	t.Parallel()
	long := "ended by signal 9; end of stderr:\n" + strings.Repeat("é\x01", 5000) + "out of luck"
	got := store.Shorten(long)
	if !strings.HasPrefix(got, "ended by signal 9; end of stderr:\né") || !strings.HasSuffix(got, "é?out of luck") ||
		!strings.Contains(got, "…") || len(got) > store.CauseBytes+len("…") || !utf8.ValidString(got) {
		t.Errorf("shortened to %d bytes: %s", len(got), got)
	}
	if got := store.Shorten("exit status 1\t\n"); got != "exit status 1\t\n" {
		t.Errorf("a short cause becomes %q", got)
	}
}

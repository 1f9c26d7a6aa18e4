package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// The tasks of a removed framework may still run, because Mesos reports them as ended before their agents have ended
// them.

// TestT7TheShardsOfARemovedFrameworkWait checks how long the shard of a removed framework's task waits, depending on
// what the master answers about the agent of the task.
func TestT7TheShardsOfARemovedFrameworkWait(t *testing.T) {
	t.Parallel()
	wait := step.DefaultOptions().RemovedWait + step.DefaultOptions().KillGrace
	for _, tt := range []struct {
		name     string
		failover bool
		answer   cluster.State // of the master, about the agent of the first task
		earliest time.Duration // of the next launch; 0 for never
	}{
		{"its agent is registered", false, cluster.Gone, wait},
		{"its agent is registered, failover", true, cluster.Gone, wait},
		{"its agent is away", false, cluster.Unreachable, time.Minute},
		{"its agent is away, failover", true, cluster.Unreachable, time.Minute},
		{"the master is silent about its agent", false, "", 0},
		{"the master is silent about its agent, failover", true, "", 0},
		{"its agent is marked as gone", false, cluster.GoneByOperator, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.runJobOn("S1", func(j *jobs.Config) { j.Failover = tt.failover })
			s.removeFramework()
			if !tt.failover {
				s.trigger() // the execution has failed, and the shard of the next one waits for the orphan
			}
			after, launched := s.launchedWithin(15*time.Minute, "S1", tt.answer)
			switch {
			case launched != (tt.earliest > 0):
				t.Errorf("launched: %v, want %v", launched, tt.earliest > 0)
			case launched && (after < tt.earliest || after > tt.earliest+45*time.Second):
				t.Errorf("launched after %s, want %s or a little more", after, tt.earliest)
			}
		})
	}
}

// TestT7AnUnreachableTaskOfARemovedFrameworkStillHoldsItsShard checks a task that was unreachable for a minute before
// its framework was removed. Its shard must wait only for the rest of the job's two minutes (rule E4).
func TestT7AnUnreachableTaskOfARemovedFrameworkStillHoldsItsShard(t *testing.T) {
	t.Parallel()
	for _, failover := range []bool{true, false} {
		s := newStage(t)
		l := s.runJobOn("S1", func(j *jobs.Config) { j.Failover, j.UnreachableSeconds = failover, 120 })
		s.step(s.clusterEvent(cluster.Update{TaskID: l.TaskID, AgentID: "S1", State: cluster.Unreachable,
			Source: cluster.FromMaster, UnreachableSince: s.now}))
		s.runFor(time.Minute)
		s.removeFramework()
		if !failover {
			s.trigger()
		}
		after, launched := s.launchedWithin(10*time.Minute, "S1", cluster.Unreachable)
		if !launched || after < 50*time.Second || after > 90*time.Second {
			t.Errorf("failover %v: launched %v after %s, want the rest of its 2 minutes", failover, launched, after)
		}
	}
}

// TestT7ANewMasterMayKnowNothingOfTheRemoval checks that after a change of master nothing is launched beside the orphan
// of a removed framework, until an operator confirms that it has ended. Mesos does not store removals, so an agent that
// was away learns of one only from the master that carried it out.
func TestT7ANewMasterMayKnowNothingOfTheRemoval(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJobOn("S1", func(*jobs.Config) {})
	s.removeFramework()
	s.trigger()
	s.runFor(10 * time.Second)
	s.answerAboutAgent("S1", cluster.Gone)
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "the master is gone"})
	s.runFor(time.Second)
	s.step(SessionBegan{Session: s.core.subscription.Number(), MasterID: "master-2"})
	if _, launched := s.launchedWithin(10*time.Minute, "S1", cluster.Gone); launched {
		t.Fatal("launched beside a task that may still run")
	}
	if x := s.explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "the present master has no record of it") ||
		!strings.Contains(x.Waiting[0].Reason, "/forget") {
		t.Errorf("explain shows %+v", x)
	}
	s.step(Request{Token: 3, Event: operator.ForgetRequested{TaskID: l.TaskID}})
	if _, launched := s.launchedWithin(time.Minute, "S1", ""); !launched {
		t.Error("not launched after an operator confirmed the end of the task")
	}
}

// TestT7TheWaitStartsAgainIfTheAgentWasAwayMeanwhile checks that the wait for a removed framework's task starts again
// if its agent was unreachable meanwhile, or if nothing was heard of the agent for a long time.
func TestT7TheWaitStartsAgainIfTheAgentWasAwayMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runJobOn("S1", func(*jobs.Config) {})
	s.removeFramework()
	s.runFor(10 * time.Second)
	for _, state := range []cluster.State{cluster.Gone, cluster.Gone, cluster.Gone, cluster.Gone, cluster.Gone,
		cluster.Unreachable, cluster.Gone} {
		s.answerAboutAgent("S1", state)
		s.runFor(20 * time.Second)
	}
	s.answerAboutAgent("S1", cluster.Gone)
	s.runFor(3 * time.Minute)
	s.answerAboutAgent("S1", cluster.Gone)
	if s.core.orphans.Len() != 1 {
		t.Error("the orphan is gone although its agent was not registered for long enough at a stretch")
	}
}

// TestT7OnlyTheMasterThatRemovedTheFrameworkProvesTheEnd checks that only the master that removed the framework can
// prove that its tasks have ended. After a change of master nothing is launched.
func TestT7OnlyTheMasterThatRemovedTheFrameworkProvesTheEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.runJobOn("S1", func(*jobs.Config) {})
	s.step(SessionEnded{Session: s.core.subscription.Number(), Removed: true, Reason: "Framework has been removed"})
	s.trigger()
	for len(calls[step.CallSubscribe](s.last)) == 0 {
		s.stepAfter(time.Second)
	}
	// The new master does not know of the removal.
	s.step(SessionBegan{Session: calls[step.CallSubscribe](s.last)[0].Session, MasterID: "master-2"})
	if after, launched := s.launchedWithin(15*time.Minute, "S1", cluster.Gone); launched {
		t.Errorf("launched after %s because of the answers of another master", after)
	}
}

// removeFramework makes the master remove the framework, and subscribes with a new framework id.
func (s *stage) removeFramework() {
	s.t.Helper()
	s.step(SessionEnded{Session: s.core.subscription.Number(), Removed: true, Reason: "Framework has been removed"})
	for range 10 {
		if len(calls[step.CallSubscribe](s.last)) > 0 {
			s.answerSubscribe()
			return
		}
		s.stepAfter(time.Second)
	}
	s.t.Fatal("the core does not subscribe again")
}

// answerAboutAgent makes the master answer the question whether an agent is registered.
func (s *stage) answerAboutAgent(agent string, state cluster.State) {
	s.t.Helper()
	question := s.core.agents.GetOrAdd(agent).Question()
	if question == "" {
		s.t.Fatalf("the core asks nothing about agent %s", agent)
	}
	s.step(s.clusterEvent(cluster.Update{TaskID: question, AgentID: agent, State: state, Source: cluster.FromMaster,
		Reason: cluster.ReasonReconciliation}))
}

// launchedWithin offers agent S2 every 10 s until something is launched, for at most the duration d. Meanwhile the
// master answers the questions about another agent, unless answer is "". It returns how long the launch took.
func (s *stage) launchedWithin(d time.Duration, agent string, answer cluster.State) (after time.Duration,
	launched bool) {
	s.t.Helper()
	for begin := s.now; s.now.Sub(begin) < d; {
		s.runFor(10 * time.Second)
		if answer != "" && s.core.agents.GetOrAdd(agent).Question() != "" {
			s.answerAboutAgent(agent, answer)
		}
		s.offer("S2", 4, 1000)
		if len(s.answerAccepts()) > 0 {
			return s.now.Sub(begin), true
		}
	}
	return 0, false
}

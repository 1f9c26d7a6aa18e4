package core

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestRemovedTasksMayStillEnd checks that the next attempt waits as long as a task that was removed from the cluster
// may take to end on its agent.
func TestRemovedTasksMayStillEnd(t *testing.T) {
	t.Parallel()
	for name, removed := range map[string]func(*cluster.Update){
		"reported by a watch": func(u *cluster.Update) {
			u.State, u.Source, u.Reason, u.UUID = cluster.GoneByOperator, cluster.FromMaster,
				cluster.ReasonTaskRemoved, nil
		},
		"reported in an answer": func(u *cluster.Update) {
			u.State, u.Source, u.Reason, u.UUID = cluster.Gone, cluster.FromMaster, cluster.ReasonReconciliation, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStageOfTaskExecutors(t)
			s.app()
			s.job(oneShard, withFailover)
			id := s.trigger()
			offer := cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)}
			s.offerAgent(offer)
			l := s.answerAccepts()[0]
			s.update(l, cluster.Running)
			s.update(l, cluster.Running, removed)
			s.runFor(s.opt.KillGrace + executions.RefusedTimeout - time.Second)
			offer.AgentID = "n2"
			s.offerAgent(offer)
			if len(s.answerAccepts()) > 0 {
				t.Fatal("the next attempt begins while the first may live")
			}
			if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why, "tried again at") {
				t.Errorf("it waits because %s", why)
			}
			s.runFor(2 * time.Second)
			s.offerAgent(offer)
			if len(s.answerAccepts()) != 1 {
				t.Errorf("%+v", s.execution(id).Shards[0])
			}
		})
	}
}

// TestRemovedTasksMayStillEndWhereTheyAreNotRunAgain checks that without failover, the next execution of the job waits
// until the removed task must have ended.
func TestRemovedTasksMayStillEndWhereTheyAreNotRunAgain(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard)
	s.trigger()
	offer := cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)}
	s.offerAgent(offer)
	l := s.answerAccepts()[0]
	s.update(l, cluster.Running)
	removed := func(u *cluster.Update) {
		u.State, u.Source, u.Reason, u.UUID = cluster.GoneByOperator, cluster.FromMaster, cluster.ReasonTaskRemoved,
			nil
	}
	s.update(l, cluster.Running, removed)
	id := s.trigger()
	s.update(l, cluster.Running, removed) // the cluster answers every question so
	s.runFor(s.opt.KillGrace + executions.RefusedTimeout - time.Second)
	offer.AgentID = "n2"
	s.offerAgent(offer)
	if len(s.answerAccepts()) > 0 {
		t.Fatal("the next execution begins while the attempt of the last one may live")
	}
	if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why,
		"was removed from the cluster, and may still be ending") {
		t.Errorf("it waits because %s", why)
	}
	s.runFor(step.SweepInterval + 2*time.Second)
	s.offerAgent(offer)
	if len(s.answerAccepts()) != 1 {
		t.Errorf("%+v", s.execution(id).Shards[0])
	}
}

// TestE5AnAbandonedPodIsDeletedFirst checks a cluster that stores kills for unreachable agents: an abandoned attempt
// is killed at once, and its shard starts elsewhere only once the cluster has confirmed that the kill is stored. The
// abandoned attempt then never begins.
func TestE5AnAbandonedPodIsDeletedFirst(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard, withFailover)
	s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(4, 1000)})
	l := s.answerAccepts()[0]
	away, since := fromMaster(""), s.now
	unreachable := func(killStored bool) Decision {
		return s.update(l, cluster.Unreachable, away, func(u *cluster.Update) {
			u.UnreachableSince, u.KillStored = since, killStored
		})
	}
	launchesElsewhere := func() int {
		s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(4, 1000)})
		return len(s.accepts)
	}
	kills := func(d Decision) int { return len(calls[step.CallKill](d)) }
	unreachable(false)
	for s.core.orphans.Len() == 0 {
		if kills(s.stepAfter(5*time.Second)) > 0 && s.core.orphans.Len() == 0 {
			t.Fatal("it is killed before it is abandoned")
		}
	}
	if kills(s.last) != 1 {
		t.Errorf("%d kills when it is abandoned, want 1", kills(s.last))
	}
	if launchesElsewhere() > 0 {
		t.Fatal("launched before the kill is stored")
	}
	if x := s.explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "has not confirmed its kill yet") {
		t.Errorf("%+v", x.Waiting)
	}
	questions := 0
	for range 60 {
		for _, r := range calls[step.CallReconcile](s.stepAfter(time.Second)) {
			questions += len(r.Tasks)
		}
	}
	if questions < 3 {
		t.Errorf("asked about it %d times in a minute", questions)
	}
	if kills(unreachable(false)) != 1 {
		t.Error("a kill that is not stored is not sent again")
	}
	s.restart()
	if unreachable(false); launchesElsewhere() > 0 {
		t.Fatal("launched by the next leader before the kill is stored")
	}
	if kills(unreachable(true)) > 0 || launchesElsewhere() != 1 {
		t.Errorf("%d launches once the kill is stored", len(s.accepts))
	}
}

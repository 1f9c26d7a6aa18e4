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

// TestRemovedTasksMayStillEnd checks that after a task was removed from the cluster, the next attempt waits for as long
// as the task may take to end on its agent.
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
				t.Fatal("the next attempt is launched while the removed task may still run")
			}
			if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why, "tried again at") {
				t.Errorf("the next attempt waits because %s", why)
			}
			s.runFor(2 * time.Second)
			s.offerAgent(offer)
			if len(s.answerAccepts()) != 1 {
				t.Errorf("the next attempt is not launched: %+v", s.execution(id).Shards[0])
			}
		})
	}
}

// TestRemovedTasksMayStillEndWithoutFailover checks that without failover, the next execution of the job waits
// for as long as the removed task may take to end.
func TestRemovedTasksMayStillEndWithoutFailover(t *testing.T) {
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
	s.update(l, cluster.Running, removed) // the cluster gives the same answer to every question
	s.runFor(s.opt.KillGrace + executions.RefusedTimeout - time.Second)
	offer.AgentID = "n2"
	s.offerAgent(offer)
	if len(s.answerAccepts()) > 0 {
		t.Fatal("the next execution is launched while the removed task may still run")
	}
	if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why,
		"was removed from the cluster, and may still be ending") {
		t.Errorf("the next execution waits because %s", why)
	}
	s.runFor(step.SweepInterval + 2*time.Second)
	s.offerAgent(offer)
	if len(s.answerAccepts()) != 1 {
		t.Errorf("the next execution is not launched: %+v", s.execution(id).Shards[0])
	}
}

// TestE5AnAbandonedPodIsDeletedFirst checks a cluster that stores kills for unreachable agents. An abandoned attempt
// must be killed at once, and its shard launched on another agent only after the cluster has confirmed that the kill is
// stored. The abandoned attempt can then no longer begin.
func TestE5AnAbandonedPodIsDeletedFirst(t *testing.T) {
	t.Parallel()
	s := newStageOfTaskExecutors(t)
	s.app()
	s.job(oneShard, withFailover)
	s.trigger()
	s.offerAgent(cluster.Offer{AgentID: "n1", Resources: resources.New(4, 1000)})
	l := s.answerAccepts()[0]
	since := s.now
	reportUnreachable := func(killStored bool) Decision {
		return s.update(l, cluster.Unreachable, fromMaster(""), func(u *cluster.Update) {
			u.UnreachableSince, u.KillStored = since, killStored
		})
	}
	launchesElsewhere := func() int {
		s.offerAgent(cluster.Offer{AgentID: "n2", Resources: resources.New(4, 1000)})
		return len(s.accepts)
	}
	kills := func(d Decision) int { return len(calls[step.CallKill](d)) }
	reportUnreachable(false)
	for s.core.orphans.Len() == 0 {
		if kills(s.stepAfter(5*time.Second)) > 0 && s.core.orphans.Len() == 0 {
			t.Fatal("the attempt is killed before it is abandoned")
		}
	}
	if kills(s.last) != 1 {
		t.Errorf("%d kills when the attempt is abandoned, want 1", kills(s.last))
	}
	if launchesElsewhere() > 0 {
		t.Fatal("launched before the kill is stored")
	}
	if x := s.explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "has not confirmed its kill yet") {
		t.Errorf("explain shows %+v", x.Waiting)
	}
	questions := 0
	for range 60 {
		for _, r := range calls[step.CallReconcile](s.stepAfter(time.Second)) {
			questions += len(r.Tasks)
		}
	}
	if questions < 3 {
		t.Errorf("the cluster is asked about the attempt %d times in a minute", questions)
	}
	if kills(reportUnreachable(false)) != 1 {
		t.Error("a kill that is not stored is not sent again")
	}
	s.restart()
	if reportUnreachable(false); launchesElsewhere() > 0 {
		t.Fatal("the next leader launches the shard before the kill is stored")
	}
	if kills(reportUnreachable(true)) > 0 || launchesElsewhere() != 1 {
		t.Errorf("%d launches after the kill is stored, want 1", len(s.accepts))
	}
}

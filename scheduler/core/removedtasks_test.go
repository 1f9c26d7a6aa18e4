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

// A task that was removed from the cluster is ending, if its agent lives. The next attempt waits for as long as that
// may take.
func TestRemovedTasksMayStillEnd(t *testing.T) {
	t.Parallel()
	for name, removed := range map[string]func(*cluster.Update){
		"while it is watched": func(u *cluster.Update) {
			u.State, u.Source, u.Reason, u.UUID = cluster.GoneByOperator, cluster.FromMaster,
				cluster.ReasonTaskRemoved, nil
		},
		"while nobody watches": func(u *cluster.Update) {
			u.State, u.Source, u.Reason, u.UUID = cluster.Gone, cluster.FromMaster, cluster.ReasonReconciliation, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := own(t)
			s.app()
			s.job(oneShard, withFailover)
			id := s.trigger()
			offer := cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)}
			s.offers(offer)
			l := s.accepted()[0]
			s.update(l, cluster.Running)
			s.update(l, cluster.Running, removed)
			s.until(s.opt.KillGrace + executions.RefusedTimeout - time.Second)
			offer.AgentID = "n2"
			s.offers(offer)
			if len(s.accepted()) > 0 {
				t.Fatal("the next attempt begins while the first may live")
			}
			if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why, "tried again at") {
				t.Errorf("it waits because %s", why)
			}
			s.until(2 * time.Second)
			s.offers(offer)
			if len(s.accepted()) != 1 {
				t.Errorf("%+v", s.execution(id).Shards[0])
			}
		})
	}
}

// If its shard is not run again, the next execution of its job waits for that.
func TestRemovedTasksMayStillEndWhereTheyAreNotRunAgain(t *testing.T) {
	t.Parallel()
	s := own(t)
	s.app()
	s.job(oneShard)
	s.trigger()
	offer := cluster.Offer{AgentID: "n1", Resources: resources.New(8, 8000)}
	s.offers(offer)
	l := s.accepted()[0]
	s.update(l, cluster.Running)
	removed := func(u *cluster.Update) {
		u.State, u.Source, u.Reason, u.UUID = cluster.GoneByOperator, cluster.FromMaster, cluster.ReasonTaskRemoved,
			nil
	}
	s.update(l, cluster.Running, removed)
	id := s.trigger()
	s.update(l, cluster.Running, removed) // as the cluster answers every question
	s.until(s.opt.KillGrace + executions.RefusedTimeout - time.Second)
	offer.AgentID = "n2"
	s.offers(offer)
	if len(s.accepted()) > 0 {
		t.Fatal("the next execution begins while the attempt of the last one may live")
	}
	if why := s.explain("my_job").Waiting[0].Reason; !strings.Contains(why,
		"was removed from the cluster, and may still be ending") {
		t.Errorf("it waits because %s", why)
	}
	s.until(step.SweepInterval + 2*time.Second)
	s.offers(offer)
	if len(s.accepted()) != 1 {
		t.Errorf("%+v", s.execution(id).Shards[0])
	}
}

// TestE5AnAbandonedPodIsDeletedFirst: where the cluster keeps kills for agents that are away, an abandoned attempt is
// killed at once, and its shard starts elsewhere only when the kill is known to be kept, so that the attempt never
// begins there.
func TestE5AnAbandonedPodIsDeletedFirst(t *testing.T) {
	t.Parallel()
	s := own(t)
	s.app()
	s.job(oneShard, withFailover)
	s.trigger()
	s.offers(cluster.Offer{AgentID: "n1", Resources: resources.New(4, 1000)})
	l := s.accepted()[0]
	away, since := fromMaster(""), s.now
	unreachable := func(kept bool) Decision {
		return s.update(l, cluster.Unreachable, away, func(u *cluster.Update) {
			u.UnreachableSince, u.KillStored = since, kept
		})
	}
	elsewhere := func() int {
		s.offers(cluster.Offer{AgentID: "n2", Resources: resources.New(4, 1000)})
		return len(s.accepts)
	}
	kills := func(d Decision) int { return len(calls[step.CallKill](d)) }
	unreachable(false)
	for s.core.orphans.Len() == 0 {
		if kills(s.after(5*time.Second)) > 0 && s.core.orphans.Len() == 0 {
			t.Fatal("it is killed before it is given up")
		}
	}
	if kills(s.last) != 1 {
		t.Errorf("%d kills as it is given up, want 1", kills(s.last))
	}
	if elsewhere() > 0 {
		t.Fatal("launched before the kill is known to be kept")
	}
	if x := s.explain("my_job"); !strings.Contains(x.Waiting[0].Reason, "has not confirmed its kill yet") {
		t.Errorf("%+v", x.Waiting)
	}
	asked := 0
	for range 60 {
		for _, r := range calls[step.CallReconcile](s.after(time.Second)) {
			asked += len(r.Tasks)
		}
	}
	if asked < 3 {
		t.Errorf("asked about %d times in a minute", asked)
	}
	if kills(unreachable(false)) != 1 {
		t.Error("a kill that is not kept is not sent again")
	}
	s.restart()
	if unreachable(false); elsewhere() > 0 {
		t.Fatal("launched by the next leader before the kill is known to be kept")
	}
	if kills(unreachable(true)) > 0 || elsewhere() != 1 {
		t.Errorf("%d launches when it is kept", len(s.accepts))
	}
}

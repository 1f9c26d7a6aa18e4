package core

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// BenchmarkRenewLeases measures a request of one of 100 executors for the leases of its 100 exclusive tasks, from the
// body that has arrived to the body that leaves. An executor sends one every five seconds.
func BenchmarkRenewLeases(b *testing.B) {
	const agents, tasks = 100, 100
	s := newStage(b)
	s.app()
	s.job(func(j *jobs.Config) {
		j.ShardingTotalCount, j.CPUCount, j.MemoryMB, j.Exclusive = agents*tasks, 1, 1, true
	})
	s.trigger()
	var offers []cluster.Offer
	for i := range agents {
		id := fmt.Sprint("S", i)
		offers = append(offers, cluster.Offer{ID: "O" + id, AgentID: id, Hostname: id,
			Resources: resources.New(tasks+1, 1_000_000)})
	}
	s.step(s.clusterEvent(cluster.Offers{Offers: offers}))
	keys, requests := map[string]string{}, map[string]*lease.Request{}
	var holders []string
	for _, l := range s.answerAccepts() {
		s.update(l, cluster.Running, func(u *cluster.Update) { u.AgentID = agentOf(l) })
		g := l.Task.Lease
		if requests[g.Holder] == nil {
			holders = append(holders, g.Holder)
			keys[g.Holder], requests[g.Holder] = g.Key, &lease.Request{Holder: g.Holder, Start: 1, Term: s.opt.Term}
		}
		requests[g.Holder].Tasks = append(requests[g.Holder].Tasks, l.TaskID)
	}
	if len(holders) != agents {
		b.Fatalf("%d executors", len(holders))
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		holder := holders[i%agents]
		requests[holder].Number++
		arrived := requests[holder].Seal(keys[holder])
		b.StartTimer()
		r, err := arrived.OpenRequest(lease.Key(s.core.st.Leases.Secret(), holder))
		if err != nil {
			b.Fatal(err)
		}
		d := s.core.Step(s.clocks(), s.rnd, []Event{Request{Token: 1, Event: LeaseRequested{Request: r}}})
		a := d.Replies[0].Lease
		if len(a.Granted) != tasks || i >= agents && len(d.Writes) > 0 {
			b.Fatalf("%d granted, %d writes", len(a.Granted), len(d.Writes))
		}
		a.Seal(holder, keys[holder])
	}
}

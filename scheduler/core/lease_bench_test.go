package core

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// BenchmarkRenewLeases measures how long it takes to answer the request of an executor for the leases of its 100
// exclusive tasks, from the sealed request to the sealed answer. There are 100 such executors, and each sends a request
// every five seconds.
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
		holder := l.Task.Lease.Holder
		if requests[holder] == nil {
			holders = append(holders, holder)
			keys[holder] = l.Task.Lease.Key
			requests[holder] = &lease.Request{Holder: holder, Start: 1, Term: s.opt.Term}
		}
		requests[holder].Tasks = append(requests[holder].Tasks, l.TaskID)
	}
	if len(holders) != agents {
		b.Fatalf("%d executors, want %d", len(holders), agents)
	}
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		holder := holders[i%agents]
		requests[holder].Number++
		sealed := requests[holder].Seal(keys[holder])
		b.StartTimer()
		r, err := sealed.OpenRequest(lease.Key(s.core.st.Leases.Secret(), holder))
		if err != nil {
			b.Fatal(err)
		}
		d := s.core.Step(s.clocks(), s.rnd, []Event{Request{Token: 1, Event: LeaseRequested{Request: r}}})
		answer := d.Replies[0].Lease
		// Only the first request of an executor may lead to a write, because it shows that the executor is alive.
		if len(answer.Granted) != tasks || i >= agents && len(d.Writes) > 0 {
			b.Fatalf("%d leases granted, %d writes", len(answer.Granted), len(d.Writes))
		}
		answer.Seal(holder, keys[holder])
	}
}

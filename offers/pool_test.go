package offers_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func offer(id, agent, host string, cpus, memory float64, age time.Duration) offers.Offer {
	return offers.Offer{ID: id, Agent: agent, Host: host, Free: resources.New(cpus, memory), Received: noon.Add(-age)}
}

func filled(all ...offers.Offer) *offers.Pool {
	p := offers.NewPool()
	for _, o := range all {
		p.Add(o)
	}
	return p
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	// Two agents on one host remain two [D57].
	o1 := offer("o1", "S2", "h1", 1, 512, time.Minute)
	o2 := offer("o2", "S1", "h1", 2, 1024, time.Second)
	o3 := offer("o3", "S2", "h1", 0.5, 64, 0)
	p := filled(o3, o1, o2)
	same(t, "agents", p.Agents(), []offers.Agent{
		{ID: "S1", Host: "h1", Free: resources.New(2, 1024)},
		{ID: "S2", Host: "h1", Free: resources.New(1.5, 576)},
	})
	same(t, "offers", p.Len(), 3)
	same(t, "old", p.OlderThan(noon), []offers.Offer{o2, o1})
	same(t, "agents without the old", p.Agents(), []offers.Agent{{ID: "S2", Host: "h1", Free: resources.New(0.5, 64)}})
	p.Add(o1)
	same(t, "taken", p.TakeAgent("S2"), []offers.Offer{o1, o3})
	same(t, "taken again", p.TakeAgent("S2"), []offers.Offer(nil))
	same(t, "offers of no agent", p.Len(), 0)
	p.Add(o1)
	same(t, "removed", p.TakeAgent("S2"), []offers.Offer{o1})

	p.Add(o1)
	again := o1
	again.Agent, again.Free = "S3", resources.New(4, 4)
	p.Add(again)
	same(t, "an id has one offer", p.Agents(), []offers.Agent{{ID: "S3", Host: "h1", Free: resources.New(4, 4)}})
	o, there := p.Rescind("o1")
	same(t, "rescinded", o, again)
	same(t, "it was there", there, true)
	if _, there := p.Rescind("o1"); there {
		t.Error("an offer was rescinded twice")
	}
	p.Add(o2)
	p.Clear()
	same(t, "after clear", p.Agents(), []offers.Agent(nil))
	p.Add(o2)
	same(t, "clear is not the end", p.Len(), 1)
	same(t, "an empty pool", offers.NewPool().OlderThan(noon), []offers.Offer(nil))
}

// TestPoolAgreesWithAList makes random calls and compares the pool with a plain list of offers.
func TestPoolAgreesWithAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := offers.NewPool()
		held := map[string]offers.Offer{}
		remove := func(what func(offers.Offer) bool) (n int) {
			for id, o := range held {
				if what(o) {
					delete(held, id)
					n++
				}
			}
			return n
		}
		id := rapid.StringMatching("o[0-9]")
		agent := rapid.StringMatching("S[0-3]")
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				o := offer(id.Draw(t, "id"), agent.Draw(t, "agent"), "h", 0,
					float64(rapid.IntRange(0, 9).Draw(t, "memory")),
					time.Duration(rapid.IntRange(0, 9).Draw(t, "age")))
				pool.Add(o)
				held[o.ID] = o
			},
			"rescind": func(t *rapid.T) {
				gone := id.Draw(t, "id")
				o, there := pool.Rescind(gone)
				if want, held := held[gone]; there != held || !cmp.Equal(o, want) {
					t.Fatalf("rescinded %v, %v, want %v, %v", o, there, want, held)
				}
				delete(held, gone)
			},
			"take": func(t *rapid.T) {
				a := agent.Draw(t, "agent")
				if got, want := len(pool.TakeAgent(a)),
					remove(func(o offers.Offer) bool { return o.Agent == a }); got != want {
					t.Fatalf("took %d, want %d", got, want)
				}
			},
			"older": func(t *rapid.T) {
				limit := noon.Add(-time.Duration(rapid.IntRange(0, 9).Draw(t, "age")))
				if got, want := len(pool.OlderThan(limit)),
					remove(func(o offers.Offer) bool { return o.Received.Before(limit) }); got != want {
					t.Fatalf("%d were older, want %d", got, want)
				}
			},
			"": func(t *rapid.T) {
				sums := map[string]resources.Amount{}
				for _, o := range held {
					sums[o.Agent] = sums[o.Agent].Plus(o.Free)
				}
				got := map[string]resources.Amount{}
				last := ""
				for _, a := range pool.Agents() {
					if a.ID <= last {
						t.Fatalf("%s comes after %s", a.ID, last)
					}
					last = a.ID
					got[a.ID] = a.Free
				}
				if diff := cmp.Diff(sums, got); diff != "" || pool.Len() != len(held) {
					t.Fatalf("%d offers, want %d; agents (-want +got):\n%s", pool.Len(), len(held), diff)
				}
			},
		})
	})
}

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

// poolOf returns a pool with some offers.
func poolOf(all ...offers.Offer) *offers.Pool {
	p := offers.NewPool()
	for _, o := range all {
		p.Add(o)
	}
	return p
}

// checkSame checks that two values are equal.
func checkSame(t *testing.T, what string, got, want any) {
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
	p := poolOf(o3, o1, o2)
	checkSame(t, "agents", p.Agents(), []offers.Agent{
		{ID: "S1", Host: "h1", Free: resources.New(2, 1024)},
		{ID: "S2", Host: "h1", Free: resources.New(1.5, 576)},
	})
	checkSame(t, "offers", p.Len(), 3)
	checkSame(t, "old", p.OlderThan(noon), []offers.Offer{o2, o1})
	checkSame(t, "agents without the old", p.Agents(),
		[]offers.Agent{{ID: "S2", Host: "h1", Free: resources.New(0.5, 64)}})
	p.Add(o1)
	checkSame(t, "taken", p.TakeAgent("S2"), []offers.Offer{o1, o3})
	checkSame(t, "taken again", p.TakeAgent("S2"), []offers.Offer(nil))
	checkSame(t, "offers of no agent", p.Len(), 0)
	p.Add(o1)
	checkSame(t, "removed", p.TakeAgent("S2"), []offers.Offer{o1})

	p.Add(o1)
	replacement := o1
	replacement.Agent, replacement.Free = "S3", resources.New(4, 4)
	p.Add(replacement)
	checkSame(t, "an id has one offer", p.Agents(), []offers.Agent{{ID: "S3", Host: "h1", Free: resources.New(4, 4)}})
	o, existed := p.Rescind("o1")
	checkSame(t, "rescinded", o, replacement)
	checkSame(t, "it existed", existed, true)
	if _, existed := p.Rescind("o1"); existed {
		t.Error("an offer was rescinded twice")
	}
	p.Add(o2)
	p.Clear()
	checkSame(t, "after clear", p.Agents(), []offers.Agent(nil))
	p.Add(o2)
	checkSame(t, "an offer after clear", p.Len(), 1)
	checkSame(t, "an empty pool", offers.NewPool().OlderThan(noon), []offers.Offer(nil))
}

// TestPoolAgreesWithAList makes random calls and compares the pool with a plain list of offers.
func TestPoolAgreesWithAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := offers.NewPool()
		held := map[string]offers.Offer{}
		remove := func(matches func(offers.Offer) bool) (n int) {
			for id, o := range held {
				if matches(o) {
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
				rescinded := id.Draw(t, "id")
				o, existed := pool.Rescind(rescinded)
				if want, held := held[rescinded]; existed != held || !cmp.Equal(o, want) {
					t.Fatalf("rescinded %v, %v, want %v, %v", o, existed, want, held)
				}
				delete(held, rescinded)
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

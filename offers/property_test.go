package offers_test

import (
	stdcmp "cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

// situation is an input of Match. Sizes are small, so that placements often reach limits.
type situation struct {
	demands  []offers.Demand
	agents   []offers.Agent
	strategy offers.Strategy
}

func size(limit int64) *rapid.Generator[resources.Amount] {
	return rapid.Custom(func(t *rapid.T) resources.Amount {
		return resources.Amount{CPUMilli: rapid.Int64Range(0, limit).Draw(t, "cpu"),
			MemMilli: rapid.Int64Range(0, limit).Draw(t, "memory")}
	})
}

var situations = rapid.Custom(func(t *rapid.T) (s situation) {
	executors := []string{"a@-@1", "a@-@2", "b@-@1"}
	// An executor has the same size on all agents, as in a real cluster.
	sizes := rapid.SliceOfN(size(4), len(executors), len(executors)).Draw(t, "executors")
	oneIn := func(n int, what string) bool { return rapid.IntRange(1, n).Draw(t, what) == n }
	for i := range rapid.IntRange(0, 6).Draw(t, "agents") {
		a := offers.Agent{ID: fmt.Sprintf("S%d", i), Host: fmt.Sprintf("h%d", i%2), Free: size(12).Draw(t, "free"),
			Executors: map[string]bool{}}
		for _, executor := range executors {
			if oneIn(4, "has executor") {
				a.Executors[executor] = rapid.Bool().Draw(t, "takes tasks")
			}
		}
		if oneIn(6, "is reserved") {
			a.ReservedFor = rapid.SampledFrom([]string{"e0", "e1", "elsewhere"}).Draw(t, "reserved for")
		}
		if !oneIn(5, "has unknown capacity") {
			a.Capacity = size(14).Draw(t, "capacity")
		}
		if oneIn(3, "takes few tasks") {
			a.MaxTasks = rapid.IntRange(1, 4).Draw(t, "most tasks")
		}
		s.agents = append(s.agents, a)
	}
	s.agents = rapid.Permutation(s.agents).Draw(t, "order")
	for i := range rapid.IntRange(0, 6).Draw(t, "demands") {
		executor := rapid.IntRange(0, len(executors)-1).Draw(t, "executor")
		d := offers.Demand{
			ID: fmt.Sprintf("e%d", i), App: executors[executor][:1], Together: rapid.Bool().Draw(t, "together"),
			Shard: size(4).Draw(t, "shard"), Executor: executors[executor], ExecutorSize: sizes[executor],
			Avoid: map[string]reason.Reason{},
		}
		if oneIn(6, "is huge") {
			d.Shard = size(20).Draw(t, "huge shard")
		}
		for item := range rapid.IntRange(0, 6).Draw(t, "items") {
			d.Items = append(d.Items, item*2)
		}
		for _, a := range s.agents {
			if oneIn(6, "avoids") {
				d.Avoid[a.ID] = reason.FromText("bad luck with " + a.ID)
			}
		}
		s.demands = append(s.demands, d)
	}
	s.strategy = rapid.SampledFrom([]offers.Strategy{offers.Pack, offers.Spread}).Draw(t, "strategy")
	return s
})

// ledger is the state of an agent in the simplest form, to compare decisions of Match with it.
type ledger struct {
	*offers.Agent
	left    resources.Amount
	slots   int             // the number of further tasks
	running map[string]bool // by executor
}

// openLedgers returns the ledgers of agents on which nothing is placed.
func openLedgers(agents []offers.Agent) []*ledger {
	ledgers := make([]*ledger, len(agents))
	for i := range agents {
		ledgers[i] = &ledger{Agent: &agents[i], left: agents[i].Free, slots: stdcmp.Or(agents[i].MaxTasks, 1000),
			running: map[string]bool{}}
		for executor, runs := range agents[i].Executors {
			ledgers[i].running[executor] = runs
		}
	}
	return ledgers
}

// usable reports whether the demand may use the agent.
func (l *ledger) usable(d offers.Demand) bool {
	_, avoided := d.Avoid[l.ID]
	return !avoided && (l.ReservedFor == "" || l.ReservedFor == d.ID)
}

// need returns the resources that n shards need on the agent.
func (l *ledger) need(d offers.Demand, n int) resources.Amount {
	need := d.Shard.Times(n)
	if !l.running[d.Executor] {
		need = need.Plus(d.ExecutorSize)
	}
	return need
}

// room returns how many shards fit, up to limit, by trying each number.
func (l *ledger) room(d offers.Demand, limit int) (n int) {
	for n < limit && n < l.slots && l.usable(d) && l.need(d, n+1).Fits(l.left) {
		n++
	}
	return n
}

// share returns the free share of an agent.
func (l *ledger) share() (share float64) {
	if capacity := max(l.Capacity.CPUMilli, l.Free.CPUMilli); capacity > 0 {
		share += float64(l.left.CPUMilli) / float64(capacity)
	}
	if capacity := max(l.Capacity.MemMilli, l.Free.MemMilli); capacity > 0 {
		share += float64(l.left.MemMilli) / float64(capacity)
	}
	return share
}

// TestMatchKeepsItsPromises checks every decision with independent ledgers.
func TestMatchKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		r := offers.Match(s.demands, s.agents, s.strategy)
		ledgers := openLedgers(s.agents)
		placements, unplaced := r.Placements, r.Unplaced
		for i, d := range s.demands {
			onRunning := 0 // the room on agents where the executor already runs
			room := 0
			for _, l := range ledgers {
				n := l.room(d, len(d.Items))
				room += n
				if l.running[d.Executor] {
					onRunning += n
				}
			}
			var items []int
			ranBefore := map[*ledger]bool{}
			touched := map[*ledger]bool{} // agents with an item of the demand
			for _, l := range ledgers {
				ranBefore[l] = l.running[d.Executor]
			}
			for len(placements) > 0 && placements[0].Demand == i {
				p := placements[0]
				placements = placements[1:]
				l := ledgers[p.Agent]
				if !l.usable(d) {
					t.Fatalf("L2, L6: %s is on %s, which it may not use", d.ID, l.ID)
				}
				if !l.running[d.Executor] && onRunning > len(items) {
					t.Fatalf("%s starts an executor on %s although running ones have room for %d", d.ID, l.ID,
						onRunning)
				}
				for _, other := range ledgers {
					fills := touched[l] && s.strategy == offers.Pack // Pack continues with an agent
					if ranBefore[other] != ranBefore[l] || other.room(d, 1) == 0 || fills {
						continue
					}
					difference := l.share() - other.share()
					if s.strategy == offers.Pack && difference > 1e-9 ||
						s.strategy == offers.Spread && difference < -1e-9 {
						t.Fatalf("%s item %d is on %s, of which %.3f are free, not on %s, of which %.3f are", d.ID,
							p.Item, l.ID, l.share(), other.ID, other.share())
					}
				}
				touched[l] = true
				need := l.need(d, 1)
				if !need.Fits(l.left) {
					t.Fatalf("%s item %d needs %s on %s, which has %s", d.ID, p.Item, need, l.ID, l.left)
				}
				if l.slots--; l.slots < 0 {
					t.Fatalf("%s item %d is on %s, which accepts %d tasks", d.ID, p.Item, l.ID, l.MaxTasks)
				}
				l.left, l.running[d.Executor] = l.left.Minus(need), true
				items = append(items, p.Item)
			}
			waiting := 0
			if len(unplaced) > 0 && unplaced[0].Demand == i {
				waiting = len(unplaced[0].Items)
				if waiting == 0 {
					t.Fatalf("%s waits without items", d.ID)
				}
				items = append(items, unplaced[0].Items...)
			}
			slices.Sort(items)
			if diff := cmp.Diff(d.Items, items, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("items of %s, placed and waiting (-want +got):\n%s", d.ID, diff)
			}
			placed := len(d.Items) - waiting
			switch {
			case d.Together && placed > 0 && waiting > 0:
				t.Fatalf("L1: %s was split, %d placed, %d waiting", d.ID, placed, waiting)
			case waiting > 0 && d.Together && room >= len(d.Items):
				t.Fatalf("%s has %d items and room for %d, and waits", d.ID, len(d.Items), room)
			case !d.Together && placed != min(room, len(d.Items)):
				t.Fatalf("%s has %d items and room for %d, and %d were placed", d.ID, len(d.Items), room, placed)
			}
			if waiting > 0 {
				if err := untrue(unplaced[0], d, ledgers); err != nil {
					t.Fatalf("%s: %v\nreason: %s", d.ID, err, unplaced[0].Reason)
				}
				unplaced = unplaced[1:]
			}
		}
		if len(placements)+len(unplaced) > 0 {
			t.Fatalf("results out of order: %v %v", placements, unplaced)
		}
	})
}

// TestMatchIsPure checks that Match returns the same result for the same input in any order of agents, and does not
// modify the input.
func TestMatchIsPure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		before := fmt.Sprintf("%+v", s)
		first := offers.Match(s.demands, s.agents, s.strategy)
		if after := fmt.Sprintf("%+v", s); after != before {
			t.Fatalf("Match changed its arguments from %s to %s", before, after)
		}
		shuffled := rapid.Permutation(s.agents).Draw(t, "shuffled")
		second := offers.Match(s.demands, shuffled, s.strategy)
		same := func(p offers.Placement, agents []offers.Agent) string {
			return fmt.Sprintf("%d %d %s", p.Demand, p.Item, agents[p.Agent].ID)
		}
		if !slices.EqualFunc(first.Placements, second.Placements,
			func(a, b offers.Placement) bool { return same(a, s.agents) == same(b, shuffled) }) {
			t.Fatalf("placements depend on the order of agents: %v and %v", first.Placements, second.Placements)
		}
		if diff := cmp.Diff(first.Unplaced, second.Unplaced); diff != "" {
			t.Fatalf("reasons depend on the order of agents:\n%s", diff)
		}
	})
}

// TestCallsStayWithinTheirBytes checks decisions about shards whose descriptions exceed one call.
func TestCallsStayWithinTheirBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		maxBytes := rapid.IntRange(1, 20).Draw(t, "bytes of a call")
		for i := range s.agents {
			s.agents[i].MaxBytes = maxBytes
		}
		for i := range s.demands {
			s.demands[i].Bytes = rapid.IntRange(0, 12).Draw(t, "bytes of a shard")
		}
		r := offers.Match(s.demands, s.agents, s.strategy)
		sent, tasks, placed := map[int]int{}, map[int]int{}, map[int]int{}
		ledgers := openLedgers(s.agents)
		for _, p := range r.Placements {
			d, l := s.demands[p.Demand], ledgers[p.Agent]
			need := l.need(d, 1)
			if l.slots--; !need.Fits(l.left) || l.slots < 0 || !l.usable(d) {
				t.Fatalf("%s item %d is on %s, which has no room for it", d.ID, p.Item, l.ID)
			}
			l.left, l.running[d.Executor] = l.left.Minus(need), true
			sent[p.Agent] += max(d.Bytes, 1)
			tasks[p.Agent]++
			placed[p.Demand]++
		}
		for a, bytes := range sent {
			if bytes > maxBytes && tasks[a] > 1 {
				t.Fatalf("agent %d is sent %d bytes in %d tasks, its call holds %d", a, bytes, tasks[a], maxBytes)
			}
		}
		for _, u := range r.Unplaced {
			d := s.demands[u.Demand]
			split := d.Together && placed[u.Demand] > 0
			switch {
			case u.Later && len(r.Placements) == 0:
				t.Fatalf("%s follows later although no call has content, so it would follow forever: %s", d.ID,
					u.Reason)
			case split && !u.Later:
				t.Fatalf("L1: %s was split, though there is no room for all: %s", d.ID, u.Reason)
			case split && len(d.Items)*max(d.Bytes, 1) <= maxBytes && len(s.agents) == 1:
				t.Fatalf("L1: %s was split, though the next call holds all of it", d.ID)
			}
		}
		for i := range s.agents {
			s.agents[i].MaxBytes = 0
		}
		free := offers.Match(s.demands[:min(len(s.demands), 1)], s.agents, s.strategy)
		if len(free.Placements) > 0 && placed[0] == 0 {
			t.Fatalf("%s is not placed, though it comes first and there is room", s.demands[0].ID)
		}
	})
}

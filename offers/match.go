package offers

import (
	"cmp"
	"slices"

	"github.com/elasticjob-go/elasticjob/app"
)

// Match places demands on agents, in the order of demands. It is pure and
// deterministic: the order of agents makes no difference but to the numbers in the result.
//
// No agent gets more than its Free, an executor's size counted once per kind
// and agent [D54]. A demand that is Together is placed whole or leaves no
// trace (rule L1). Since a demand's shards are of one size, it is placed
// whenever there is room. A later demand may be placed though an earlier one
// was not: who must be waited for is said by ReservedFor (rule L2).
func Match(demands []Demand, agents []Agent, strategy Strategy) Result {
	m := newMatcher(demands, agents, strategy)
	for i := range demands {
		m.match(i)
	}
	return m.result
}

// matcher is the ledger of one Match. Agents have numbers in the order of their
// ids, so that comparing numbers breaks ties the same way every time. What is asked
// for every pair of demand and agent is in slices by agent number; maps are not.
type matcher struct {
	demands  []Demand
	agents   []Agent
	strategy Strategy
	result   Result

	given    []int          // by agent: its index in agents
	numbers  map[string]int // by agent id
	free     []app.Resources
	capacity []app.Resources
	unknown  []bool // whether the capacity is just what is free now
	// reservedFor is the only demand that may use the agent, if not empty.
	reservedFor []string

	kinds map[string]int // by executor
	runs  [][]int        // by kind: the agents where it runs

	// order has all agents, those to be used first in front, sorted by fullness.
	order    []int
	fullness []fullness

	now   current
	takes []take // find's, used again
}

// current is the demand at hand.
type current struct {
	*Demand
	index int
	// shard and executor are the sizes, with nothing below zero.
	shard, executor app.Resources
	perCPU, perMem  float64 // 1 / shard
	kind            int
	// stamp is a number of its own, which marks an agent in these slices.
	stamp                     int
	avoided, running, started []int
	// room is, by agent, how many shards fit, up to all of them.
	room []int
}

// take is a number of shards for one agent.
type take struct{ agent, shards int }

func newMatcher(demands []Demand, agents []Agent, strategy Strategy) *matcher {
	n := len(agents)
	m := &matcher{
		demands: demands, agents: agents, strategy: strategy,
		given: make([]int, n), numbers: make(map[string]int, n),
		free: make([]app.Resources, n), capacity: make([]app.Resources, n), unknown: make([]bool, n),
		reservedFor: make([]string, n), kinds: map[string]int{}, order: make([]int, n), fullness: make([]fullness, n),
		now: current{avoided: make([]int, n), running: make([]int, n), started: make([]int, n), room: make([]int, n)},
	}
	items := 0
	for _, d := range demands {
		items += len(d.Items)
		if _, known := m.kinds[d.Executor]; !known {
			m.kinds[d.Executor] = len(m.kinds)
		}
	}
	m.result.Placements = make([]Placement, 0, min(items, 16*n))
	m.runs = make([][]int, len(m.kinds))
	for i := range agents {
		m.given[i] = i
	}
	slices.SortStableFunc(m.given, func(a, b int) int { return cmp.Compare(agents[a].ID, agents[b].ID) })
	for number, i := range m.given {
		a := &agents[i]
		m.numbers[a.ID] = number
		m.free[number], m.reservedFor[number] = a.Free, a.ReservedFor
		m.capacity[number], m.unknown[number] = largest(a.Capacity, a.Free), a.Capacity.IsZero()
		for kind, runs := range a.Executors {
			if k, asked := m.kinds[kind]; asked && runs {
				m.runs[k] = append(m.runs[k], number)
			}
		}
		m.order[number] = number
		m.fullness[number] = m.fullnessOf(number)
	}
	slices.SortFunc(m.order, func(a, b int) int { return m.compare(a, m.fullness[a], b) })
	return m
}

// match places what it can of a demand, and says why the rest waits.
func (m *matcher) match(index int) {
	m.take(index)
	d := &m.now
	takes, left := m.find()
	if left > 0 && d.Together {
		m.leave(d.Items)
		return
	}
	next := 0
	switch m.strategy {
	case Spread:
		beside := 0
		for _, t := range takes {
			if d.running[t.agent] == d.stamp {
				beside += t.shards
			}
		}
		m.spread(false, d.Items[:beside])
		m.spread(true, d.Items[beside:len(d.Items)-left])
		next = len(d.Items) - left
	default:
		for _, t := range takes {
			m.place(t.agent, d.Items[next:next+t.shards])
			next += t.shards
		}
	}
	if left > 0 {
		m.leave(d.Items[next:])
	}
}

// take makes a demand the current one, and marks the agents that it avoids and
// those where its executor runs.
func (m *matcher) take(index int) {
	d := &m.now
	d.Demand, d.index, d.stamp = &m.demands[index], index, index+1
	d.shard, d.executor = largest(d.Shard, app.Resources{}), largest(d.ExecutorSize, app.Resources{})
	d.perCPU, d.perMem = 1/float64(max(d.shard.CPUMilli, 1)), 1/float64(max(d.shard.MemMilli, 1))
	d.kind = m.kinds[d.Executor]
	for id := range d.Avoid {
		if a, there := m.numbers[id]; there {
			d.avoided[a] = d.stamp
		}
	}
	for _, a := range m.runs[d.kind] {
		d.running[a] = d.stamp
	}
}

// usable reports whether the demand may be placed on an agent: it is not kept for
// another (rule L2), nor avoided (rule L6).
func (m *matcher) usable(a int) bool {
	return m.now.avoided[a] != m.now.stamp && !m.reserved(a)
}

func (m *matcher) reserved(a int) bool {
	return m.reservedFor[a] != "" && m.reservedFor[a] != m.now.ID
}

// once is what the demand's first shard on an agent pays beside itself: nothing where its executor runs.
func (m *matcher) once(a int) app.Resources {
	if m.now.running[a] == m.now.stamp || m.now.started[a] == m.now.stamp {
		return app.Resources{}
	}
	return m.now.executor
}

// find finds room for the demand, agent by agent: first beside its running
// executors, then with new ones. It stops when all shards have a place; when
// some are left, the room on every usable agent is known.
func (m *matcher) find() (takes []take, left int) {
	d := &m.now
	takes, left = m.takes[:0], len(d.Items)
	for _, starts := range []bool{false, true} {
		once := d.executor
		if !starts {
			once = app.Resources{}
		}
		if left == 0 || !starts && len(m.runs[d.kind]) == 0 {
			continue
		}
		for _, a := range m.order {
			if (d.running[a] == d.stamp) == starts {
				continue
			}
			// The cheapest question first: this line runs for every pair of demand and agent.
			d.room[a] = 0
			free := m.free[a].Minus(once)
			if !d.shard.Fits(free) || !m.usable(a) {
				continue
			}
			d.room[a] = room(free, d.shard, len(d.Items))
			if n := min(d.room[a], left); n > 0 {
				takes = append(takes, take{a, n})
				if left -= n; left == 0 {
					break
				}
			}
		}
	}
	m.takes = takes
	return takes, left
}

// spread places items, for which find found room, one by one on the agent that
// is emptiest by then.
func (m *matcher) spread(starts bool, items []int) {
	d := &m.now
	// An agent that gets a shard moves back in the order, never to before the
	// first that is looked at, and one that has no room gets none: each is passed once.
	at := 0
	for len(items) > 0 {
		a := m.order[at]
		if (d.running[a] != d.stamp) != starts || !m.usable(a) || !d.shard.Fits(m.free[a].Minus(m.once(a))) {
			at++
			continue
		}
		m.place(a, items[:1])
		items = items[1:]
	}
}

// place puts items on an agent that has room for them.
func (m *matcher) place(a int, items []int) {
	d := &m.now
	once := m.once(a)
	starts := d.running[a] != d.stamp && d.started[a] != d.stamp
	if starts {
		d.started[a] = d.stamp
		m.runs[d.kind] = append(m.runs[d.kind], a)
	}
	for _, item := range items {
		m.result.Placements = append(m.result.Placements, Placement{Demand: d.index, Item: item, Agent: m.given[a], StartsExecutor: starts})
		starts = false
	}
	m.free[a] = m.free[a].Minus(once).Minus(d.shard.Times(len(items)))
	m.reorder(a)
}

// room is how many shards fit into what is free, up to a most.
func room(free, shard app.Resources, most int) int {
	if !shard.Fits(free) || free.CPUMilli < 0 || free.MemMilli < 0 {
		return 0
	}
	if most == 1 {
		return 1
	}
	n := int64(most)
	if shard.CPUMilli > 0 {
		n = min(n, free.CPUMilli/shard.CPUMilli)
	}
	if shard.MemMilli > 0 {
		n = min(n, free.MemMilli/shard.MemMilli)
	}
	return int(n)
}

// largest is the larger of each part.
func largest(a, b app.Resources) app.Resources {
	return app.Resources{CPUMilli: max(a.CPUMilli, b.CPUMilli), MemMilli: max(a.MemMilli, b.MemMilli)}
}

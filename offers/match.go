package offers

import (
	"cmp"
	"math"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Match places demands on agents, in the order of demands. It is pure and deterministic: the order of agents affects
// only the indexes in the result.
//
// No agent gets more than its Free, where the size of an executor counts once per kind and agent [D54]. A demand that
// is Together is placed as a whole or leaves no trace (rule L1). The shards of a demand have the same size, so it is
// placed whenever there is room. A later demand may be placed although an earlier one was not; ReservedFor keeps
// agents for a demand that others must wait for (rule L2).
func Match(demands []Demand, agents []Agent, strategy Strategy) Result {
	m := newMatcher(demands, agents, strategy)
	for i := range demands {
		if len(demands[i].Items) > 0 {
			m.match(i)
		}
	}
	return m.result
}

// matcher is the ledger of one Match. Agents have numbers in the order of their ids, so that comparing numbers always
// breaks ties in the same way.
type matcher struct {
	demands  []Demand
	agents   []Agent
	strategy Strategy
	result   Result

	inputIndex []int            // by agent: its index in agents
	numberOf   map[string]int   // by agent id
	entries    []ledgerEntry    // by agent
	free       resources.Amount // sum over all agents
	capacity   []resources.Amount
	unknown    []bool // whether the capacity is only what is free now
	// reservedFor is the only demand that may use the agent, if not empty. reserved are the agents that have one.
	reservedFor []string
	reserved    []int

	kindOf map[string]int // by executor
	runs   [][]int        // by kind: the agents on which it runs

	// order contains all agents, the preferred ones first, sorted by fullness.
	order    []int
	fullness []fullness

	current    currentDemand
	takes      []take // the buffer of find, reused
	lastHolder int    // used by never: the last agent that could hold a shard
}

// ledgerEntry contains what is read for every pair of demand and agent. It is small and contiguous for the sake of the
// cache.
type ledgerEntry struct {
	free resources.Amount
	// The stamp of the last demand that may not use the agent, of the last one whose executor runs there, and of the
	// last one for which an executor is to be started.
	barred, running, started int32
	// room is the number of the demand's shards that fit, up to all of them; slots the number of further tasks, and
	// bytes the remaining size of their descriptions.
	room, slots, bytes int32
}

// currentDemand is the demand being placed.
type currentDemand struct {
	*Demand
	index int
	// shard and executor are the sizes, with negative parts replaced by zero.
	shard, executor resources.Amount
	perCPU, perMem  float64 // 1 / shard
	// bytes is the size of a shard's description, at least 1. find sets short if one more shard would have fit on some
	// agent except for the size of the descriptions.
	bytes int32
	short bool
	kind  int
	// stamp is unique to the demand, and marks agents in their books.
	stamp int32
}

// take is a number of shards to place on one agent.
type take struct{ agent, shards int }

func newMatcher(demands []Demand, agents []Agent, strategy Strategy) *matcher {
	n := len(agents)
	m := &matcher{
		demands: demands, agents: agents, strategy: strategy,
		inputIndex: make([]int, n), numberOf: make(map[string]int, n),
		entries: make([]ledgerEntry, n), capacity: make([]resources.Amount, n), unknown: make([]bool, n),
		reservedFor: make([]string, n), kindOf: map[string]int{}, order: make([]int, n), fullness: make([]fullness, n),
	}
	items := 0
	for _, d := range demands {
		items += len(d.Items)
		if _, known := m.kindOf[d.Executor]; !known {
			m.kindOf[d.Executor] = len(m.kindOf)
		}
	}
	m.result.Placements = make([]Placement, 0, min(items, 16*n))
	m.runs = make([][]int, len(m.kindOf))
	for i := range agents {
		m.inputIndex[i] = i
	}
	slices.SortStableFunc(m.inputIndex, func(a, b int) int { return cmp.Compare(agents[a].ID, agents[b].ID) })
	for number, i := range m.inputIndex {
		a := &agents[i]
		m.numberOf[a.ID] = number
		b := &m.entries[number]
		b.free, b.slots, b.bytes = a.Free, limitOf(a.MaxTasks), limitOf(a.MaxBytes)
		m.free = m.free.Plus(a.Free.Max(resources.Amount{}))
		if m.reservedFor[number] = a.ReservedFor; a.ReservedFor != "" {
			m.reserved = append(m.reserved, number)
		}
		m.capacity[number], m.unknown[number] = a.Capacity.Max(a.Free), a.Capacity.IsZero()
		for kind, runs := range a.Executors {
			if k, asked := m.kindOf[kind]; asked && runs {
				m.runs[k] = append(m.runs[k], number)
			}
		}
		m.order[number] = number
		m.fullness[number] = m.fullnessOf(number)
	}
	slices.SortFunc(m.order, func(a, b int) int { return m.compare(a, m.fullness[a], b) })
	return m
}

// match places as much as possible of a demand, and records why the rest waits.
func (m *matcher) match(index int) {
	m.setCurrent(index)
	d := &m.current
	if m.neverFits() {
		m.recordUnplaced(Unplaced{Items: d.Items, Reason: m.neverReason(), Never: true})
		return
	}
	if d.Together && !d.shard.Times(len(d.Items)).Fits(m.free) {
		m.recordUnplaced(m.lacking(d.Items, false)) // certain without trying
		return
	}
	takes, left := m.find()
	if left > 0 && d.Together {
		switch {
		case !d.short || m.roomFor(len(d.Items), false) > 0:
			m.recordUnplaced(m.lacking(d.Items, !d.short))
			return
		case len(takes) == 0 || m.roomFor(len(d.Items), true) == 0: // the calls of the next match can hold all of them
			m.recordUnplaced(m.later(d.Items))
			return
		}
	}
	placed := d.Items[:len(d.Items)-left]
	if m.strategy == Spread {
		beside := 0
		for _, t := range takes {
			if m.entries[t.agent].running == d.stamp {
				beside += t.shards
			}
		}
		m.spread(false, placed[:beside])
		m.spread(true, placed[beside:])
	} else {
		for _, t := range takes {
			m.place(t.agent, placed[:t.shards])
			placed = placed[t.shards:]
		}
	}
	switch rest := d.Items[len(d.Items)-left:]; {
	case left == 0:
	case d.short && d.Together:
		m.keepRoom(left)
		m.recordUnplaced(m.later(rest))
	case d.short && m.roomFor(1, false) == 0:
		m.recordUnplaced(m.later(rest))
	default:
		m.recordUnplaced(m.lacking(rest, true))
	}
}

// setCurrent makes a demand the current one. It marks the agents that are reserved for another demand (rule L2) or
// avoided (rule L6), and the agents where its executor runs.
func (m *matcher) setCurrent(index int) {
	d := &m.current
	d.Demand, d.index, d.stamp = &m.demands[index], index, int32(index+1)
	d.shard, d.executor = d.Shard.Max(resources.Amount{}), d.ExecutorSize.Max(resources.Amount{})
	d.perCPU, d.perMem = 1/float64(max(d.shard.CPUMilli, 1)), 1/float64(max(d.shard.MemMilli, 1))
	d.bytes, d.short = limitOf(max(d.Bytes, 1)), false
	d.kind = m.kindOf[d.Executor]
	for id := range d.Avoid {
		if a, there := m.numberOf[id]; there {
			m.entries[a].barred = d.stamp
		}
	}
	for _, a := range m.reserved {
		if m.reservedFor[a] != d.ID {
			m.entries[a].barred = d.stamp
		}
	}
	for _, a := range m.runs[d.kind] {
		m.entries[a].running = d.stamp
	}
}

// executorNeed returns the additional demand of the first shard on an agent: that of the executor, zero if it runs
// there.
func (m *matcher) executorNeed(a int) resources.Amount {
	if b := &m.entries[a]; b.running == m.current.stamp || b.started == m.current.stamp {
		return resources.Amount{}
	}
	return m.current.executor
}

// find finds room for the demand, agent by agent: first on agents where its executor runs, then on others. It stops
// when all shards have a place. If some are left, the book of every usable agent contains the room there.
func (m *matcher) find() (takes []take, left int) {
	m.takes = m.takes[:0]
	if left = m.findOn(m.running(), false, len(m.current.Items)); left > 0 {
		left = m.findOn(m.order, true, left)
	}
	return m.takes, left
}

// findOn takes room on the agents where the executor runs, or on the others if starts is set. This loop and that of
// survey run for every pair of demand and agent, so they must stay fast.
func (m *matcher) findOn(agents []int, starts bool, left int) int {
	d, stamp, shard := &m.current, m.current.stamp, m.current.shard
	var once resources.Amount
	if starts {
		once = d.executor
	}
	for _, a := range agents {
		b := &m.entries[a]
		if (b.running == stamp) == starts {
			continue
		}
		b.room = 0
		// The cheapest check comes first.
		free := b.free.Minus(once)
		if !shard.Fits(free) || b.barred == stamp || b.slots == 0 {
			continue
		}
		n := min(free.Holds(shard, len(d.Items)), int(b.slots))
		if n > m.roomInCall(a) {
			n, d.short = m.roomInCall(a), true
		}
		b.room = int32(n)
		if n == 0 {
			continue
		}
		m.takes = append(m.takes, take{a, min(n, left)})
		if left -= n; left <= 0 {
			return 0
		}
	}
	return left
}

// running returns agents in order, including all agents where the demand's executor runs.
func (m *matcher) running() []int {
	runs := m.runs[m.current.kind]
	if len(runs) > len(m.order)/32 {
		return m.order
	}
	slices.SortFunc(runs, func(a, b int) int { return m.compare(a, m.fullness[a], b) })
	return runs
}

// spread places items, for which find has found room, one by one on the agent that is emptiest at that time.
func (m *matcher) spread(starts bool, items []int) {
	d := &m.current
	// An agent that gets a shard moves back in the order, but never before the first one that is examined, and an
	// agent without room stays without room. So each agent is skipped at most once.
	at := 0
	for len(items) > 0 {
		a := m.order[at]
		b := &m.entries[a]
		if (b.running != d.stamp) != starts || b.barred == d.stamp || b.slots == 0 || m.roomInCall(a) == 0 ||
			!d.shard.Fits(b.free.Minus(m.executorNeed(a))) {
			at++
			continue
		}
		m.place(a, items[:1])
		items = items[1:]
	}
}

// place places items on an agent that has room for them.
func (m *matcher) place(a int, items []int) {
	d, b := &m.current, &m.entries[a]
	taken := m.executorNeed(a).Plus(d.shard.Times(len(items)))
	if b.running != d.stamp && b.started != d.stamp {
		b.started = d.stamp
		m.runs[d.kind] = append(m.runs[d.kind], a)
	}
	for _, item := range items {
		m.result.Placements = append(m.result.Placements,
			Placement{Demand: d.index, Item: item, Agent: m.inputIndex[a]})
	}
	b.free, m.free = b.free.Minus(taken), m.free.Minus(taken)
	b.slots -= int32(len(items))
	b.bytes -= int32(min(len(items)*int(d.bytes), int(b.bytes)))
	m.reorder(a)
}

// limitOf converts a bound on the tasks of an agent or on the size of their descriptions; no bound becomes MaxInt32.
func limitOf(n int) int32 {
	if n <= 0 {
		return math.MaxInt32
	}
	return int32(min(n, math.MaxInt32))
}

// roomInCall returns how many more descriptions of the demand's shards fit into the call to the agent. An empty call
// accepts one of any size.
func (m *matcher) roomInCall(a int) int {
	n := int(m.entries[a].bytes / m.current.bytes)
	if n == 0 && m.entries[a].bytes == m.callCapacity(a) {
		return 1
	}
	return n
}

// callCapacity returns the capacity of an empty call to an agent, in bytes.
func (m *matcher) callCapacity(a int) int32 { return limitOf(m.agents[m.inputIndex[a]].MaxBytes) }

// roomFor subtracts from n the shards of the demand for which agents have room, whatever their calls already contain,
// and returns the rest. With calls it also applies the capacity of empty calls.
func (m *matcher) roomFor(n int, calls bool) (left int) {
	for a := 0; a < len(m.entries) && n > 0; a++ {
		room := m.roomOn(a, n)
		if calls {
			room = min(room, max(int(m.callCapacity(a)/m.current.bytes), 1))
		}
		n -= room
	}
	return n
}

// roomOn returns how many of n shards of the demand an agent has room for, whatever its call already contains.
func (m *matcher) roomOn(a, n int) int {
	b := &m.entries[a]
	if b.barred == m.current.stamp {
		return 0
	}
	return min(b.free.Minus(m.executorNeed(a)).Holds(m.current.shard, n), int(b.slots))
}

// keepRoom keeps room for n shards of the demand, which the next match will place, from later demands.
func (m *matcher) keepRoom(n int) {
	for a := range m.entries {
		if k := m.roomOn(a, n); k > 0 {
			takes := m.executorNeed(a).Plus(m.current.shard.Times(k))
			m.entries[a].free, m.free = m.entries[a].free.Minus(takes), m.free.Minus(takes)
			m.reorder(a)
			n -= k
		}
	}
}

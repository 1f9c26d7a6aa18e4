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
// No agent gets more than its Free, of which each executor takes its size once per agent [D54]. A demand that is
// Together is placed as a whole or uses nothing (rule L1). There is one exception: one call launches all shards that a
// match places on an agent, and its size is limited (MaxBytes). If only this limit keeps some shards from being
// placed, these follow in later matches. The shards of a demand have the same size, so the demand is placed whenever
// there is room. A later demand may be placed although an earlier one was not; ReservedFor keeps agents free for a
// demand that goes first (rule L2).
func Match(demands []Demand, agents []Agent, strategy Strategy) Result {
	m := newMatcher(demands, agents, strategy)
	for i := range demands {
		if len(demands[i].Items) > 0 {
			m.match(i)
		}
	}
	return m.result
}

// matcher is the state of one Match. It numbers the agents in the order of their ids, so that comparing two numbers
// always breaks a tie in the same way.
type matcher struct {
	demands  []Demand
	agents   []Agent
	strategy Strategy
	result   Result

	inputIndex []int              // by agent: its index in agents
	numberOf   map[string]int     // by agent id
	entries    []ledgerEntry      // by agent
	free       resources.Amount   // sum over all agents
	capacity   []resources.Amount // by agent
	// capacityUnknown says by agent that its capacity is unknown; capacity then contains only what is free now.
	capacityUnknown []bool
	// reservedFor is by agent the only demand that may use it; empty if every demand may. reserved lists the agents
	// that are reserved for a demand.
	reservedFor []string
	reserved    []int

	executorNumber map[string]int // by executor
	// runningOn lists the agents on which an executor runs or will be started, by executor number.
	runningOn [][]int

	// order contains all agents, sorted by fullness, the preferred ones first. fullness is by agent.
	order    []int
	fullness []fullness

	current    currentDemand
	allotments []allotment // the buffer of findRoom, reused
	lastHolder int         // used by neverFits: the last agent that could hold a shard
}

// ledgerEntry contains the fields of an agent that are read for every pair of demand and agent. It is small, and the
// entries are contiguous, for the sake of the CPU's cache.
type ledgerEntry struct {
	free resources.Amount
	// Each of these is the stamp of a demand (currentDemand.stamp). barred is that of the last demand that may not use
	// the agent, running that of the last demand whose executor runs there, and started that of the last demand whose
	// executor the placements start there.
	barred, running, started int32
	// room is the number of the current demand's shards that fit, at most all of them. slots is the number of further
	// tasks that the agent accepts, and bytes the size that remains in its call for their descriptions.
	room, slots, bytes int32
}

// currentDemand is the demand being placed.
type currentDemand struct {
	*Demand
	index int
	// shard and executor are the sizes of the demand, with negative parts replaced by zero.
	shard, executor resources.Amount
	perCPU, perMem  float64 // 1 / shard
	// bytes is the size of a shard's description, at least 1. findRoom sets callsFull if some agent has room for one
	// more shard, but its call has no room for the description.
	bytes     int32
	callsFull bool

	executorNumber int
	// stamp is unique to the demand, and marks ledger entries as its own.
	stamp int32
}

// allotment is a number of shards to place on one agent.
type allotment struct{ agent, shards int }

// executorState tells the agents on which a demand's executor already runs from those where it must be started.
type executorState bool

const (
	runsExecutor  executorState = true
	lacksExecutor executorState = false
)

func newMatcher(demands []Demand, agents []Agent, strategy Strategy) *matcher {
	n := len(agents)
	m := &matcher{
		demands: demands, agents: agents, strategy: strategy,
		inputIndex: make([]int, n), numberOf: make(map[string]int, n),
		entries: make([]ledgerEntry, n), capacity: make([]resources.Amount, n), capacityUnknown: make([]bool, n),
		reservedFor: make([]string, n), executorNumber: map[string]int{},
		order: make([]int, n), fullness: make([]fullness, n),
	}
	items := 0
	for _, d := range demands {
		items += len(d.Items)
		if _, numbered := m.executorNumber[d.Executor]; !numbered {
			m.executorNumber[d.Executor] = len(m.executorNumber)
		}
	}
	m.result.Placements = make([]Placement, 0, min(items, 16*n))
	m.runningOn = make([][]int, len(m.executorNumber))
	for i := range agents {
		m.inputIndex[i] = i
	}
	slices.SortStableFunc(m.inputIndex, func(a, b int) int { return cmp.Compare(agents[a].ID, agents[b].ID) })
	for number, i := range m.inputIndex {
		a := &agents[i]
		m.numberOf[a.ID] = number
		e := &m.entries[number]
		e.free, e.slots, e.bytes = a.Free, limitOf(a.MaxTasks), limitOf(a.MaxBytes)
		m.free = m.free.Plus(a.Free.Max(resources.Amount{}))
		if m.reservedFor[number] = a.ReservedFor; a.ReservedFor != "" {
			m.reserved = append(m.reserved, number)
		}
		m.capacity[number], m.capacityUnknown[number] = a.Capacity.Max(a.Free), a.Capacity.IsZero()
		for executor, runs := range a.Executors {
			if k, demanded := m.executorNumber[executor]; demanded && runs {
				m.runningOn[k] = append(m.runningOn[k], number)
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
		m.recordUnplaced(m.noRoom(d.Items, false)) // certain without findRoom
		return
	}
	allotments, left := m.findRoom()
	if left > 0 && d.Together {
		switch {
		case !d.callsFull || m.shortfall(len(d.Items)) > 0:
			m.recordUnplaced(m.noRoom(d.Items, !d.callsFull))
			return
		case len(allotments) == 0 || m.nextShortfall(len(d.Items)) == 0:
			// Nothing can be placed now, or the calls of the next match can hold all items together.
			m.recordUnplaced(m.inLaterMatch(d.Items))
			return
		}
	}
	placed := d.Items[:len(d.Items)-left]
	if m.strategy == Spread {
		onRunning := 0 // the shards on agents where the executor runs
		for _, t := range allotments {
			if m.entries[t.agent].running == d.stamp {
				onRunning += t.shards
			}
		}
		m.spread(placed[:onRunning], runsExecutor)
		m.spread(placed[onRunning:], lacksExecutor)
	} else {
		for _, t := range allotments {
			m.assign(t.agent, placed[:t.shards])
			placed = placed[t.shards:]
		}
	}
	switch rest := d.Items[len(d.Items)-left:]; {
	case left == 0:
	case d.callsFull && d.Together:
		m.keepRoom(left)
		m.recordUnplaced(m.inLaterMatch(rest))
	case d.callsFull && m.shortfall(1) == 0:
		m.recordUnplaced(m.inLaterMatch(rest))
	default:
		m.recordUnplaced(m.noRoom(rest, true))
	}
}

// setCurrent makes a demand the current one. It marks the agents that are reserved for another demand (rule L2) or
// avoided (rule L6), and the agents where its executor runs.
func (m *matcher) setCurrent(index int) {
	d := &m.current
	d.Demand, d.index, d.stamp = &m.demands[index], index, int32(index+1)
	d.shard, d.executor = d.Shard.Max(resources.Amount{}), d.ExecutorSize.Max(resources.Amount{})
	d.perCPU, d.perMem = 1/float64(max(d.shard.CPUMilli, 1)), 1/float64(max(d.shard.MemMilli, 1))
	d.bytes, d.callsFull = limitOf(max(d.Bytes, 1)), false
	d.executorNumber = m.executorNumber[d.Executor]
	for id := range d.Avoid {
		if a, offered := m.numberOf[id]; offered {
			m.entries[a].barred = d.stamp
		}
	}
	for _, a := range m.reserved {
		if m.reservedFor[a] != d.ID {
			m.entries[a].barred = d.stamp
		}
	}
	for _, a := range m.runningOn[d.executorNumber] {
		m.entries[a].running = d.stamp
	}
}

// executorNeed returns the resources that the next shard on an agent needs for its executor: zero if the executor runs
// or will be started there.
func (m *matcher) executorNeed(a int) resources.Amount {
	if e := &m.entries[a]; e.running == m.current.stamp || e.started == m.current.stamp {
		return resources.Amount{}
	}
	return m.current.executor
}

// findRoom finds room for the demand, agent by agent: first on agents where its executor runs, then on others. It
// stops when all shards have room; left is the number of those that have none. If left is not zero, the entry of every
// usable agent contains its room. findRoom itself places nothing.
func (m *matcher) findRoom() (allotments []allotment, left int) {
	m.allotments = m.allotments[:0]
	if left = m.findRoomOn(m.runningAgents(), runsExecutor, len(m.current.Items)); left > 0 {
		left = m.findRoomOn(m.order, lacksExecutor, left)
	}
	return m.allotments, left
}

// findRoomOn allots left shards to those of the agents whose executor state is wanted, and returns how many of the
// shards have no room. This loop and that of survey run for every pair of demand and agent, so they must stay fast.
func (m *matcher) findRoomOn(agents []int, wanted executorState, left int) int {
	d, stamp, shard := &m.current, m.current.stamp, m.current.shard
	var executorNeed resources.Amount
	if wanted == lacksExecutor {
		executorNeed = d.executor
	}
	for _, a := range agents {
		e := &m.entries[a]
		if executorState(e.running == stamp) != wanted {
			continue
		}
		e.room = 0
		// The cheapest check comes first.
		free := e.free.Minus(executorNeed)
		if !shard.Fits(free) || e.barred == stamp || e.slots == 0 {
			continue
		}
		n := min(free.Holds(shard, len(d.Items)), int(e.slots))
		if n > m.roomInCall(a) {
			n, d.callsFull = m.roomInCall(a), true
		}
		e.room = int32(n)
		if n == 0 {
			continue
		}
		m.allotments = append(m.allotments, allotment{a, min(n, left)})
		if left -= n; left <= 0 {
			return 0
		}
	}
	return left
}

// runningAgents returns the agents where the demand's executor runs, in the order of preference. If they are many, it
// returns all agents instead, which are sorted already; findRoomOn skips those without the executor.
func (m *matcher) runningAgents() []int {
	agents := m.runningOn[m.current.executorNumber]
	if len(agents) > len(m.order)/32 {
		return m.order
	}
	slices.SortFunc(agents, func(a, b int) int { return m.compare(a, m.fullness[a], b) })
	return agents
}

// spread places items, for which findRoom has found room, one by one on the agent that is emptiest at that time, among
// the agents whose executor state is wanted.
func (m *matcher) spread(items []int, wanted executorState) {
	d := &m.current
	// An agent that gets a shard moves back in the order, but never before the index that is examined, and an agent
	// without room stays without room. So each agent is skipped at most once.
	i := 0
	for len(items) > 0 {
		a := m.order[i]
		e := &m.entries[a]
		usable := executorState(e.running == d.stamp) == wanted && e.barred != d.stamp
		if !usable || e.slots == 0 || m.roomInCall(a) == 0 || !d.shard.Fits(e.free.Minus(m.executorNeed(a))) {
			i++
			continue
		}
		m.assign(a, items[:1])
		items = items[1:]
	}
}

// assign places items on an agent that has room for them.
func (m *matcher) assign(a int, items []int) {
	d, e := &m.current, &m.entries[a]
	consumed := m.executorNeed(a).Plus(d.shard.Times(len(items)))
	if e.running != d.stamp && e.started != d.stamp {
		e.started = d.stamp
		m.runningOn[d.executorNumber] = append(m.runningOn[d.executorNumber], a)
	}
	for _, item := range items {
		m.result.Placements = append(m.result.Placements,
			Placement{Demand: d.index, Item: item, Agent: m.inputIndex[a]})
	}
	e.free, m.free = e.free.Minus(consumed), m.free.Minus(consumed)
	e.slots -= int32(len(items))
	e.bytes -= int32(min(len(items)*int(d.bytes), int(e.bytes)))
	m.reorder(a)
}

// limitOf converts a limit on the tasks of an agent, or on the size of their descriptions. 0 or less, which is no
// limit, becomes MaxInt32.
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

// shortfall returns how many of n shards of the demand have no room on any agent, whatever the agents' calls already
// contain.
func (m *matcher) shortfall(n int) int {
	for a := 0; a < len(m.entries) && n > 0; a++ {
		n -= m.roomOn(a, n)
	}
	return n
}

// nextShortfall returns how many of n shards of the demand the next match could not place: those without room on any
// agent, and those whose descriptions exceed the calls. The next match begins with empty calls.
func (m *matcher) nextShortfall(n int) int {
	for a := 0; a < len(m.entries) && n > 0; a++ {
		perCall := max(int(m.callCapacity(a)/m.current.bytes), 1)
		n -= min(m.roomOn(a, n), perCall)
	}
	return n
}

// roomOn returns how many of n shards of the demand an agent has room for, whatever its call already contains.
func (m *matcher) roomOn(a, n int) int {
	e := &m.entries[a]
	if e.barred == m.current.stamp {
		return 0
	}
	return min(e.free.Minus(m.executorNeed(a)).Holds(m.current.shard, n), int(e.slots))
}

// keepRoom subtracts the resources of n shards of the demand, which the next match will place, so that later demands
// do not use them.
func (m *matcher) keepRoom(n int) {
	for a := range m.entries {
		if k := m.roomOn(a, n); k > 0 {
			kept := m.executorNeed(a).Plus(m.current.shard.Times(k))
			m.entries[a].free, m.free = m.entries[a].free.Minus(kept), m.free.Minus(kept)
			m.reorder(a)
			n -= k
		}
	}
}

package offers

import (
	"cmp"
	"slices"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// fullness is the sort key of agents.
type fullness struct {
	// freeShare is the sum of the free shares of CPU and memory.
	freeShare float64
	// free breaks ties between equal shares: the smaller agent counts as fuller.
	free resources.Amount
}

// fullnessOf returns the sort key of an agent for what is free now.
func (m *matcher) fullnessOf(a int) fullness {
	free, capacity := m.entries[a].free, m.capacity[a]
	f := fullness{free: free}
	if capacity.CPUMilli > 0 {
		f.freeShare += float64(free.CPUMilli) / float64(capacity.CPUMilli)
	}
	if capacity.MemMilli > 0 {
		f.freeShare += float64(free.MemMilli) / float64(capacity.MemMilli)
	}
	return f
}

// compare returns -1 if agent a, with fullness f, is preferred to agent b, and 1 if b is preferred to a; 0 if a is b.
func (m *matcher) compare(a int, f fullness, b int) int {
	g := m.fullness[b]
	if m.strategy == Spread {
		f, g = g, f
	}
	return cmp.Or(
		cmp.Compare(f.freeShare, g.freeShare),
		cmp.Compare(f.free.CPUMilli, g.free.CPUMilli),
		cmp.Compare(f.free.MemMilli, g.free.MemMilli),
		cmp.Compare(a, b))
}

// reorder moves an agent whose free resources have changed to its new position in the order.
func (m *matcher) reorder(a int) {
	search := func(f fullness) int {
		position, _ := slices.BinarySearchFunc(m.order, a, func(b, a int) int { return -m.compare(a, f, b) })
		return position
	}
	from := search(m.fullness[a])
	f := m.fullnessOf(a)
	to := search(f)
	if to > from {
		to--
		copy(m.order[from:to], m.order[from+1:to+1])
	} else {
		copy(m.order[to+1:from+1], m.order[to:from])
	}
	m.order[to] = a
	m.fullness[a] = f
}

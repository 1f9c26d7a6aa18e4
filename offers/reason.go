package offers

import (
	"fmt"
	"math"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// recordUnplaced records that items of the current demand wait, and why. The reason applies to what earlier demands
// and the placed shards of this one have left.
func (m *matcher) recordUnplaced(u Unplaced) {
	u.Demand = m.current.index
	m.result.Unplaced = append(m.result.Unplaced, u)
}

// lacking returns what the agents on offer lack.
func (m *matcher) lacking(waiting []int, tried bool) Unplaced {
	u, items := Unplaced{Items: waiting}, len(waiting)
	if len(m.agents) == 0 {
		u.Reason = reason.Of(reason.NothingOnOffer)
		return u
	}
	v := m.survey(tried)
	u.Reserved = v.reserved.agents > 0
	if v.usable == 0 {
		u.Reason = reason.NoAgentUsable(m.need(items), len(m.agents), m.others(v))
		return u
	}
	short := ""
	if v.full.agents < v.usable {
		short = amounts(v.short)
	}
	u.Reason = reason.NoRoom(m.need(items), v.usable, v.room, m.name(v.nearest), short, m.others(v))
	return u
}

// later returns that items with room are launched in a later match.
func (m *matcher) later(items []int) Unplaced {
	each, limit := size(m.current.bytes), size(m.callCapacity(0))
	return Unplaced{Items: items, Later: true, Reason: reason.WithNextLaunch(len(items), each, limit)}
}

// size formats a number of bytes for people, rounded up.
func size(n int32) string {
	unit, of := "KiB", int64(1<<10)
	if n >= 1<<20 {
		unit, of = "MiB", 1<<20
	}
	return fmt.Sprintf("%d %s", (int64(n)+of-1)/of, unit)
}

// survey is what prevents the placement of a demand on the agents on offer.
type survey struct {
	usable, room int // the number of agents, and of the shards that they can hold
	// nearest is the usable agent that lacks least for one more shard than it can hold, short what it lacks, and much
	// the amount of short.
	nearest  int
	short    resources.Amount
	shortage float64
	// Agents that may not be used.
	reserved, avoided group
	// full are usable agents that have the resources for one more shard, but have reached their number of tasks.
	full group
}

// group is a number of agents.
type group struct {
	agents int
	first  int // the first one that was added
}

func (g *group) add(a int) {
	if g.agents++; g.agents == 1 {
		g.first = a
	}
}

// survey examines all agents. After find it reads their room from the books. For agents with shards of the demand, it
// considers what those have left.
func (m *matcher) survey(found bool) survey {
	d := &m.current
	v := survey{shortage: math.Inf(1)}
	for a := range m.entries {
		b := &m.entries[a]
		if b.barred == d.stamp {
			if r := m.reservedFor[a]; r != "" && r != d.ID {
				v.reserved.add(a)
			} else {
				v.avoided.add(a)
			}
			continue
		}
		v.usable++
		free := b.free
		if b.running != d.stamp && b.started != d.stamp {
			free = free.Minus(d.executor)
		}
		shards := 1
		if d.Together {
			fit := int(b.room)
			if !found {
				fit = min(free.Holds(d.shard, len(d.Items)), int(b.slots))
			}
			v.room += fit
			shards += fit
		}
		if int(b.slots) < shards && d.shard.Times(shards).Fits(free) {
			v.full.add(a)
			continue
		}
		short := d.shard.Times(shards).Minus(free).Max(resources.Amount{})
		if much := d.shortage(short); much < v.shortage {
			v.nearest, v.short, v.shortage = a, short, much
		}
	}
	return v
}

// shortage converts an amount to a multiple of the demand's shard, so that amounts can be compared.
func (d *currentDemand) shortage(r resources.Amount) float64 {
	return float64(r.CPUMilli)*d.perCPU + float64(r.MemMilli)*d.perMem
}

// neverFits reports whether no agent on offer can hold one shard, even if it were empty.
func (m *matcher) neverFits() bool {
	if len(m.agents) == 0 || m.canHold(m.lastHolder) {
		return false
	}
	for a := range m.entries {
		if m.canHold(a) {
			m.lastHolder = a
			return false
		}
	}
	return true
}

// canHold reports whether an agent could hold one shard if it were empty, as far as is known; an agent of unknown
// capacity could. Where the executor runs, its size is not counted, because it may never have been seen as free.
func (m *matcher) canHold(a int) bool {
	return m.unknown[a] || m.current.shard.Plus(m.executorNeed(a)).Fits(m.capacity[a])
}

// need returns the demand of some items for a reason.
func (m *matcher) need(items int) reason.Need {
	d := &m.current
	n := reason.Need{Shards: items, Together: d.Together, Each: d.shard.String(), App: m.appName()}
	if !d.executor.IsZero() {
		n.Executor = d.executor.String()
	}
	return n
}

func (m *matcher) neverReason() reason.Reason {
	d := &m.current
	nearest, least := 0, math.Inf(1)
	for a := range m.capacity {
		short := d.shard.Plus(d.executor).Minus(m.capacity[a]).Max(resources.Amount{})
		if much := d.shortage(short); much < least {
			nearest, least = a, much
		}
	}
	return reason.NeverFits(m.need(1), m.name(nearest), m.capacity[nearest].String())
}

// others returns why agents may not be used, with one agent of each kind as an example; zero if there are none.
func (m *matcher) others(v survey) reason.Reason {
	var reserved, full, avoided reason.Reason
	if g := v.reserved; g.agents > 0 {
		reserved = reason.AgentsReserved(g.agents, m.name(g.first), m.reservedFor[g.first])
	}
	if g := v.full; g.agents > 0 {
		full = reason.AgentsFull(g.agents, m.name(g.first))
	}
	if g := v.avoided; g.agents > 0 {
		avoided = reason.AgentsAvoided(g.agents, m.name(g.first), m.current.Avoid[m.agents[m.inputIndex[g.first]].ID])
	}
	return reason.All(reserved, full, avoided)
}

func (m *matcher) name(a int) reason.Agent {
	agent := &m.agents[m.inputIndex[a]]
	return reason.Agent{ID: agent.ID, Host: agent.Host}
}

func (m *matcher) appName() string {
	if m.current.App != "" {
		return m.current.App
	}
	return m.current.Executor
}

// amounts formats the parts that are not zero.
func amounts(r resources.Amount) string {
	cpu, mem := resources.Decimal(r.CPUMilli)+" CPU", resources.Decimal(r.MemMilli)+" MB"
	switch {
	case r.MemMilli == 0:
		return cpu
	case r.CPUMilli == 0:
		return mem
	default:
		return cpu + " and " + mem
	}
}

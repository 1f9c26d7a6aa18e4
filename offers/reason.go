package offers

import (
	"fmt"
	"math"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// recordUnplaced records that items of the current demand wait, and why. The reason applies to the resources that
// earlier demands and the placed shards of this one have left.
func (m *matcher) recordUnplaced(u Unplaced) {
	u.Demand = m.current.index
	m.result.Unplaced = append(m.result.Unplaced, u)
}

// noRoom returns why items wait: the agents on offer lack room, or may not be used. roomRecorded says that the entries
// contain the room of every usable agent, not limited by its call.
func (m *matcher) noRoom(items []int, roomRecorded bool) Unplaced {
	u, need := Unplaced{Items: items}, m.need(len(items))
	if len(m.agents) == 0 {
		u.Reason = reason.Of(reason.NothingOnOffer)
		return u
	}
	v := m.survey(roomRecorded)
	u.Reserved = v.reserved.agents > 0
	if v.usable == 0 {
		u.Reason = reason.NoAgentUsable(need, len(m.agents), m.unusableReasons(v))
		return u
	}
	short := ""
	if v.full.agents < v.usable {
		short = amounts(v.short)
	}
	u.Reason = reason.NoRoom(need, v.usable, v.room, m.agentName(v.nearest), short, m.unusableReasons(v))
	return u
}

// inLaterMatch returns why items wait although agents have room for them: their descriptions exceed the calls, so that
// a later match launches them.
func (m *matcher) inLaterMatch(items []int) Unplaced {
	shard, limit := formatBytes(m.current.bytes), formatBytes(m.callCapacity(0))
	return Unplaced{Items: items, Later: true, Reason: reason.WithNextLaunch(len(items), shard, limit)}
}

// formatBytes formats a number of bytes for users, rounded up to KiB or MiB.
func formatBytes(n int32) string {
	name, unit := "KiB", int64(1<<10)
	if n >= 1<<20 {
		name, unit = "MiB", 1<<20
	}
	return fmt.Sprintf("%d %s", (int64(n)+unit-1)/unit, name)
}

// survey contains what prevents the placement of a demand on the agents on offer.
type survey struct {
	usable int // the number of usable agents
	// room is the number of shards that they can hold. It is 0 for a demand that is not Together, because all of its
	// shards that fit have been placed.
	room int
	// nearest is the usable agent that lacks least to hold one shard more than it can. short is what it lacks, and
	// shortage is short as a multiple of the shard.
	nearest  int
	short    resources.Amount
	shortage float64
	// reserved and avoided are agents that may not be used.
	reserved, avoided group
	// full are usable agents that have the resources for one more shard, but accept no more tasks.
	full group
}

// group counts agents.
type group struct {
	agents int
	first  int // the agent that was added first
}

func (g *group) add(a int) {
	if g.agents++; g.agents == 1 {
		g.first = a
	}
}

// survey examines what is free on all agents, after earlier demands and the placed shards of this one. If roomRecorded
// is set, it reads their room from their entries.
func (m *matcher) survey(roomRecorded bool) survey {
	d := &m.current
	v := survey{shortage: math.Inf(1)}
	for a := range m.entries {
		e := &m.entries[a]
		if e.barred == d.stamp {
			if r := m.reservedFor[a]; r != "" && r != d.ID {
				v.reserved.add(a)
			} else {
				v.avoided.add(a)
			}
			continue
		}
		v.usable++
		free := e.free
		if e.running != d.stamp && e.started != d.stamp {
			free = free.Minus(d.executor)
		}
		shards := 1 // one more than fit
		if d.Together {
			room := int(e.room)
			if !roomRecorded {
				room = min(free.Holds(d.shard, len(d.Items)), int(e.slots))
			}
			v.room += room
			shards += room
		}
		if int(e.slots) < shards && d.shard.Times(shards).Fits(free) {
			v.full.add(a)
			continue
		}
		short := d.shard.Times(shards).Minus(free).Max(resources.Amount{})
		if shortage := d.shortage(short); shortage < v.shortage {
			v.nearest, v.short, v.shortage = a, short, shortage
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

// canHold reports whether an agent could hold one shard if it were empty; it assumes so for an agent of unknown
// capacity. Where the executor runs, its size is not counted, because that amount may never have been observed as
// free.
func (m *matcher) canHold(a int) bool {
	return m.capacityUnknown[a] || m.current.shard.Plus(m.executorNeed(a)).Fits(m.capacity[a])
}

// need returns the need of a number of items, for a reason.
func (m *matcher) need(items int) reason.Need {
	d := &m.current
	n := reason.Need{Shards: items, Together: d.Together, Each: d.shard.String(), App: m.appName()}
	if !d.executor.IsZero() {
		n.Executor = d.executor.String()
	}
	return n
}

// neverReason says that no agent can ever hold one shard, and names the agent that lacks least.
func (m *matcher) neverReason() reason.Reason {
	d := &m.current
	nearest, least := 0, math.Inf(1)
	for a := range m.capacity {
		short := d.shard.Plus(d.executor).Minus(m.capacity[a]).Max(resources.Amount{})
		if shortage := d.shortage(short); shortage < least {
			nearest, least = a, shortage
		}
	}
	return reason.NeverFits(m.need(1), m.agentName(nearest), m.capacity[nearest].String())
}

// unusableReasons says how many agents are reserved, full or avoided, with one agent of each group as an example. It
// returns zero if all these groups are empty.
func (m *matcher) unusableReasons(v survey) reason.Reason {
	var reserved, full, avoided reason.Reason
	if g := v.reserved; g.agents > 0 {
		reserved = reason.AgentsReserved(g.agents, m.agentName(g.first), m.reservedFor[g.first])
	}
	if g := v.full; g.agents > 0 {
		full = reason.AgentsFull(g.agents, m.agentName(g.first))
	}
	if g := v.avoided; g.agents > 0 {
		example := m.agentName(g.first)
		avoided = reason.AgentsAvoided(g.agents, example, m.current.Avoid[example.ID])
	}
	return reason.All(reserved, full, avoided)
}

// agentName returns an agent's id and host, for a reason.
func (m *matcher) agentName(a int) reason.Agent {
	agent := &m.agents[m.inputIndex[a]]
	return reason.Agent{ID: agent.ID, Host: agent.Host}
}

// appName returns the name of the demand's app; the key of its executor if the demand names no app.
func (m *matcher) appName() string {
	if m.current.App != "" {
		return m.current.App
	}
	return m.current.Executor
}

// amounts formats the parts of an amount that are not zero.
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

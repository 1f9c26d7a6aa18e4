package offers

import (
	"fmt"
	"math"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// leave notes that items of the current demand wait, and why. What it says is
// true of what earlier demands, and this one's placed shards, have left.
func (m *matcher) leave(u Unplaced) {
	u.Demand = m.now.index
	m.result.Unplaced = append(m.result.Unplaced, u)
}

// notNow says what the agents on offer lack.
func (m *matcher) notNow(waiting []int, tried bool) Unplaced {
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

// later says that items follow for which there is room.
func (m *matcher) later(items []int) Unplaced {
	each, limit := size(m.now.bytes), size(m.whole(0))
	return Unplaced{Items: items, Later: true, Reason: reason.WithNextLaunch(len(items), each, limit)}
}

// size writes a number of bytes for people, rounded up.
func size(n int32) string {
	unit, of := "KiB", int64(1<<10)
	if n >= 1<<20 {
		unit, of = "MiB", 1<<20
	}
	return fmt.Sprintf("%d %s", (int64(n)+of-1)/of, unit)
}

// survey is what stands between a demand and the agents on offer.
type survey struct {
	usable, room int // agents, and how many shards they can hold
	// nearest is the usable agent that lacks least for one shard more than it can hold,
	// short what it lacks, and much how much that is.
	nearest int
	short   resources.Amount
	much    float64
	// Agents that may not be used.
	reserved, avoided group
	// full are usable agents that have resources for one shard more, and take no more tasks.
	full group
}

// group is some agents.
type group struct {
	agents int
	first  int // the one that was added first
}

func (g *group) add(a int) {
	if g.agents++; g.agents == 1 {
		g.first = a
	}
}

// survey looks at all agents. After find it takes their room from the books: of what has
// shards of the demand by now, it is what they left or would need beside them.
func (m *matcher) survey(found bool) survey {
	d := &m.now
	v := survey{much: math.Inf(1)}
	for a := range m.books {
		b := &m.books[a]
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
		if much := d.much(short); much < v.much {
			v.nearest, v.short, v.much = a, short, much
		}
	}
	return v
}

// much makes an amount comparable: in shards of the demand.
func (d *current) much(r resources.Amount) float64 {
	return float64(r.CPUMilli)*d.perCPU + float64(r.MemMilli)*d.perMem
}

// never reports whether no agent of those on offer, whatever leaves it, can hold one shard.
func (m *matcher) never() bool {
	if len(m.agents) == 0 || m.canHold(m.large) {
		return false
	}
	for a := range m.books {
		if m.canHold(a) {
			m.large = a
			return false
		}
	}
	return true
}

// canHold reports whether an agent could hold one shard if all else left it, as
// far as is known: an agent of unknown capacity could. Where the executor runs, its
// size may never have been seen as free, so it isn't asked for.
func (m *matcher) canHold(a int) bool {
	return m.unknown[a] || m.now.shard.Plus(m.once(a)).Fits(m.capacity[a])
}

// need is what so many items need.
func (m *matcher) need(items int) reason.Need {
	d := &m.now
	n := reason.Need{Shards: items, Together: d.Together, Each: d.shard.String(), App: m.appName()}
	if !d.executor.IsZero() {
		n.Executor = d.executor.String()
	}
	return n
}

func (m *matcher) neverReason() reason.Reason {
	d := &m.now
	nearest, least := 0, math.Inf(1)
	for a := range m.capacity {
		if much := m.now.much(d.shard.Plus(d.executor).Minus(m.capacity[a]).Max(resources.Amount{})); much < least {
			nearest, least = a, much
		}
	}
	return reason.NeverFits(m.need(1), m.name(nearest), m.capacity[nearest].String())
}

// others says why agents may not be used, with one agent of each kind as the example; it may be none.
func (m *matcher) others(v survey) reason.Reason {
	var reserved, full, avoided reason.Reason
	if g := v.reserved; g.agents > 0 {
		reserved = reason.AgentsReserved(g.agents, m.name(g.first), m.reservedFor[g.first])
	}
	if g := v.full; g.agents > 0 {
		full = reason.AgentsFull(g.agents, m.name(g.first))
	}
	if g := v.avoided; g.agents > 0 {
		avoided = reason.AgentsAvoided(g.agents, m.name(g.first), m.now.Avoid[m.agents[m.given[g.first]].ID])
	}
	return reason.All(reserved, full, avoided)
}

func (m *matcher) name(a int) reason.Agent {
	agent := &m.agents[m.given[a]]
	return reason.Agent{ID: agent.ID, Host: agent.Host}
}

func (m *matcher) appName() string {
	if m.now.App != "" {
		return m.now.App
	}
	return m.now.Executor
}

// amounts names the parts that are not zero.
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

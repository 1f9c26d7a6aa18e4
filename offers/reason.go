package offers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/resources"
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
		u.Reason = "no agent has anything on offer now"
		return u
	}
	v := m.survey(tried)
	u.Reserved = v.reserved.agents > 0
	if v.usable == 0 {
		none := "the only agent on offer may not be used: "
		if n := len(m.agents); n > 1 {
			none = fmt.Sprintf("none of the %d agents on offer may be used: ", n)
		}
		u.Reason = m.need(items) + ", but " + none + m.others(v)
		return u
	}
	offering, possible := "agents offer", "none"
	if v.usable == 1 {
		offering = "agent offers"
	}
	if v.room > 0 {
		possible = strconv.Itoa(v.room)
	}
	u.Reason = fmt.Sprintf("%s: %d %s room for %s", m.need(items), v.usable, offering, possible)
	if v.full.agents < v.usable {
		u.Reason += fmt.Sprintf("; nearest to one more: %s, short by %s", m.name(v.nearest), amounts(v.short))
	}
	if v.reserved.agents+v.avoided.agents+v.full.agents > 0 {
		u.Reason += "; " + m.others(v)
	}
	return u
}

// later says that items follow for which there is room.
func (m *matcher) later(items []int) Unplaced {
	subject := "1 shard follows"
	if n := len(items); n > 1 {
		subject = fmt.Sprintf("%d shards follow", n)
	}
	return Unplaced{Items: items, Later: true, Reason: fmt.Sprintf(
		"%s with the next launch: each is sent %s of settings, and one call to an agent holds %s",
		subject, size(m.now.bytes), size(m.whole(0)))}
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

// need says what waits and what it takes.
func (m *matcher) need(items int) string {
	d := &m.now
	var b strings.Builder
	switch {
	case items == 1:
		fmt.Fprintf(&b, "1 shard needs %s", d.shard)
	case d.Together:
		fmt.Fprintf(&b, "%d shards, which start together, need %s each", items, d.shard)
	default:
		fmt.Fprintf(&b, "%d shards need %s each", items, d.shard)
	}
	if !d.executor.IsZero() {
		fmt.Fprintf(&b, " (and %s once per agent for the executor of %s)", d.executor, m.appName())
	}
	return b.String()
}

func (m *matcher) neverReason() string {
	d := &m.now
	nearest, least := 0, math.Inf(1)
	for a := range m.capacity {
		if much := m.now.much(d.shard.Plus(d.executor).Minus(m.capacity[a]).Max(resources.Amount{})); much < least {
			nearest, least = a, much
		}
	}
	needs := d.shard.String()
	if !d.executor.IsZero() {
		needs += fmt.Sprintf(", and %s for the executor of %s", d.executor, m.appName())
	}
	return fmt.Sprintf("no agent can ever hold one shard: it needs %s; the nearest, %s, has %s",
		needs, m.name(nearest), m.capacity[nearest])
}

// others says why agents may not be used, with one agent of each kind as the example.
func (m *matcher) others(v survey) string {
	var parts []string
	add := func(g group, what, why string) {
		subject := m.name(g.first) + " is " + what
		if g.agents > 1 {
			subject = fmt.Sprintf("%d agents are %s, such as %s", g.agents, what, m.name(g.first))
		}
		if g.agents > 0 {
			parts = append(parts, subject+why)
		}
	}
	add(v.reserved, "reserved", " for execution "+m.reservedFor[v.reserved.first])
	add(v.full, "full", ": it has as many tasks as it takes")
	add(v.avoided, "avoided", ": "+m.now.Avoid[m.agents[m.given[v.avoided.first]].ID])
	return strings.Join(parts, "; ")
}

func (m *matcher) name(a int) string {
	agent := &m.agents[m.given[a]]
	if agent.Host == "" {
		return "agent " + agent.ID
	}
	return fmt.Sprintf("agent %s (host %s)", agent.ID, agent.Host)
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

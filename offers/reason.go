package offers

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/app"
)

// leave notes that items of the current demand wait, and why. What it says is
// true of what earlier demands, and this one's placed shards, have left.
func (m *matcher) leave(items []int) {
	u := Unplaced{Demand: m.now.index, Items: items}
	switch {
	case len(m.agents) == 0:
		u.Reason = "no agent has anything on offer now"
	case m.never():
		u.Never = true
		u.Reason = m.neverReason()
	default:
		u.Reason = m.notNow(len(items))
	}
	m.result.Unplaced = append(m.result.Unplaced, u)
}

// notNow says what the agents on offer lack.
func (m *matcher) notNow(items int) string {
	v := m.survey()
	if v.usable == 0 {
		return m.need(items) + ", but " + m.noneUsable(v)
	}
	offering, possible := "agents offer", "none"
	if v.usable == 1 {
		offering = "agent offers"
	}
	if v.room > 0 {
		possible = strconv.Itoa(v.room)
	}
	reason := fmt.Sprintf("%s: %d %s room for %s; nearest to one more: %s, short by %s",
		m.need(items), v.usable, offering, possible, m.name(v.nearest), amounts(v.short))
	if v.reserved+v.avoided > 0 {
		reason += "; " + m.others(v)
	}
	return reason
}

// survey is what stands between the current demand and the agents on offer.
type survey struct {
	usable, room int           // agents, and how many shards they can hold
	nearest      int           // the usable agent that lacks least for one more shard
	short        app.Resources // what it lacks
	// Agents that may not be used, and one of each.
	reserved, avoided       int
	anyReserved, anyAvoided int
}

func (m *matcher) survey() survey {
	d := &m.now
	var v survey
	least := math.Inf(1)
	for a := range m.free {
		switch {
		case m.reserved(a):
			if v.reserved++; v.reserved == 1 {
				v.anyReserved = a
			}
		case d.avoided[a] == d.stamp:
			if v.avoided++; v.avoided == 1 {
				v.anyAvoided = a
			}
		default:
			v.usable++
			one := d.shard
			if d.Together && d.room[a] > 0 {
				v.room += d.room[a]
				one = d.shard.Times(d.room[a] + 1)
			}
			short := largest(m.once(a).Plus(one).Minus(m.free[a]), app.Resources{})
			if much := m.much(short); much < least {
				v.nearest, v.short, least = a, short, much
			}
		}
	}
	return v
}

// much makes an amount comparable: in shards of the current demand.
func (m *matcher) much(r app.Resources) float64 {
	return float64(r.CPUMilli)*m.now.perCPU + float64(r.MemMilli)*m.now.perMem
}

// never reports whether no agent, whatever leaves it, can hold one shard.
func (m *matcher) never() bool {
	for a := range m.free {
		if m.canHold(a) {
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
		if much := m.much(largest(d.shard.Plus(d.executor).Minus(m.capacity[a]), app.Resources{})); much < least {
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

func (m *matcher) noneUsable(v survey) string {
	n := len(m.agents)
	if n == 1 {
		return "the only agent on offer may not be used: " + m.others(v)
	}
	return fmt.Sprintf("none of the %d agents on offer may be used: %s", n, m.others(v))
}

// others says why agents may not be used, with one agent of each kind as the example.
func (m *matcher) others(v survey) string {
	var parts []string
	if a := v.anyReserved; v.reserved == 1 {
		parts = append(parts, fmt.Sprintf("%s is reserved for execution %s", m.name(a), m.reservedFor[a]))
	} else if v.reserved > 1 {
		parts = append(parts, fmt.Sprintf("%d agents are reserved, such as %s for execution %s", v.reserved, m.name(a), m.reservedFor[a]))
	}
	if v.avoided > 0 {
		a := v.anyAvoided
		subject := m.name(a) + " is avoided"
		if v.avoided > 1 {
			subject = fmt.Sprintf("%d agents are avoided, such as %s", v.avoided, m.name(a))
		}
		parts = append(parts, subject+": "+m.now.Avoid[m.agents[m.given[a]].ID])
	}
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
func amounts(r app.Resources) string {
	cpu, mem := app.Amount(r.CPUMilli)+" CPU", app.Amount(r.MemMilli)+" MB"
	switch {
	case r.MemMilli == 0:
		return cpu
	case r.CPUMilli == 0:
		return mem
	default:
		return cpu + " and " + mem
	}
}

package offers_test

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

var (
	sentence = regexp.MustCompile(`^(\d+) shards?(, which start together,)? needs? (\S+ CPU, \S+ MB)(?: each)?(?: \(and (\S+ CPU, \S+ MB) once per agent for the executor of (\w+)\))?` +
		`(?:, but (\d+) agents? on offer ha(?:s|ve) room for (\d+|none)(?:; the closest to one more is agent (\w+) \(host (\w+)\), which lacks (?:(\S+) CPU)?(?: and )?(?:(\S+) MB)?)?` +
		`|, but (?:none of the \d+ agents|the only agent) on offer may (?:not )?be used)(?:[:;] |$)(.*)$`)
	neverSentence = regexp.MustCompile(`^no agent can ever hold one shard: it needs (\S+ CPU, \S+ MB)(?:, and (\S+ CPU, \S+ MB) for the executor of (\w+))?; ` +
		`the nearest, agent (\w+) \(host (\w+)\), has (\S+) CPU, (\S+) MB$`)
	reservedPart = regexp.MustCompile(
		`(?:(\d+) agents are reserved, such as )?agent (\w+) \(host \w+\) (?:is reserved )?for execution (\w+)`)
	fullPart    = regexp.MustCompile(`(?:(\d+) agents are full, such as )?agent (\w+) \(host \w+\)(?: is full)?: it has as many (tasks) as it takes`)
	avoidedPart = regexp.MustCompile(
		`(?:(\d+) agents are avoided, such as )?agent (\w+) \(host \w+\)(?: is avoided)?: bad luck with (\w+)$`)
)

// milli parses an amount exactly; "" is zero.
func milli(s string) int64 {
	if s == "" {
		return 0
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return -1
	}
	r.Mul(r, big.NewRat(1000, 1))
	return r.Num().Int64() / r.Denom().Int64()
}

// untrue parses a reason and returns an error about the first statement in it that the ledgers contradict.
func untrue(u offers.Unplaced, d offers.Demand, ledgers []*ledger) error {
	named := func(id, host string) *ledger {
		for _, l := range ledgers {
			if l.ID == id && l.Host == host {
				return l
			}
		}
		return nil
	}
	never := len(ledgers) > 0
	var usable, room, reserved, avoided, full int
	for _, l := range ledgers {
		capacity := resources.Amount{CPUMilli: max(l.Capacity.CPUMilli, l.Free.CPUMilli),
			MemMilli: max(l.Capacity.MemMilli, l.Free.MemMilli)}
		if l.Capacity.IsZero() || l.need(d, 1).Fits(capacity) {
			never = false
		}
		switch {
		case l.ReservedFor != "" && l.ReservedFor != d.ID:
			reserved++
		case !l.usable(d):
			avoided++
		default:
			usable++
			room += l.room(d, len(d.Items))
			if l.full(d) {
				full++
			}
		}
	}
	if u.Never != never {
		return fmt.Errorf("never is %v, want %v", u.Never, never)
	}
	executor := ""
	if !d.ExecutorSize.IsZero() {
		executor = d.ExecutorSize.String()
	}
	if never {
		m := neverSentence.FindStringSubmatch(u.Reason.String())
		if m == nil || m[1] != d.Shard.String() || m[2] != executor {
			return fmt.Errorf("it doesn't say what one shard needs: %q", m)
		}
		l := named(m[4], m[5])
		if l == nil || milli(m[6]) != max(l.Capacity.CPUMilli, l.Free.CPUMilli) ||
			milli(m[7]) != max(l.Capacity.MemMilli, l.Free.MemMilli) {
			return fmt.Errorf("the largest agent isn't as it says: %q", m)
		}
		return nil
	}
	if len(ledgers) == 0 {
		if !u.Reason.Is(reason.NothingOnOffer) {
			return fmt.Errorf("there are no agents")
		}
		return nil
	}
	m := sentence.FindStringSubmatch(u.Reason.String())
	if m == nil {
		return fmt.Errorf("the sentence is not understood")
	}
	if m[1] != strconv.Itoa(len(u.Items)) || m[3] != d.Shard.String() || m[4] != executor ||
		(m[2] != "") != (d.Together && len(d.Items) > 1) {
		return fmt.Errorf("the need is not as it says: %q", m[1:5])
	}
	if (m[6] == "") != (usable == 0) {
		return fmt.Errorf("%d agents are usable", usable)
	}
	if usable > 0 {
		if m[6] != strconv.Itoa(usable) || strings.Replace(m[7], "none", "0", 1) != strconv.Itoa(room) {
			return fmt.Errorf("%d agents are usable, with room for %d", usable, room)
		}
	}
	if (m[8] == "") != (usable == full) {
		return fmt.Errorf("%d of %d agents are full", full, usable)
	}
	if usable > full {
		l := named(m[8], m[9])
		if l == nil || !l.usable(d) || l.full(d) {
			return fmt.Errorf("%s may not be used", m[8])
		}
		short := lacks(l, d)
		if said := (resources.Amount{CPUMilli: milli(m[10]), MemMilli: milli(m[11])}); said != short ||
			short.IsZero() {
			return fmt.Errorf("%s is short by %s", l.ID, short)
		}
		for _, other := range ledgers {
			if s := lacks(other, d); other.usable(d) && !other.full(d) && s.Fits(short) && s != short {
				return fmt.Errorf("%s is nearer, short by %s", other.ID, s)
			}
		}
	}
	if err := part(reservedPart, m[12], reserved, func(id, why string) bool {
		return slices.ContainsFunc(ledgers,
			func(l *ledger) bool { return l.ID == id && l.ReservedFor == why && why != d.ID })
	}); err != nil {
		return fmt.Errorf("reserved: %w", err)
	}
	if err := part(fullPart, m[12], full, func(id, _ string) bool {
		return slices.ContainsFunc(ledgers, func(l *ledger) bool { return l.ID == id && l.usable(d) && l.full(d) })
	}); err != nil {
		return fmt.Errorf("full: %w", err)
	}
	if err := part(avoidedPart, m[12], avoided, func(id, why string) bool {
		_, avoided := d.Avoid[id]
		return avoided && id == why
	}); err != nil {
		return fmt.Errorf("avoided: %w", err)
	}
	return nil
}

// full reports whether the agent has the resources for one more shard than it has room for, but accepts no more tasks.
func (l *ledger) full(d offers.Demand) bool {
	n := l.room(d, len(d.Items)) + 1
	return n > l.slots && l.need(d, n).Fits(l.left)
}

// lacks returns what an agent lacks for one more shard than it has room for.
func lacks(l *ledger, d offers.Demand) resources.Amount {
	short := l.need(d, l.room(d, len(d.Items))+1).Minus(l.left)
	return resources.Amount{CPUMilli: max(short.CPUMilli, 0), MemMilli: max(short.MemMilli, 0)}
}

// part checks the part of a reason about one group of agents: their number, which must be want, and the example.
func part(form *regexp.Regexp, text string, want int, isTrue func(id, why string) bool) error {
	m := form.FindStringSubmatch(text)
	switch {
	case m == nil && want == 0:
		return nil
	case m == nil || want == 0:
		return fmt.Errorf("there are %d such agents, the reason says %q", want, m)
	case (m[1] == "") != (want == 1) || m[1] != "" && m[1] != strconv.Itoa(want):
		return fmt.Errorf("there are %d such agents, the reason says %s", want, m[1])
	case !isTrue(m[2], m[3]):
		return fmt.Errorf("the reason names %s, which is no such agent", m[2])
	}
	return nil
}

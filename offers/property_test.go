package offers_test

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
)

// situation is what Match is asked. Sizes are small so that limits are met all the time.
type situation struct {
	demands  []offers.Demand
	agents   []offers.Agent
	strategy offers.Strategy
}

func size(most int64) *rapid.Generator[resources.Amount] {
	return rapid.Custom(func(t *rapid.T) resources.Amount {
		return resources.Amount{CPUMilli: rapid.Int64Range(0, most).Draw(t, "cpu"), MemMilli: rapid.Int64Range(0, most).Draw(t, "memory")}
	})
}

var situations = rapid.Custom(func(t *rapid.T) (s situation) {
	kinds := []string{"a@-@1", "a@-@2", "b@-@1"}
	// As in life, executors of one kind have one size.
	executors := rapid.SliceOfN(size(4), len(kinds), len(kinds)).Draw(t, "executors")
	unlucky := func(what string, oneIn int) bool { return rapid.IntRange(1, oneIn).Draw(t, what) == oneIn }
	for i := range rapid.IntRange(0, 6).Draw(t, "agents") {
		a := offers.Agent{ID: fmt.Sprintf("S%d", i), Host: fmt.Sprintf("h%d", i%2), Free: size(12).Draw(t, "free"), Executors: map[string]bool{}}
		for _, kind := range kinds {
			if unlucky("has executor", 4) {
				a.Executors[kind] = rapid.Bool().Draw(t, "takes tasks")
			}
		}
		if unlucky("is reserved", 6) {
			a.ReservedFor = rapid.SampledFrom([]string{"e0", "e1", "elsewhere"}).Draw(t, "reserved for")
		}
		if !unlucky("has unknown capacity", 5) {
			a.Capacity = size(14).Draw(t, "capacity")
		}
		s.agents = append(s.agents, a)
	}
	s.agents = rapid.Permutation(s.agents).Draw(t, "order")
	for i := range rapid.IntRange(0, 6).Draw(t, "demands") {
		kind := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
		d := offers.Demand{
			ID: fmt.Sprintf("e%d", i), App: kinds[kind][:1], Together: rapid.Bool().Draw(t, "together"),
			Shard: size(4).Draw(t, "shard"), Executor: kinds[kind], ExecutorSize: executors[kind], Avoid: map[string]string{},
		}
		if unlucky("is huge", 6) {
			d.Shard = size(20).Draw(t, "huge shard")
		}
		for item := range rapid.IntRange(0, 6).Draw(t, "items") {
			d.Items = append(d.Items, item*2)
		}
		for _, a := range s.agents {
			if unlucky("avoids", 6) {
				d.Avoid[a.ID] = "bad luck with " + a.ID
			}
		}
		s.demands = append(s.demands, d)
	}
	s.strategy = rapid.SampledFrom([]offers.Strategy{offers.Pack, offers.Spread}).Draw(t, "strategy")
	return s
})

// ledger is an agent's books, kept the plainest way.
type ledger struct {
	*offers.Agent
	left  resources.Amount
	kinds map[string]bool
}

func open(agents []offers.Agent) []*ledger {
	books := make([]*ledger, len(agents))
	for i := range agents {
		books[i] = &ledger{Agent: &agents[i], left: agents[i].Free, kinds: map[string]bool{}}
		for kind, runs := range agents[i].Executors {
			books[i].kinds[kind] = runs
		}
	}
	return books
}

func (l *ledger) usable(d offers.Demand) bool {
	_, avoided := d.Avoid[l.ID]
	return !avoided && (l.ReservedFor == "" || l.ReservedFor == d.ID)
}

// price is what n shards take here.
func (l *ledger) price(d offers.Demand, n int) resources.Amount {
	price := d.Shard.Times(n)
	if !l.kinds[d.Executor] {
		price = price.Plus(d.ExecutorSize)
	}
	return price
}

// room counts how many shards fit, up to a most, by trying.
func (l *ledger) room(d offers.Demand, most int) (n int) {
	for n < most && l.usable(d) && l.price(d, n+1).Fits(l.left) {
		n++
	}
	return n
}

// share is how much of an agent is free.
func (l *ledger) share() (share float64) {
	if capacity := max(l.Capacity.CPUMilli, l.Free.CPUMilli); capacity > 0 {
		share += float64(l.left.CPUMilli) / float64(capacity)
	}
	if capacity := max(l.Capacity.MemMilli, l.Free.MemMilli); capacity > 0 {
		share += float64(l.left.MemMilli) / float64(capacity)
	}
	return share
}

// TestMatchKeepsItsPromises replays every decision on books of its own.
func TestMatchKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		r := offers.Match(s.demands, s.agents, s.strategy)
		books := open(s.agents)
		placements, unplaced := r.Placements, r.Unplaced
		for i, d := range s.demands {
			beside := 0 // what there is room for where the executor runs already
			room := 0
			for _, l := range books {
				n := l.room(d, len(d.Items))
				room += n
				if l.kinds[d.Executor] {
					beside += n
				}
			}
			var items []int
			ran := map[*ledger]bool{}
			touched := map[*ledger]bool{}
			for _, l := range books {
				ran[l] = l.kinds[d.Executor]
			}
			for len(placements) > 0 && placements[0].Demand == i {
				p := placements[0]
				placements = placements[1:]
				l := books[p.Agent]
				if !l.usable(d) {
					t.Fatalf("L2, L6: %s is on %s, which it may not use", d.ID, l.ID)
				}
				if !l.kinds[d.Executor] && beside > len(items) {
					t.Fatalf("%s starts an executor on %s with room for %d beside running ones", d.ID, l.ID, beside)
				}
				for _, other := range books {
					if ran[other] != ran[l] || other.room(d, 1) == 0 || touched[l] && s.strategy == offers.Pack {
						continue
					}
					if by := l.share() - other.share(); s.strategy == offers.Pack && by > 1e-9 || s.strategy == offers.Spread && by < -1e-9 {
						t.Fatalf("%s item %d is on %s, of which %.3f are free, not on %s, of which %.3f are", d.ID, p.Item, l.ID, l.share(), other.ID, other.share())
					}
				}
				touched[l] = true
				price := l.price(d, 1)
				if !price.Fits(l.left) {
					t.Fatalf("%s item %d takes %s of %s, which has %s", d.ID, p.Item, price, l.ID, l.left)
				}
				l.left, l.kinds[d.Executor] = l.left.Minus(price), true
				items = append(items, p.Item)
			}
			waiting := 0
			if len(unplaced) > 0 && unplaced[0].Demand == i {
				waiting = len(unplaced[0].Items)
				if waiting == 0 {
					t.Fatalf("%s waits without items", d.ID)
				}
				items = append(items, unplaced[0].Items...)
			}
			slices.Sort(items)
			if diff := cmp.Diff(d.Items, items, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("items of %s, placed and waiting (-want +got):\n%s", d.ID, diff)
			}
			placed := len(d.Items) - waiting
			switch {
			case d.Together && placed > 0 && waiting > 0:
				t.Fatalf("L1: %s was split, %d placed, %d waiting", d.ID, placed, waiting)
			case waiting > 0 && d.Together && room >= len(d.Items):
				t.Fatalf("%s has %d items and room for %d, and waits", d.ID, len(d.Items), room)
			case !d.Together && placed != min(room, len(d.Items)):
				t.Fatalf("%s has %d items and room for %d, and %d were placed", d.ID, len(d.Items), room, placed)
			}
			if waiting > 0 {
				if err := untrue(unplaced[0], d, books); err != nil {
					t.Fatalf("%s: %v\nreason: %s", d.ID, err, unplaced[0].Reason)
				}
				unplaced = unplaced[1:]
			}
		}
		if len(placements)+len(unplaced) > 0 {
			t.Fatalf("results out of order: %v %v", placements, unplaced)
		}
	})
}

var (
	sentence = regexp.MustCompile(`^(\d+) shards?(, which start together,)? needs? (\S+ CPU, \S+ MB)(?: each)?(?: \(and (\S+ CPU, \S+ MB) once per agent for the executor of (\w+)\))?` +
		`(?:: (\d+) agents? offers? room for (\d+|none); nearest to one more: agent (\w+) \(host (\w+)\), short by (?:(\S+) CPU)?(?: and )?(?:(\S+) MB)?` +
		`|, but (?:none of the \d+ agents|the only agent) on offer may (?:not )?be used)(?:[:;] |$)(.*)$`)
	neverSentence = regexp.MustCompile(`^no agent can ever hold one shard: it needs (\S+ CPU, \S+ MB)(?:, and (\S+ CPU, \S+ MB) for the executor of (\w+))?; ` +
		`the nearest, agent (\w+) \(host (\w+)\), has (\S+) CPU, (\S+) MB$`)
	reservedPart = regexp.MustCompile(`(?:(\d+) agents are reserved, such as )?agent (\w+) \(host \w+\) (?:is reserved )?for execution (\w+)`)
	avoidedPart  = regexp.MustCompile(`(?:(\d+) agents are avoided, such as )?agent (\w+) \(host \w+\)(?: is avoided)?: bad luck with (\w+)$`)
)

// milli reads an amount exactly; nothing is none.
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

// untrue takes a reason apart and finds a part that the books don't bear out.
func untrue(u offers.Unplaced, d offers.Demand, books []*ledger) error {
	named := func(id, host string) *ledger {
		for _, l := range books {
			if l.ID == id && l.Host == host {
				return l
			}
		}
		return nil
	}
	never := len(books) > 0
	var usable, room, reserved, avoided int
	for _, l := range books {
		ever := resources.Amount{CPUMilli: max(l.Capacity.CPUMilli, l.Free.CPUMilli), MemMilli: max(l.Capacity.MemMilli, l.Free.MemMilli)}
		if l.Capacity.IsZero() || l.price(d, 1).Fits(ever) {
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
		m := neverSentence.FindStringSubmatch(u.Reason)
		if m == nil || m[1] != d.Shard.String() || m[2] != executor {
			return fmt.Errorf("it doesn't say what one shard needs: %q", m)
		}
		l := named(m[4], m[5])
		if l == nil || milli(m[6]) != max(l.Capacity.CPUMilli, l.Free.CPUMilli) || milli(m[7]) != max(l.Capacity.MemMilli, l.Free.MemMilli) {
			return fmt.Errorf("the largest agent isn't as it says: %q", m)
		}
		return nil
	}
	if len(books) == 0 {
		if u.Reason != "no agent has anything on offer now" {
			return fmt.Errorf("there are no agents")
		}
		return nil
	}
	m := sentence.FindStringSubmatch(u.Reason)
	if m == nil {
		return fmt.Errorf("not understood")
	}
	if m[1] != strconv.Itoa(len(u.Items)) || m[3] != d.Shard.String() || m[4] != executor || (m[2] != "") != (d.Together && len(d.Items) > 1) {
		return fmt.Errorf("the need is not as it says: %q", m[1:5])
	}
	if (m[6] == "") != (usable == 0) {
		return fmt.Errorf("%d agents are usable", usable)
	}
	if usable > 0 {
		if m[6] != strconv.Itoa(usable) || strings.Replace(m[7], "none", "0", 1) != strconv.Itoa(room) {
			return fmt.Errorf("%d agents are usable, with room for %d", usable, room)
		}
		l := named(m[8], m[9])
		if l == nil || !l.usable(d) {
			return fmt.Errorf("%s may not be used", m[8])
		}
		short := lacks(l, d)
		if said := (resources.Amount{CPUMilli: milli(m[10]), MemMilli: milli(m[11])}); said != short || short.IsZero() {
			return fmt.Errorf("%s is short by %s", l.ID, short)
		}
		for _, other := range books {
			if s := lacks(other, d); other.usable(d) && s.Fits(short) && s != short {
				return fmt.Errorf("%s is nearer, short by %s", other.ID, s)
			}
		}
	}
	if err := part(reservedPart, m[12], reserved, func(id, why string) bool {
		return slices.ContainsFunc(books, func(l *ledger) bool { return l.ID == id && l.ReservedFor == why && why != d.ID })
	}); err != nil {
		return fmt.Errorf("reserved: %w", err)
	}
	if err := part(avoidedPart, m[12], avoided, func(id, why string) bool {
		_, there := d.Avoid[id]
		return there && id == why
	}); err != nil {
		return fmt.Errorf("avoided: %w", err)
	}
	return nil
}

// lacks is what an agent is short of for one shard more than it has room for.
func lacks(l *ledger, d offers.Demand) resources.Amount {
	short := l.price(d, l.room(d, len(d.Items))+1).Minus(l.left)
	return resources.Amount{CPUMilli: max(short.CPUMilli, 0), MemMilli: max(short.MemMilli, 0)}
}

// part checks one count of agents that may not be used, and its example.
func part(form *regexp.Regexp, text string, want int, isTrue func(id, why string) bool) error {
	m := form.FindStringSubmatch(text)
	switch {
	case m == nil && want == 0:
		return nil
	case m == nil || want == 0:
		return fmt.Errorf("%d agents are, it says %q", want, m)
	case (m[1] == "") != (want == 1) || m[1] != "" && m[1] != strconv.Itoa(want):
		return fmt.Errorf("%d agents are, it says %s", want, m[1])
	case !isTrue(m[2], m[3]):
		return fmt.Errorf("not true of %s", m[2])
	}
	return nil
}

// TestMatchIsPure: the same question has the same answer, whatever the order
// of agents, and is left as it was.
func TestMatchIsPure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := situations.Draw(t, "situation")
		before := fmt.Sprintf("%+v", s)
		first := offers.Match(s.demands, s.agents, s.strategy)
		if after := fmt.Sprintf("%+v", s); after != before {
			t.Fatalf("Match changed its arguments from %s to %s", before, after)
		}
		shuffled := rapid.Permutation(s.agents).Draw(t, "shuffled")
		second := offers.Match(s.demands, shuffled, s.strategy)
		same := func(p offers.Placement, agents []offers.Agent) string {
			return fmt.Sprintf("%d %d %s", p.Demand, p.Item, agents[p.Agent].ID)
		}
		if !slices.EqualFunc(first.Placements, second.Placements, func(a, b offers.Placement) bool { return same(a, s.agents) == same(b, shuffled) }) {
			t.Fatalf("placements depend on the order of agents: %v and %v", first.Placements, second.Placements)
		}
		if diff := cmp.Diff(first.Unplaced, second.Unplaced); diff != "" {
			t.Fatalf("reasons depend on the order of agents:\n%s", diff)
		}
	})
}

package offers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Pool holds the offers at hand. It
// is not safe for concurrent use. Whatever it returns is in the order of agent id, then offer id.
type Pool struct {
	offers map[string]Offer
	// agents has the ids of each agent's offers: by agent id, never by host [D57].
	agents map[string]map[string]bool
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{offers: map[string]Offer{}, agents: map[string]map[string]bool{}} }

// Add puts an offer in; one with an id that is there already replaces it.
func (p *Pool) Add(o Offer) {
	p.Rescind(o.ID)
	p.offers[o.ID] = o
	if p.agents[o.Agent] == nil {
		p.agents[o.Agent] = map[string]bool{}
	}
	p.agents[o.Agent][o.ID] = true
}

// Rescind takes one offer out, and reports whether it was there.
func (p *Pool) Rescind(id string) (Offer, bool) {
	o, there := p.offers[id]
	if !there {
		return Offer{}, false
	}
	delete(p.offers, id)
	delete(p.agents[o.Agent], id)
	if len(p.agents[o.Agent]) == 0 {
		delete(p.agents, o.Agent)
	}
	return o, true
}

// TakeAgent takes all offers of an agent out: an ACCEPT uses them together, and those of a lost agent are void.
func (p *Pool) TakeAgent(agent string) []Offer {
	taken := make([]Offer, 0, len(p.agents[agent]))
	for _, id := range slices.Sorted(maps.Keys(p.agents[agent])) {
		o, _ := p.Rescind(id)
		taken = append(taken, o)
	}
	return taken
}

// Free is what all offers of an agent hold together.
func (p *Pool) Free(agent string) resources.Amount {
	var free resources.Amount
	for id := range p.agents[agent] {
		free = free.Plus(p.offers[id].Free)
	}
	return free
}

// Sum is what all offers hold together.
func (p *Pool) Sum() resources.Amount {
	var sum resources.Amount
	for _, o := range p.offers {
		sum = sum.Plus(o.Free)
	}
	return sum
}

// Oldest is when the first of an agent's offers came, zero if it has none.
func (p *Pool) Oldest(agent string) time.Time {
	var first time.Time
	for id := range p.agents[agent] {
		if at := p.offers[id].Received; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// OlderThan takes out, for declining, the offers that came before t.
func (p *Pool) OlderThan(t time.Time) []Offer {
	var old []Offer
	for _, o := range p.offers {
		if o.Received.Before(t) {
			old = append(old, o)
		}
	}
	slices.SortFunc(old, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.ID, b.ID))
	})
	for _, o := range old {
		p.Rescind(o.ID)
	}
	return old
}

// Clear forgets all offers, as after every SUBSCRIBED (rule T6).
func (p *Pool) Clear() { *p = *NewPool() }

// Len is the number of offers.
func (p *Pool) Len() int { return len(p.offers) }

// Agents returns each agent that has offers, with their sum as Free. What else
// is known of an agent is the caller's to fill in.
func (p *Pool) Agents() []Agent {
	agents := make([]Agent, 0, len(p.agents))
	for _, id := range slices.Sorted(maps.Keys(p.agents)) {
		a := Agent{ID: id}
		for offer := range p.agents[id] {
			o := p.offers[offer]
			a.Host, a.Free = max(a.Host, o.Host),
				a.Free.Plus(o.Free) // offers of one agent name one host; if not, still always the same
			a.MaxTasks += o.MaxTasks // a cluster bounds all offers or none
		}
		agents = append(agents, a)
	}
	return agents
}

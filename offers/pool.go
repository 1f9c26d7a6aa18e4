package offers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Pool contains the current offers. It is not safe for concurrent use. All results are ordered by agent id, then offer
// id.
type Pool struct {
	offers map[string]Offer
	// agents contains the ids of each agent's offers, by agent id, never by host [D57].
	agents map[string]map[string]bool
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{offers: map[string]Offer{}, agents: map[string]map[string]bool{}} }

// Add adds an offer, and replaces one with the same id.
func (p *Pool) Add(o Offer) {
	p.Rescind(o.ID)
	p.offers[o.ID] = o
	if p.agents[o.Agent] == nil {
		p.agents[o.Agent] = map[string]bool{}
	}
	p.agents[o.Agent][o.ID] = true
}

// Rescind removes one offer, and reports whether it existed.
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

// TakeAgent removes and returns all offers of an agent: an ACCEPT uses them together, and those of a lost agent are
// void.
func (p *Pool) TakeAgent(agent string) []Offer {
	taken := make([]Offer, 0, len(p.agents[agent]))
	for _, id := range slices.Sorted(maps.Keys(p.agents[agent])) {
		o, _ := p.Rescind(id)
		taken = append(taken, o)
	}
	return taken
}

// Free returns the sum of an agent's offers.
func (p *Pool) Free(agent string) resources.Amount {
	var free resources.Amount
	for id := range p.agents[agent] {
		free = free.Plus(p.offers[id].Free)
	}
	return free
}

// Sum returns the sum of all offers.
func (p *Pool) Sum() resources.Amount {
	var sum resources.Amount
	for _, o := range p.offers {
		sum = sum.Plus(o.Free)
	}
	return sum
}

// Oldest returns when the oldest offer of an agent arrived; zero if the agent has none.
func (p *Pool) Oldest(agent string) time.Time {
	var first time.Time
	for id := range p.agents[agent] {
		if at := p.offers[id].Received; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// OlderThan removes and returns the offers that arrived before t, so that the caller can decline them.
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

// Clear removes all offers, as is required after every SUBSCRIBED (rule T6).
func (p *Pool) Clear() { *p = *NewPool() }

// Len returns the number of offers.
func (p *Pool) Len() int { return len(p.offers) }

// Agents returns each agent that has offers, with their sum as Free. The caller sets the other fields.
func (p *Pool) Agents() []Agent {
	agents := make([]Agent, 0, len(p.agents))
	for _, id := range slices.Sorted(maps.Keys(p.agents)) {
		a := Agent{ID: id}
		for offer := range p.agents[id] {
			o := p.offers[offer]
			a.Host, a.Free = max(a.Host, o.Host),
				a.Free.Plus(o.Free) // all offers of an agent have the same host; max makes the result deterministic
			a.MaxTasks += o.MaxTasks // either all offers have a bound or none
		}
		agents = append(agents, a)
	}
	return agents
}

package offers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Pool contains the current offers. It is not safe for concurrent use. All lists that it returns are ordered by agent
// id, then offer id.
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

// Rescind removes and returns one offer, and reports whether it existed.
func (p *Pool) Rescind(id string) (Offer, bool) {
	o, exists := p.offers[id]
	if !exists {
		return Offer{}, false
	}
	delete(p.offers, id)
	delete(p.agents[o.Agent], id)
	if len(p.agents[o.Agent]) == 0 {
		delete(p.agents, o.Agent)
	}
	return o, true
}

// TakeAgent removes and returns all offers of an agent, because an ACCEPT uses them together, or because the agent is
// lost.
func (p *Pool) TakeAgent(agent string) []Offer {
	removed := make([]Offer, 0, len(p.agents[agent]))
	for _, id := range slices.Sorted(maps.Keys(p.agents[agent])) {
		o, _ := p.Rescind(id)
		removed = append(removed, o)
	}
	return removed
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
	var oldest time.Time
	for id := range p.agents[agent] {
		if received := p.offers[id].Received; oldest.IsZero() || received.Before(oldest) {
			oldest = received
		}
	}
	return oldest
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

// Clear removes all offers. Every SUBSCRIBED requires this (rule T6).
func (p *Pool) Clear() { *p = *NewPool() }

// Len returns the number of offers.
func (p *Pool) Len() int { return len(p.offers) }

// Agents returns each agent that has offers, with the sums of the offers as Free and MaxTasks. The caller sets the
// fields that offers do not contain.
func (p *Pool) Agents() []Agent {
	agents := make([]Agent, 0, len(p.agents))
	for _, id := range slices.Sorted(maps.Keys(p.agents)) {
		a := Agent{ID: id}
		for offer := range p.agents[id] {
			o := p.offers[offer]
			// All offers of an agent should have the same host. If they differ, max makes the result deterministic.
			a.Host = max(a.Host, o.Host)
			a.Free = a.Free.Plus(o.Free)
			a.MaxTasks += o.MaxTasks // either all offers have a limit or none
		}
		agents = append(agents, a)
	}
	return agents
}

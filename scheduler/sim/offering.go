package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

type offer struct {
	id, agent string
	res       resources.Amount
	reserved  []cluster.Reserved // reserved part of res
}

type filter struct {
	res   resources.Amount
	until time.Duration
}

// offering has the offers and filters of a platform. It makes offers in rounds.
type offering struct {
	w       *world
	offers  map[string]*offer
	filters map[string]filter // by agent
	roundAt time.Duration     // when the next round is planned, or zero
	round   func()
	// maxDelay is the longest time from a refusal to the next round.
	maxDelay time.Duration
	send     func(cluster.Event)
}

func newOffering(w *world, maxDelay time.Duration, send func(cluster.Event), round func()) offering {
	return offering{w: w, offers: map[string]*offer{}, filters: map[string]filter{}, round: round, maxDelay: maxDelay,
		send: send}
}

// allocate schedules the next round.
func (o *offering) allocate(within time.Duration) {
	at := o.w.now + within
	if o.roundAt > o.w.now && o.roundAt <= at {
		return
	}
	o.roundAt = at
	o.w.after(within, func() {
		if o.roundAt == at {
			o.roundAt = 0
			o.round()
		}
	})
}

// rescind withdraws offers of an agent.
func (o *offering) rescind(agentID string) {
	for _, id := range sorted(o.offers) {
		if o.offers[id].agent == agentID {
			delete(o.offers, id)
			o.send(cluster.Rescind{OfferID: id})
		}
	}
}

func (o *offering) decline(ids []string, refuse time.Duration) {
	for _, id := range ids {
		if declined := o.offers[id]; declined != nil {
			delete(o.offers, id)
			o.refuse(declined.agent, declined.res, refuse)
		}
	}
}

func (o *offering) refuse(agentID string, res resources.Amount, d time.Duration) {
	if d > 0 && !res.IsZero() {
		o.filters[agentID] = filter{res: res, until: o.w.now + d}
	}
	o.allocate(o.w.between(time.Millisecond, o.maxDelay))
}

package kubernetes

import (
	"context"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// offerInterval is the minimum interval between updates of the offers. Changes within one interval are offered
// together.
const offerInterval = 50 * time.Millisecond

// Decline returns offers. Their resources are not offered again for the time refuse, unless more of them become free.
func (s *session) Decline(_ context.Context, offers []string, refuse time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range offers {
		if a := s.currentOffers[id]; a != nil {
			s.removeOffer(id, a)
			a.refuse(s.now().Add(refuse))
		}
	}
	s.offersChanged()
	return s.ended("decline offers")
}

// RequestOffers immediately offers all free resources.
func (s *session) RequestOffers(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suppressed = false
	for _, a := range s.accounts {
		a.refusedUntil = time.Time{}
	}
	s.makeOffers()
	return s.ended("request offers")
}

// StopOffers makes no further offers. Existing offers remain valid.
func (s *session) StopOffers(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suppressed = true
	return s.ended("stop offers")
}

// free returns the free resources of a node and the number of further pods that it accepts.
func (a *account) free() (room resources.Amount, slots int) {
	return a.total.Minus(a.used).Max(resources.Amount{}), a.slots - a.pods
}

func (a *account) refuse(until time.Time) {
	a.refusedUntil = until
	a.refused, a.refusedSlots = a.free()
}

// offersChanged schedules an update of the offers.
func (s *session) offersChanged() {
	select {
	case s.offersStale <- struct{}{}:
	default:
	}
}

// runOffers updates the offers when something changed, and when declined resources may be offered again.
func (s *session) runOffers() {
	for s.ctx.Err() == nil {
		s.mu.Lock()
		next := s.makeOffers()
		s.mu.Unlock()
		s.pause(offerInterval)
		if next == 0 {
			next = time.Hour // nothing was declined
		}
		timer := time.NewTimer(next)
		select {
		case <-s.offersStale:
		case <-timer.C:
		case <-s.ctx.Done():
		}
		timer.Stop()
	}
}

// makeOffers offers each node's free resources that are not on offer, and rescinds offers that are out of date. It
// returns after what time declined resources may be offered again; 0 means never.
func (s *session) makeOffers() (next time.Duration) {
	var fresh []cluster.Offer
	for name, a := range s.accounts {
		if a.uid == "" && a.pods == 0 {
			delete(s.accounts, name) // its last pod has disappeared after the node
			continue
		}
		room, slots := a.free()
		some := a.uid != "" && a.closed == "" && slots > 0 && room.CPUMilli > 0 && room.MemMilli > 0
		s.reportClosed(name, a, some)
		if o := a.offer; o != nil {
			if some && o.Resources == room && o.MaxTasks == slots && o.Total == a.total &&
				o.Attributes == a.attributes {
				continue
			}
			s.rescind(a)
		}
		if !some || s.suppressed {
			continue
		}
		grown := room.CPUMilli > a.refused.CPUMilli || room.MemMilli > a.refused.MemMilli || slots > a.refusedSlots
		if left := a.refusedUntil.Sub(s.now()); left > 0 && !grown {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		s.offered++
		a.offer = &cluster.Offer{
			ID: fmt.Sprintf("%s-%d", s.lease.holder, s.offered), AgentID: name, Hostname: name,
			Resources: room, Total: a.total, MaxTasks: slots, Attributes: a.attributes,
		}
		s.currentOffers[a.offer.ID], a.offered = a, true
		fresh = append(fresh, *a.offer)
	}
	if len(fresh) > 0 {
		s.emit(cluster.Offers{Offers: fresh})
	}
	return next
}

// reportClosed tells the core that a node is not offered, and why. A full node that was offered before is not
// reported: the core filled it itself, or gets an offer again when other pods leave the node.
func (s *session) reportClosed(name string, a *account, some bool) {
	why := a.closed
	if why == "" && !some && !a.offered {
		why = "its pods use all of its resources"
	}
	event := cluster.Closed{AgentID: name, Hostname: name, Why: why}
	if why != "" {
		event.Total, event.Attributes = a.total, a.attributes
	}
	if a.uid == "" || event == a.lastClosed || why == "" && a.lastClosed.Why == "" {
		return
	}
	a.lastClosed = event
	s.emit(event)
}

// rescind withdraws the node's current offer, if there is one.
func (s *session) rescind(a *account) {
	if a.offer != nil {
		s.emit(cluster.Rescind{OfferID: a.offer.ID})
		s.removeOffer(a.offer.ID, a)
	}
}

// removeOffer removes an offer from the current offers.
func (s *session) removeOffer(id string, a *account) {
	delete(s.currentOffers, id)
	a.offer = nil
}

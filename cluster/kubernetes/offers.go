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

// Decline returns offers. The resources of a node are not offered again for the time refuse, unless more of them become
// free.
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
	return s.checkOpen("decline offers")
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
	return s.checkOpen("request offers")
}

// StopOffers stops making offers until RequestOffers is called. Existing offers remain valid.
func (s *session) StopOffers(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suppressed = true
	return s.checkOpen("stop offers")
}

// free returns the free resources of a node and how many more pods it accepts.
func (a *account) free() (free resources.Amount, slots int) {
	return a.total.Minus(a.used).Max(resources.Amount{}), a.slots - a.pods
}

// refuse records that the core does not want the free resources until this time.
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

// runOffers updates the offers when a node or a pod has changed, and when declined resources may be offered again.
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

// makeOffers offers the free resources of each node that has no offer, and replaces offers that are out of date. Unless
// offers are suppressed, it returns the time until declined resources may be offered again; 0 if there are none. The
// caller holds mu.
func (s *session) makeOffers() (next time.Duration) {
	var fresh []cluster.Offer
	for name, a := range s.accounts {
		if a.uid == "" && a.pods == 0 {
			delete(s.accounts, name) // its last pod has disappeared after the node
			continue
		}
		free, slots := a.free()
		open := a.uid != "" && a.closed == ""
		usable := open && slots > 0 && free.CPUMilli > 0 && free.MemMilli > 0
		s.reportClosed(name, a, usable)
		if o := a.offer; o != nil {
			if usable && o.Resources == free && o.MaxTasks == slots && o.Total == a.total &&
				o.Attributes == a.attributes {
				continue
			}
			s.rescind(a)
		}
		if !usable || s.suppressed {
			continue
		}
		grown := free.CPUMilli > a.refused.CPUMilli || free.MemMilli > a.refused.MemMilli || slots > a.refusedSlots
		if left := a.refusedUntil.Sub(s.now()); left > 0 && !grown {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		s.offerCount++
		a.offer = &cluster.Offer{
			ID: fmt.Sprintf("%s-%d", s.lease.holder, s.offerCount), AgentID: name, Hostname: name,
			Resources: free, Total: a.total, MaxTasks: slots, Attributes: a.attributes,
		}
		s.currentOffers[a.offer.ID], a.offered = a, true
		fresh = append(fresh, *a.offer)
	}
	if len(fresh) > 0 {
		s.emit(cluster.Offers{Offers: fresh})
	}
	return next
}

// reportClosed tells the core why a node is not offered, or that it is open again. usable means that the node has free
// resources to offer. A full node that was offered before is not reported: the core has filled it itself, or gets an
// offer again when other pods leave the node.
func (s *session) reportClosed(name string, a *account, usable bool) {
	why := a.closed
	if why == "" && !usable && !a.offered {
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

package sim

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// allocate plans a round of offers.
func (s *apiServer) allocate(within time.Duration) {
	at := s.w.now + within
	if s.offerAt > s.w.now && s.offerAt <= at {
		return
	}
	s.offerAt = at
	s.w.after(within, func() {
		if s.offerAt == at {
			s.offerAt = 0
			s.makeOffers()
		}
	})
}

// free is the room on a node: what its pods' requests leave, bound or not.
func (s *apiServer) free(n *node) resources.Amount {
	free := n.a.total.Minus(n.other)
	for _, p := range s.pods {
		if p.node == n.a.id && (p.status == nil || !p.status.State.Terminal()) {
			free = free.Minus(p.launch.Resources)
		}
	}
	return free
}

// mostPods is how many pods a node takes.
const mostPods = 130

func (s *apiServer) slots(n *node) int {
	left := mostPods
	for _, p := range s.pods {
		if p.node == n.a.id && (p.status == nil || !p.status.State.Terminal()) {
			left--
		}
	}
	return left
}

func (s *apiServer) makeOffers() {
	if s.holder == nil || s.stopped {
		return
	}
	var made []cluster.Offer
	for _, id := range sorted(s.nodes) {
		n := s.nodes[id]
		free := s.free(n)
		if !n.notReady.IsZero() || free.CPUMilli < 10 || free.MemMilli < 1000 || s.slots(n) < 1 {
			continue
		}
		offered := false
		for _, o := range s.offers {
			offered = offered || o.agent == id
		}
		if f, ok := s.filters[id]; ok && f.until > s.w.now && free.Fits(f.res) {
			s.allocate(f.until - s.w.now + time.Millisecond)
			continue
		}
		if offered { // its room has changed
			s.rescind(id)
		}
		s.w.offerNo++
		o := &offer{id: fmt.Sprintf("offer-%d", s.w.offerNo), agent: id, res: free}
		s.offers[o.id] = o
		made = append(made, cluster.Offer{ID: o.id, AgentID: id, Hostname: n.a.host, Resources: free, Total: n.a.total,
			MaxTasks: s.slots(n)})
	}
	if len(made) > 0 {
		s.send(cluster.Offers{Offers: made})
	}
}

func (s *apiServer) rescind(nodeID string) {
	for _, id := range sorted(s.offers) {
		if s.offers[id].agent == nodeID {
			delete(s.offers, id)
			s.send(cluster.Rescind{OfferID: id})
		}
	}
}

func (s *apiServer) decline(ids []string, refuse time.Duration) {
	for _, id := range ids {
		if o := s.offers[id]; o != nil {
			delete(s.offers, id)
			s.refuse(o.agent, o.res, refuse)
		}
	}
}

func (s *apiServer) refuse(nodeID string, res resources.Amount, d time.Duration) {
	if d > 0 && !res.IsZero() {
		s.filters[nodeID] = filter{res: res, until: s.w.now + d}
	}
	s.allocate(s.w.between(time.Millisecond, 50*time.Millisecond))
}

func (s *apiServer) othersLeave() {
	for _, n := range s.nodes {
		n.other = resources.Amount{}
	}
}

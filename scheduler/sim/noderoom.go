package sim

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// free returns the room that is left on a node. All pods count with their requests, bound or not, until they end.
func (s *apiServer) free(n *node) resources.Amount {
	free := n.a.total.Minus(n.other)
	for _, p := range s.pods {
		if p.node == n.a.id && (p.status == nil || !p.status.State.Terminal()) {
			free = free.Minus(p.launch.Resources)
		}
	}
	return free
}

// maxPods is the maximum number of pods on a node.
const maxPods = 130

func (s *apiServer) slots(n *node) int {
	left := maxPods
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

func (s *apiServer) endOthers() {
	for _, n := range s.nodes {
		n.other = resources.Amount{}
	}
}

package kubernetes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// account is a node together with the resources that all pods on it use. It also exists for a node that is gone but
// still has pods.
type account struct {
	uid        types.UID // "" while no such node exists
	total      resources.Amount
	slots      int
	attributes *cluster.Attributes
	// closed is the reason why no pods may be bound to the node, or "" if they may. lastClosed is the last Closed
	// event that was sent for the node. offered is set once the node was offered.
	closed     string
	lastClosed cluster.Closed
	offered    bool
	// notReady is since when the node is not ready or does not exist; zero if it is ready.
	notReady time.Time

	used resources.Amount
	pods int

	// offer is the current offer of the node, neither used nor declined; nil if there is none.
	offer *cluster.Offer
	// refused and refusedSlots are the free resources at the time when the core declined them or left them over.
	// refusedUntil is when they may be offered again.
	refused      resources.Amount
	refusedSlots int
	refusedUntil time.Time
}

// nodeStore passes nodes from the watch to the session.
type nodeStore struct{ *session }

func (s nodeStore) put(object runtime.Object) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(n.Name)
	if a.uid != "" && a.uid != n.UID {
		s.nodeGone(n.Name, a) // another machine has the name now
		a = s.accountOf(n.Name)
	}
	found := a.uid == "" && !s.listed
	a.uid, a.closed, a.attributes = n.UID, pod.Closed(n), pod.AttributesOf(n, a.attributes)
	a.total, a.slots = pod.Allocatable(n)
	since := s.notReadySince(n, found)
	if found && !since.IsZero() {
		a.notReady = since
	}
	s.nodeReady(n.Name, a, since)
	s.offersChanged()
}

func (s nodeStore) gone(object runtime.Object) {
	n, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.accounts[n.Name]; a != nil && a.uid == n.UID {
		s.nodeGone(n.Name, a)
	}
}

func (s nodeStore) listing() {}

func (s nodeStore) retain(uids map[types.UID]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, a := range s.accounts {
		if _, there := uids[a.uid]; a.uid != "" && !there {
			s.nodeGone(name, a)
		}
	}
}

// accountOf returns the account of a node, and creates it if needed.
func (s *session) accountOf(node string) *account {
	a := s.accounts[node]
	if a == nil {
		a = &account{notReady: s.now()}
		s.accounts[node] = a
	}
	return a
}

// ready reports whether a node exists and is ready.
func (s *session) ready(node string) bool {
	a := s.accounts[node]
	return a != nil && a.notReady.IsZero()
}

// nodeGone handles a node that was removed from the API. Its pods have not ended by that; they count as unreachable
// until they are removed from the API as well.
func (s *session) nodeGone(name string, a *account) {
	a.uid, a.lastClosed, a.offered = "", cluster.Closed{}, false
	s.rescind(a)
	if s.listed {
		s.emit(cluster.Failure{AgentID: name})
	}
	s.nodeReady(name, a, s.now())
	if a.pods == 0 {
		delete(s.accounts, name)
	}
}

// nodeReady reports the pods of a node that became ready or is no longer ready.
func (s *session) nodeReady(name string, a *account, notReady time.Time) {
	changed := a.notReady.IsZero() != notReady.IsZero()
	if changed {
		a.notReady = notReady
	}
	if !changed || !s.listed {
		return
	}
	for _, r := range s.pods {
		if r.node == name && r.pod != nil {
			s.reportPod(r)
		}
	}
}

// notReadySince returns since when a node is not ready, or zero if it is ready. The time is normally when this session
// observed the change. An earlier time is used only for a node that the session finds at its beginning and only if the
// node is silent (Unknown), because the node controller sets that time; all other times come from the node's own
// clock.
func (s *session) notReadySince(n *corev1.Node, found bool) time.Time {
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			return time.Time{}
		case found && c.Status == corev1.ConditionUnknown && c.LastTransitionTime.Add(s.ahead).Before(s.now()):
			return c.LastTransitionTime.Add(s.ahead).UTC()
		}
	}
	return s.now()
}

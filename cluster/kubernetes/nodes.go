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

// account holds a node's resources and how much of them all pods on the node use. A node that is gone keeps its account
// as long as it has pods.
type account struct {
	uid        types.UID // "" while no such node exists
	total      resources.Amount
	slots      int // how many pods the node accepts
	attributes *cluster.Attributes
	// closed is the reason why no pods may be bound to the node; "" if pods may be bound. lastClosed is the last Closed
	// event that was sent for the node. offered is set once the node has been offered.
	closed     string
	lastClosed cluster.Closed
	offered    bool
	// notReady is since when the node is not ready or does not exist; zero if it is ready.
	notReady time.Time

	used resources.Amount // by the pods on the node
	pods int

	// offer is the current offer of the node, neither used nor declined; nil if there is none.
	offer *cluster.Offer
	// refused and refusedSlots are the free resources that the core declined, or left over in a launch. refusedUntil is
	// when they may be offered again.
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
	inFirstList := a.uid == "" && !s.listed
	a.uid, a.closed, a.attributes = n.UID, pod.Closed(n), pod.AttributesOf(n, a.attributes)
	a.total, a.slots = pod.Allocatable(n)
	since := s.notReadySince(n, inFirstList)
	if inFirstList && !since.IsZero() {
		a.notReady = since
	}
	s.setNotReady(n.Name, a, since)
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
		if _, exists := uids[a.uid]; a.uid != "" && !exists {
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

// nodeGone handles that a node was removed from the API. That does not end its pods: they count as unreachable until
// they are removed from the API as well.
func (s *session) nodeGone(name string, a *account) {
	a.uid, a.lastClosed, a.offered = "", cluster.Closed{}, false
	s.rescind(a)
	if s.listed {
		s.emit(cluster.Failure{AgentID: name, Gone: true})
	}
	s.setNotReady(name, a, s.now())
	s.reportPods(name) // a pod that was marked as failed can no longer run there
	if a.pods == 0 {
		delete(s.accounts, name)
	}
}

// setNotReady records since when a node is not ready; zero means that the node is ready. It keeps the recorded time of
// a node that was not ready before. If the node becomes ready or stops being ready, setNotReady reports the states of
// its pods.
func (s *session) setNotReady(name string, a *account, notReady time.Time) {
	changed := a.notReady.IsZero() != notReady.IsZero()
	if changed {
		a.notReady = notReady
		s.reportPods(name)
	}
}

// reportPods reports the states of the pods on a node that have changed with the node.
func (s *session) reportPods(name string) {
	if !s.listed {
		return
	}
	for _, r := range s.pods {
		if r.node == name && r.pod != nil {
			s.reportPod(r)
		}
	}
}

// notReadySince returns since when a node is not ready, or zero if it is ready. The time is normally now, when this
// session observes the change. The time in the node's condition is used only if the node is in the session's first list
// and is silent (Unknown), because then the node controller has set it; otherwise it comes from the node's own clock.
func (s *session) notReadySince(n *corev1.Node, inFirstList bool) time.Time {
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			return time.Time{}
		case inFirstList && c.Status == corev1.ConditionUnknown && c.LastTransitionTime.Add(s.ahead).Before(s.now()):
			return c.LastTransitionTime.Add(s.ahead).UTC()
		}
	}
	return s.now()
}

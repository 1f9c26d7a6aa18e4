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

// account is a node, and what the pods there take, whoever's they are. There may be pods on a node that is not there.
type account struct {
	uid        types.UID // "" while there is no such node
	total      resources.Amount
	slots      int
	attributes *cluster.Attributes
	// closed is why no pods may be bound to it, "" if they may. told is what the core last heard of that, and known is
	// set once it was offered.
	closed string
	told   cluster.Closed
	known  bool
	// notReady is since when it is not ready, or not there; zero if it is.
	notReady time.Time

	used resources.Amount
	pods int

	// offer is what the core was offered and has not used or declined, nil for nothing.
	offer *cluster.Offer
	// refused is what was free when the core declined it until then, or left it over.
	refused      resources.Amount
	refusedSlots int
	refusedUntil time.Time
}

// nodeStore hands nodes from the watch to their session.
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
		s.nodeGone(n.Name, a) // another machine has its name now
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

// accountOf is the account of a node, made if need be.
func (s *session) accountOf(node string) *account {
	a := s.accounts[node]
	if a == nil {
		a = &account{notReady: s.now()}
		s.accounts[node] = a
	}
	return a
}

// ready reports whether a node is there, and ready.
func (s *session) ready(node string) bool {
	a := s.accounts[node]
	return a != nil && a.notReady.IsZero()
}

// nodeGone: its pods are not over by that. Until they are removed from the API, too, they count as unreachable.
func (s *session) nodeGone(name string, a *account) {
	a.uid, a.told, a.known = "", cluster.Closed{}, false
	s.rescind(a)
	if s.listed {
		s.emit(cluster.Failure{AgentID: name})
	}
	s.nodeReady(name, a, s.now())
	if a.pods == 0 {
		delete(s.accounts, name)
	}
}

// nodeReady reports the pods of a node that has become ready, or is not any more.
func (s *session) nodeReady(name string, a *account, notReady time.Time) {
	changed := a.notReady.IsZero() != notReady.IsZero()
	if changed {
		a.notReady = notReady
	}
	if !changed || !s.listed {
		return
	}
	for _, r := range s.pods {
		if r.node == name && r.own != nil {
			s.tendPod(r)
		}
	}
}

// notReadySince is since when a node is not ready, zero if it is: since the session has seen it. Only what a session
// finds when it begins may be older, and only the time of a silent node is taken for that, which is the node
// controller's: all others are by the node's own clock.
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

package kubernetes

import (
	"log/slog"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An account stays for as long as its node or a pod on it does: nodes of an autoscaler come and go, and each has another name.
func TestAccountsEndWithTheirNodesAndPods(t *testing.T) {
	t.Parallel()
	s := (&Driver{now: time.Now, log: slog.New(slog.DiscardHandler)}).newSession(t.Context(), &lease{now: time.Now, held: new(coordinationv1.Lease)}, "framework")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1", UID: "node-uid"}}
	of := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "of-others", UID: "pod-uid"}, Spec: corev1.PodSpec{NodeName: "node1"}}
	there := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.makeOffers()
		return s.accounts["node1"] != nil
	}
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"a node", func() { nodeStore{s}.put(node) }, true},
		{"a pod on it", func() { podStore{s}.put(of) }, true},
		{"the node is gone", func() { nodeStore{s}.gone(node) }, true},
		{"its pod changes", func() { podStore{s}.put(of) }, true},
		{"its pod is gone", func() { podStore{s}.gone(of) }, false},
		{"a pod before its node", func() { podStore{s}.put(of) }, true},
		{"and gone", func() { podStore{s}.gone(of) }, false},
		{"a node without a pod", func() { nodeStore{s}.put(node) }, true},
		{"is gone", func() { nodeStore{s}.gone(node) }, false},
	} {
		if step.do(); there() != step.want {
			t.Errorf("%s: there is an account: %t", step.what, !step.want)
		}
	}
}

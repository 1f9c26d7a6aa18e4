package kubernetes

import (
	"log/slog"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAccountsEndWithTheirNodesAndPods: an account exists for as long as its node or a pod on it. An autoscaler's
// nodes come and go under ever new names, so leftover accounts would accumulate.
func TestAccountsEndWithTheirNodesAndPods(t *testing.T) {
	t.Parallel()
	s := (&Driver{now: time.Now, log: slog.New(slog.DiscardHandler)}).newSession(t.Context(),
		&lease{now: time.Now, held: new(coordinationv1.Lease)}, "framework")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1", UID: "node-uid"}}
	of := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "of-others", UID: "pod-uid"},
		Spec: corev1.PodSpec{NodeName: "node1"}}
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

// Resources for which other pods are preempted are not offered. They belong to the nominated pod until it is bound
// elsewhere or gone.
func TestRoomThatAPodIsNominatedFor(t *testing.T) {
	t.Parallel()
	s := (&Driver{now: time.Now, log: slog.New(slog.DiscardHandler)}).newSession(t.Context(),
		&lease{now: time.Now, held: new(coordinationv1.Lease)}, "framework")
	urgent := func(bound, nominated string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "urgent", UID: "pod-uid"},
			Spec: corev1.PodSpec{NodeName: bound,
				Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}}},
			Status: corev1.PodStatus{NominatedNodeName: nominated},
		}
	}
	for _, step := range []struct {
		what             string
		do               func()
		onFirst, onOther int64 // thousandths of a CPU
	}{
		{"it waits", func() { podStore{s}.put(urgent("", "")) }, 0, 0},
		{"others are ended for it", func() { podStore{s}.put(urgent("", "node1")) }, 2000, 0},
		{"it is bound there", func() { podStore{s}.put(urgent("node1", "node1")) }, 2000, 0},
		{"it is gone", func() { podStore{s}.gone(urgent("node1", "node1")) }, 0, 0},
		{"another comes", func() { podStore{s}.put(urgent("", "node1")) }, 2000, 0},
		{"which found room elsewhere", func() { podStore{s}.put(urgent("node2", "node1")) }, 0, 2000},
	} {
		step.do()
		for node, want := range map[string]int64{"node1": step.onFirst, "node2": step.onOther} {
			var got int64
			if a := s.accounts[node]; a != nil {
				got = int64(a.used.CPUMilli)
			}
			if got != want {
				t.Errorf("%s: %d m of CPU are taken on %s, want %d", step.what, got, node, want)
			}
		}
	}
}

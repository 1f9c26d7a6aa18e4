package fakekubernetes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AddNode adds or replaces a node.
func (s *Server) AddNode(name, cpu, memory, pods string, ready corev1.ConditionStatus) {
	s.PutNode(name, func(n *corev1.Node) {
		*n = corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}}
		n.Name, n.UID = name, types.UID("uid-"+name)
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse(pods)}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready,
			LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second))}}
	})
}

// PutNode changes a node, or adds it.
func (s *Server) PutNode(name string, change func(*corev1.Node)) {
	s.With(func() {
		n, what := &corev1.Node{}, "ADDED"
		if old := s.Nodes[name]; old != nil {
			n, what = old.DeepCopy(), "MODIFIED"
		}
		change(n)
		s.Nodes[name] = n
		s.changed("nodes", what, n)
	})
}

// RemoveNode removes a node.
func (s *Server) RemoveNode(name string) {
	s.With(func() {
		n := s.Nodes[name]
		delete(s.Nodes, name)
		s.changed("nodes", "DELETED", n.DeepCopy())
	})
}

// PutPod writes a pod without any check, as a kubelet or another client does. A new pod gets its name and a uid.
func (s *Server) PutPod(namespace, name string, change func(*corev1.Pod)) {
	s.With(func() {
		key, what := namespace+"/"+name, "MODIFIED"
		p := s.Pods[key]
		if p == nil {
			what = "ADDED"
			p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
				UID: types.UID(fmt.Sprintf("uid-%d", s.Version))}}
		}
		p = p.DeepCopy()
		change(p)
		s.Pods[key] = p
		s.changed("pods", what, p)
		s.collect(p)
	})
}

// RemovePod removes a pod by force.
func (s *Server) RemovePod(namespace, name string) {
	s.With(func() {
		if p := s.Pods[namespace+"/"+name]; p != nil {
			delete(s.Pods, namespace+"/"+name)
			s.changed("pods", "DELETED", p.DeepCopy())
		}
	})
}

// Pod returns a pod as it is now; nil if there is none.
func (s *Server) Pod(namespace, name string) *corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.Pods[namespace+"/"+name]; p != nil {
		return p.DeepCopy()
	}
	return nil
}

package pod

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// Ended reports whether a pod has ended and no longer uses resources of its node.
func Ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// AccountedNode returns the node whose resources a pod uses, or "" if there is none. That is the node to which the pod
// is bound, or else the node on which its scheduler preempts other pods for it (status.nominatedNodeName). The
// preempted resources count as used although the pod is not bound yet: a task that takes them would be preempted next.
func AccountedNode(p *corev1.Pod) string { return cmp.Or(p.Spec.NodeName, p.Status.NominatedNodeName) }

// Requests returns the resources that a pod uses on its node, by the rules of Kubernetes. That is the sum of its
// containers and sidecars, or, if that is more, the largest init container plus the sidecars before it. A request for
// the pod as a whole replaces this sum for its resource. The pod's overhead is added. A container that is being resized
// counts with its new or its current allocation, whichever is larger.
func Requests(p *corev1.Pod) resources.Amount {
	allocated := map[string]resources.Amount{}
	for _, all := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range all {
			allocated[all[i].Name] = amountOf(all[i].AllocatedResources, ceil)
		}
	}
	need := func(c *corev1.Container) resources.Amount {
		return amountOf(c.Resources.Requests, ceil).Max(allocated[c.Name])
	}
	var sidecars, largest resources.Amount
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars = sidecars.Plus(need(c))
			largest = largest.Max(sidecars)
			continue
		}
		largest = largest.Max(sidecars.Plus(need(c)))
	}
	together := sidecars
	for i := range p.Spec.Containers {
		together = together.Plus(need(&p.Spec.Containers[i]))
	}
	all := together.Max(largest)
	if p.Spec.Resources != nil {
		whole := p.Spec.Resources.Requests
		if _, ok := whole[corev1.ResourceCPU]; ok {
			all.CPUMilli = amountOf(whole, ceil).CPUMilli
		}
		if _, ok := whole[corev1.ResourceMemory]; ok {
			all.MemMilli = amountOf(whole, ceil).MemMilli
		}
	}
	return all.Plus(amountOf(p.Spec.Overhead, ceil))
}

// Allocatable returns the resources that all pods of a node may use together, and the maximum number of pods.
func Allocatable(n *corev1.Node) (all resources.Amount, pods int) {
	return amountOf(n.Status.Allocatable, floor), int(n.Status.Allocatable.Pods().Value())
}

// amountOf converts a list to the amounts of CPU and memory. round is floor for resources that a node offers and ceil
// for those that a pod requests.
func amountOf(l corev1.ResourceList, round func(bytes int64) int64) resources.Amount {
	return resources.Amount{CPUMilli: l.Cpu().MilliValue(), MemMilli: round(bytesOf(l.Memory()))}
}

// maxMemory is 4 PiB, more than any node has. Amounts of memory are limited to it, so that their sums cannot overflow
// whatever an object contains.
const maxMemory = int64(1) << 52

func bytesOf(q *resource.Quantity) int64 { return min(max(q.Value(), 0), maxMemory) }

// floor and ceil convert bytes to thousandths of a MiB, rounding down and up.
func floor(bytes int64) int64 { return bytes>>20*1000 + (bytes&(1<<20-1))*1000>>20 }
func ceil(bytes int64) int64 {
	return bytes>>20*1000 + ((bytes&(1<<20-1))*1000+1<<20-1)>>20
}

// Closed returns why no pods may be bound to a node: the node is being removed, cordoned, not ready, under pressure or
// without a network. It returns "" if pods may be bound.
func Closed(n *corev1.Node) string {
	switch {
	case n.DeletionTimestamp != nil:
		return "it is being removed"
	case n.Spec.Unschedulable:
		return "it is cordoned"
	}
	ready, pressure := false, ""
	for _, c := range n.Status.Conditions {
		switch c.Type {
		case corev1.NodeReady:
			ready = c.Status == corev1.ConditionTrue
		case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable:
			if c.Status == corev1.ConditionTrue {
				pressure = "its condition " + string(c.Type) + " is true"
			}
		}
	}
	if !ready {
		return "it is not ready"
	}
	return pressure
}

// conditionTaints are the taints by which the node controller repeats a node's conditions.
var conditionTaints = map[string]bool{
	corev1.TaintNodeNotReady: true, corev1.TaintNodeUnreachable: true, corev1.TaintNodeUnschedulable: true,
	corev1.TaintNodeMemoryPressure: true,
	corev1.TaintNodeDiskPressure:   true, corev1.TaintNodePIDPressure: true, corev1.TaintNodeNetworkUnavailable: true,
}

// AttributesOf returns a node's labels and those of its taints that repel pods and do not merely repeat its
// conditions. If they equal last, it returns last itself, so that callers can compare pointers.
func AttributesOf(n *corev1.Node, last *cluster.Attributes) *cluster.Attributes {
	var taints []cluster.Taint
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !conditionTaints[t.Key] {
			taints = append(taints, cluster.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	if last != nil && maps.Equal(last.Labels, n.Labels) && slices.Equal(last.Taints, taints) {
		return last
	}
	return &cluster.Attributes{Labels: n.Labels, Taints: taints}
}

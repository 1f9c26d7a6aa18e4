package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

func list(cpu, memory string) corev1.ResourceList {
	l := corev1.ResourceList{}
	if cpu != "" {
		l[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		l[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return l
}

func TestRequests(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	requesting := func(name, cpu, memory string) corev1.Container {
		return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list(cpu, memory)}}
	}
	sidecar := func(c corev1.Container) corev1.Container {
		c.RestartPolicy = &always
		return c
	}
	for _, tt := range []struct {
		name string
		pod  corev1.Pod
		want resources.Amount
	}{
		{"nothing", corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}, resources.Amount{}},
		{"containers together", corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("a", "500m", "64Mi"), requesting("b", "1", "32Mi")}}}, resources.New(1.5, 96)},
		{"rounded up", corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("a", "1u", "1")}}}, resources.Amount{CPUMilli: 1, MemMilli: 1}},
		{"an init container that requests more", corev1.Pod{Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{requesting("i", "2", "16Mi"), requesting("j", "1", "128Mi")},
			Containers:     []corev1.Container{requesting("a", "500m", "64Mi")}}}, resources.New(2, 128)},
		{"a sidecar is added to the containers and to the init containers after it",
			corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{requesting("i", "2", ""), sidecar(requesting("s", "500m", "10Mi")),
					requesting("j", "1800m", "")},
				Containers: []corev1.Container{requesting("a", "1", "64Mi")}}}, resources.New(2.3, 74)},
		{"overhead", corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("a", "1", "64Mi")}, Overhead: list("250m", "100Mi")}}, resources.New(1.25, 164)},
		{"the pod as a whole", corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("a", "1", "64Mi")},
			Resources: &corev1.ResourceRequirements{Requests: list("3", "")}}}, resources.New(3, 64)},
		{"being resized to less", corev1.Pod{
			Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("a", "1", "64Mi")}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "a",
				AllocatedResources: list("2", "32Mi")}}}}, resources.New(2, 64)},
		{"nonsense", corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{requesting("a", "1", "-5")}}}, resources.New(1, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := pod.Requests(&tt.pod); got != tt.want {
				t.Errorf("requests %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status}
	}
	ready := condition(corev1.NodeReady, corev1.ConditionTrue)
	for _, tt := range []struct {
		name string
		node corev1.Node
		want string
	}{
		{"ready", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready, condition(corev1.NodeDiskPressure, corev1.ConditionFalse)}}}, ""},
		{"it has never said anything", corev1.Node{}, "it is not ready"},
		{"not ready", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{condition(corev1.NodeReady, corev1.ConditionUnknown)}}}, "it is not ready"},
		{"cordoned", corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}}, "it is cordoned"},
		{"under pressure", corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready, condition(corev1.NodeMemoryPressure, corev1.ConditionTrue)}}}, "its condition MemoryPressure is true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := pod.Closed(&tt.node); got != tt.want {
				t.Errorf("closed because %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{}
	node.Labels = map[string]string{"disk": "ssd"}
	node.Spec.Taints = []corev1.Taint{
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}, {Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule},
		{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	first := pod.AttributesOf(node, nil)
	if len(first.Taints) != 1 || first.Taints[0] != (cluster.Taint{Key: "gpu", Value: "true", Effect: "NoSchedule"}) ||
		first.Labels["disk"] != "ssd" {
		t.Fatalf("the node has %+v", first)
	}
	node = node.DeepCopy()
	node.Spec.Taints = node.Spec.Taints[1:]
	if again := pod.AttributesOf(node, first); again != first {
		t.Error("unchanged attributes are returned as a new value")
	}
	node.Labels["disk"] = "hdd"
	if changed := pod.AttributesOf(node, first); changed == first || changed.Labels["disk"] != "hdd" ||
		first.Labels["disk"] != "ssd" {
		t.Errorf("changed attributes are %+v", changed)
	}
}

package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// LabelUnplaced is "true" on placeholder pods for shards that fit on no node, and missing on all other pods.
const LabelUnplaced = "elasticjob/unplaced"

// Unplaced builds the placeholder pod of a shard that fits on no node. The placeholder makes an autoscaler add a node:
// it requests the same resources as the shard's own pod and is never bound. It has no task and none of the labels that
// identify the shard's own pod. Its name depends on the shard only.
func (s Settings) Unplaced(u cluster.Unplaced, framework string) (*corev1.Pod, error) {
	id := fmt.Sprintf("unplaced-%s@-@%d@-@%s@-@%s", u.Job, u.Item, u.Execution, framework)
	p, _, err := s.Build(cluster.TaskLaunch{TaskID: id, Task: wire.Task{JobName: u.Job, Item: u.Item},
		Resources: u.Resources, CPULimitMilli: u.CPULimitMilli, Container: u.Container}, framework)
	if err != nil {
		return nil, err
	}
	p.Finalizers = nil
	delete(p.Annotations, AnnotationTask)
	for _, label := range []string{LabelJob, LabelExecution, LabelItem, LabelAttempt} {
		delete(p.Labels, label)
	}
	p.Labels[LabelUnplaced] = "true"
	return p, nil
}

// IsUnplaced reports whether a pod is a placeholder for a shard.
func IsUnplaced(p *corev1.Pod) bool { return p.Labels[LabelUnplaced] == "true" && TaskOf(p) == "" }

// Unschedulable returns the condition by which schedulers report that a pod fits on no node.
func Unschedulable(why string, at metav1.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: at}
}

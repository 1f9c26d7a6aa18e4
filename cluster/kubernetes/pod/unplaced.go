package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// LabelUnplaced is "true" for the pods that stand for shards without room, and on no other.
const LabelUnplaced = "elasticjob/unplaced"

// Unplaced makes the pod that stands for a shard which no node has room for, so that an autoscaler makes one: it asks
// for what the shard's own pod would, and has nothing by which that is known, nor what the shard is to do. Nobody
// binds it. Its name is the same as long as the shard is.
func (s Settings) Unplaced(u cluster.Unplaced, framework string) (*corev1.Pod, error) {
	id := fmt.Sprintf("unplaced-%s@-@%d@-@%s@-@%s", u.Job, u.Item, u.Execution, framework)
	p, _, err := s.Build(cluster.TaskLaunch{TaskID: id, Task: wire.Task{JobName: u.Job, Item: u.Item},
		Resources: u.Resources, Container: u.Container}, framework)
	if err != nil {
		return nil, err
	}
	p.Finalizers = nil
	delete(p.Annotations, AnnotationTask)
	for _, of := range []string{LabelJob, LabelExecution, LabelItem, LabelAttempt} {
		delete(p.Labels, of)
	}
	p.Labels[LabelUnplaced] = "true"
	return p, nil
}

// IsUnplaced reports whether a pod only stands for a shard.
func IsUnplaced(p *corev1.Pod) bool { return p.Labels[LabelUnplaced] == "true" && TaskOf(p) == "" }

// Unschedulable is the condition by which schedulers say that a pod finds no node.
func Unschedulable(why string, at metav1.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: at}
}

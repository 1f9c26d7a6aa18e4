// Package pod builds the pod of a task, and interprets the state of pods and nodes for the scheduler. It only converts
// API objects and makes no requests.
package pod

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Labels, annotations and the finalizer of a task's pod.
const (
	LabelFramework = "elasticjob/framework"
	LabelJob       = "elasticjob/job"
	// LabelExecution is the execution's id with _ in place of @.
	LabelExecution = "elasticjob/execution"
	LabelItem      = "elasticjob/item"
	LabelAttempt   = "elasticjob/attempt"
	// LabelDaemon is "true" for shards of daemons and missing for others.
	LabelDaemon = "elasticjob/daemon"
	// AnnotationTask is the complete id of the task, AnnotationJob the complete name of its job.
	AnnotationTask = "elasticjob/task-id"
	AnnotationJob  = "elasticjob/job"
	// AnnotationDrain tells a daemon's shard to start no more fires and to end after the current run. Its executor
	// sees the annotation as a file. The value is the reason.
	AnnotationDrain = "elasticjob/drain"
	// AnnotationGivenUp is the reason why the scheduler no longer waits for a pod to start. It is set before the pod
	// is deleted, so that any later leader can interpret the pod's end.
	AnnotationGivenUp = "elasticjob/given-up"
	// Finalizer keeps a pod until the scheduler has committed that the pod was bound, and a pod that was given up
	// until its end is committed.
	Finalizer = "elasticjob/unacknowledged"
	// Scheduler is the scheduler name of the pods, so that no other scheduler binds them.
	Scheduler = "elasticjob"
	// Container is the container that runs the shard. Prepare is the init container that fetches the job's package if
	// the app has an image.
	Container = "shard"
	Prepare   = "fetch"
)

// nameHash is the number of hex digits of the task id's hash in a pod's name. nameJob and nameItem limit the bytes of
// job and item, because a DNS label has at most 63 bytes.
const (
	nameHash = 16
	nameJob  = 36
	nameItem = 8
)

// Name returns the name of a task's pod: a DNS label of job, item and a hash of the complete task id. It depends on
// the id only, so all leaders compute the same name.
func Name(taskID string) string {
	sum := sha256.Sum256([]byte(taskID))
	hash := hex.EncodeToString(sum[:])[:nameHash]
	parts := strings.Split(taskID, "@-@") // job, item, kind, agent, uuid
	if len(parts) < 2 {
		return "task-" + hash
	}
	return strings.Trim(label(parts[0], nameJob)+"-"+label(parts[1], nameItem), "-") + "-" + hash
}

// label converts a text to the characters that are allowed inside a DNS label, with at most limit bytes.
func label(text string, limit int) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	return strings.Trim(word[:min(len(word), limit)], "-")
}

// TaskOf returns the id of a pod's task, or "" if the pod belongs to none.
func TaskOf(p *corev1.Pod) string { return p.Annotations[AnnotationTask] }

// Package pod says what the pod of a task is, and what a pod, or a node, means for the scheduler. It is pure: objects
// of the API go in and come out, nobody is asked.
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
	// LabelExecution has the execution's id with _ for @.
	LabelExecution = "elasticjob/execution"
	LabelItem      = "elasticjob/item"
	LabelAttempt   = "elasticjob/attempt"
	// LabelDaemon is "true" for the shards of daemons; others don't have it.
	LabelDaemon = "elasticjob/daemon"
	// AnnotationTask is the whole id of the task, AnnotationJob the whole name of its job.
	AnnotationTask = "elasticjob/task-id"
	AnnotationJob  = "elasticjob/job"
	// AnnotationDrain has a daemon's shard make no more fires, and end with the run under way: its executor sees it as
	// a file. It says why.
	AnnotationDrain = "elasticjob/drain"
	// AnnotationGivenUp says why the scheduler does not wait any more for a pod to start. It is there before the pod
	// is deleted, so that whoever leads then knows what its end means.
	AnnotationGivenUp = "elasticjob/given-up"
	// Finalizer keeps a pod until the scheduler has committed that it was bound, and one that was given up until its
	// end is committed.
	Finalizer = "elasticjob/unacknowledged"
	// Scheduler is the name that its pods ask for, so that no other scheduler binds them.
	Scheduler = "elasticjob"
	// Container is the container that runs the shard, Prepare the init container that fetches its package where the
	// app has an image.
	Container = "shard"
	Prepare   = "fetch"
)

// nameHash is how many hex digits of the hash of a task's id its pod's name has, nameJob and nameItem how many bytes
// of job and item at most: a DNS label has 63.
const (
	nameHash = 16
	nameJob  = 36
	nameItem = 8
)

// Name is the name of a task's pod: a DNS label made of job, item and a hash of the whole id, so that it is the same
// for all leaders.
func Name(taskID string) string {
	sum := sha256.Sum256([]byte(taskID))
	hash := hex.EncodeToString(sum[:])[:nameHash]
	parts := strings.Split(taskID, "@-@") // job, item, kind, agent, uuid
	if len(parts) < 2 {
		return "task-" + hash
	}
	return strings.Trim(label(parts[0], nameJob)+"-"+label(parts[1], nameItem), "-") + "-" + hash
}

// label is a text with nothing in it but what a DNS label may have inside, of so many bytes at most.
func label(text string, most int) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	return strings.Trim(word[:min(len(word), most)], "-")
}

// TaskOf is the id of the task that a pod is of, "" if it is of none.
func TaskOf(p *corev1.Pod) string { return p.Annotations[AnnotationTask] }

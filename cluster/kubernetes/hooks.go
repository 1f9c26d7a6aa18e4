package kubernetes

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Pod identifies the pod of a task.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	TaskID, Job     string
	// Execution is the execution's id in the form of a label value. It is the same for all attempts of a daemon.
	Execution string
	// Node is the node to which the pod is bound.
	Node string
	// Daemon is set if the shard belongs to a daemon.
	Daemon bool
}

// Follower reads the output of running pods. Its methods do not block.
type Follower interface {
	// Running is called once in each session for a pod whose container runs. The follower passes the reports of the
	// container to report, as cluster.Update or cluster.Message. It stops when Gone is called or ctx ends, which ends
	// with the session. It must not call report from within Running, because the caller of Running holds locks.
	Running(ctx context.Context, p Pod, report func(cluster.Event))
	// Gone is called when a pod has ended or no longer exists.
	Gone(uid types.UID)
}

// Keeper decides how long ended pods are kept. Its methods do not block.
type Keeper interface {
	// Ended is called for each pod that has ended and whose end the scheduler has committed. For pods that ended in
	// earlier sessions, it is called some time after the session began. It may be called more than once for a pod.
	Ended(ctx context.Context, p Pod, finished bool, at time.Time)
	// Gone is called when a pod no longer exists.
	Gone(uid types.UID)
}

// Recorder writes Kubernetes events about pods, which operators read. Its methods do not block.
type Recorder interface {
	// Launched records that a pod was bound for the attempt t of a shard.
	Launched(p Pod, t wire.Task)
	// Killed records that a pod's deletion or drain was requested; why may be empty.
	Killed(p Pod, why string)
	// GivenUp records that a pod is deleted because its containers do not start, or because other containers of it
	// still run after its shard has ended.
	GivenUp(p Pod, why string)
}

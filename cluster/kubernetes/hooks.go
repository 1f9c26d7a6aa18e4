package kubernetes

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Pod names the pod of a task.
type Pod struct {
	Namespace, Name string
	UID             types.UID
	TaskID, Job     string
	// Execution is the label of its run: the id, as a label has it. Of a daemon it is the same for all its attempts.
	Execution string
	// Node is where it is bound.
	Node string
	// Daemon is set for the pod of a daemon's shard.
	Daemon bool
}

// Follower reads what running pods say in their output. Its methods don't wait.
type Follower interface {
	// Running is called once in each session for a pod whose container runs. What the container says is handed to
	// report, as cluster.Update or cluster.Message, until ctx ends, which it does with the session, or Gone is called;
	// never from within Running, behind whose caller are locks.
	Running(ctx context.Context, p Pod, report func(cluster.Event))
	// Gone is called when a pod has ended, or is not there any more.
	Gone(uid types.UID)
}

// Keeper decides how long ended pods are kept. Its methods don't wait.
type Keeper interface {
	// Ended is called for each pod that has ended and whose end the scheduler has committed: those of earlier sessions
	// a while after the session's begin. It may be called more than once for a pod.
	Ended(ctx context.Context, p Pod, good bool, at time.Time)
	// Gone is called when a pod is not there any more.
	Gone(uid types.UID)
}

// Recorder writes events of pods, for people. Its methods don't wait.
type Recorder interface {
	// Launched: a pod was bound for the attempt t of a shard.
	Launched(p Pod, t wire.Task)
	// Killed: the end of a pod was asked for; why may be empty.
	Killed(p Pod, why string)
	// GivenUp: a pod is deleted because its containers don't start, or because others of it go on behind the end of
	// its shard.
	GivenUp(p Pod, why string)
}

// nobody is what follows, keeps and records where nobody else does.
type nobody struct{}

func (nobody) Running(context.Context, Pod, func(cluster.Event)) {}
func (nobody) Gone(types.UID)                                    {}
func (nobody) Ended(context.Context, Pod, bool, time.Time)       {}
func (nobody) Launched(Pod, wire.Task)                           {}
func (nobody) Killed(Pod, string)                                {}
func (nobody) GivenUp(Pod, string)                               {}

package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// platform is the cluster of a world: a Mesos master, or a Kubernetes. Agents report to it, and sessions call it.
type platform interface {
	// subscriber returns the stream on which it sends, nil without a subscription.
	subscriber() *stream
	subscribe(s *stream, fw string)
	// isVoid reports whether it refuses calls on a stream because another is the present one.
	isVoid(s *stream) bool
	lost(s *stream)
	// receive handles a call; done receives the answer.
	receive(s *session, call step.Call, done func(error))

	register(a *agent)
	disconnected(a *agent, was int)
	update(a *agent, u cluster.Update, framework string, latest cluster.State)
	executorEnded(a *agent, id string, status int)
	message(framework string, e cluster.Message)

	// allocate makes offers within a time.
	allocate(within time.Duration)
	// endOthers ends the use of resources by other frameworks or users.
	endOthers()
}

var (
	_ platform = (*master)(nil)
	_ platform = (*apiServer)(nil)
)

// platform returns the present platform.
func (w *world) platform() platform {
	if w.api != nil {
		return w.api
	}
	return w.master
}

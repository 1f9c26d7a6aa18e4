package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// platform is the cluster of a world: a master of Mesos, or a Kubernetes. Agents report to it, and sessions call it.
type platform interface {
	// subscriber is the stream that it sends on, nil while nobody has subscribed.
	subscriber() *stream
	subscribe(s *stream, fw string)
	// voids reports whether calls on a stream are refused because another is the present one.
	voids(s *stream) bool
	lost(s *stream)
	// arrives takes a call; done hears what is answered.
	arrives(s *session, call step.Call, done func(error))

	register(a *agent)
	disconnected(a *agent, was int)
	update(a *agent, u cluster.Update, framework string, latest cluster.State)
	executorEnded(a *agent, id string, status int)
	message(framework string, e cluster.Message)

	// allocate has it make offers within a time.
	allocate(within time.Duration)
	// othersLeave ends what others use.
	othersLeave()
}

var (
	_ platform = (*master)(nil)
	_ platform = (*apiServer)(nil)
)

// platform is the one that there is now.
func (w *world) platform() platform {
	if w.api != nil {
		return w.api
	}
	return w.master
}

package step

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// Call is one call to the cluster, of one of the types below. Calls leave after the commit of their step.
type Call interface{ coreCall() }

// CallSubscribe opens the session with this number, under FrameworkID (rule T6).
type CallSubscribe struct {
	Session     int64
	FrameworkID string
}

// CallLaunch launches tasks with an ACCEPT. An event with the same Seq reports its outcome.
type CallLaunch struct {
	Seq    int64
	Launch cluster.Launch
}

// CallDecline declines offers. Their resources are not offered again for Refuse, unless offers are requested
// before.
type CallDecline struct {
	Offers []string
	Refuse time.Duration
}

// CallKill requests the end of a task. It may be repeated.
type CallKill struct{ Kill cluster.Kill }

// CallShutdown shuts an executor down, with all its tasks.
type CallShutdown struct{ ExecutorID, AgentID string }

// CallReconcile asks for the state of tasks, of all that the master knows if Tasks is empty.
type CallReconcile struct{ Tasks []cluster.TaskRef }

// CallAcknowledge acknowledges a status update, which the agent otherwise repeats.
type CallAcknowledge struct{ Ack cluster.Ack }

// CallRevive requests offers of all free resources, including declined ones (REVIVE).
type CallRevive struct{}

// CallSuppress suppresses offers (SUPPRESS).
type CallSuppress struct{}

func (CallSubscribe) coreCall()   {}
func (CallLaunch) coreCall()      {}
func (CallDecline) coreCall()     {}
func (CallKill) coreCall()        {}
func (CallShutdown) coreCall()    {}
func (CallReconcile) coreCall()   {}
func (CallAcknowledge) coreCall() {}
func (CallRevive) coreCall()      {}
func (CallSuppress) coreCall()    {}

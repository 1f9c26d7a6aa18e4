package step

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// Call is one call to the cluster: one of the types below.
type Call interface{ coreCall() }

// CallSubscribe opens a session with this number (rule T6).
type CallSubscribe struct {
	Session     int64
	FrameworkID string
}

// CallLaunch launches tasks; LaunchAnswered with the same Seq is its outcome.
type CallLaunch struct {
	Seq    int64
	Launch cluster.Launch
}

// CallDecline gives offers back.
type CallDecline struct {
	Offers []string
	Refuse time.Duration
}

// CallKill asks for a task's end.
type CallKill struct{ Kill cluster.Kill }

// CallEndExecutor ends an executor.
type CallEndExecutor struct{ ExecutorID, AgentID string }

// CallReconcile asks for the state of tasks, of all when Tasks is empty.
type CallReconcile struct{ Tasks []cluster.TaskRef }

// CallAcknowledge acknowledges a status update.
type CallAcknowledge struct{ Ack cluster.Ack }

// CallRequestOffers and CallStopOffers ask for offers and for none.
type CallRequestOffers struct{}

// CallStopOffers asks for no offers.
type CallStopOffers struct{}

func (CallSubscribe) coreCall()     {}
func (CallLaunch) coreCall()        {}
func (CallDecline) coreCall()       {}
func (CallKill) coreCall()          {}
func (CallEndExecutor) coreCall()   {}
func (CallReconcile) coreCall()     {}
func (CallAcknowledge) coreCall()   {}
func (CallRequestOffers) coreCall() {}
func (CallStopOffers) coreCall()    {}

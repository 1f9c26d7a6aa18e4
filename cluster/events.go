package cluster

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Event is an event of a session: one of the types below.
type Event interface{ event() }

// Subscribed is the first event of a session.
type Subscribed struct {
	FrameworkID string
	// MasterID identifies one run of a master (Mesos: master_info.id).
	MasterID  string
	Heartbeat time.Duration
}

// Offers are new offers.
type Offers struct{ Offers []Offer }

// Offer is an offer of resources of one agent.
type Offer struct {
	ID, AgentID, Hostname string
	// AgentURL is the address of the agent itself, "http://host:port" or "https://host:port".
	AgentURL string
	// Resources is the total that the framework's tasks can use: unreserved resources and those reserved for the
	// framework's role, but none that are revocable or shared.
	Resources resources.Amount
	// Reserved is the part of Resources that is reserved for the framework's role: one entry for each reservation,
	// sorted by key.
	Reserved []Reserved
	// ExecutorIDs are the framework's executors that the master knew on the agent when it made the offer (rule X3).
	ExecutorIDs []string
	// Total is all resources of the agent, used or free; zero if the cluster does not report them.
	Total resources.Amount
	// MaxTasks is how many tasks may be launched on the offer, regardless of free resources; 0 means no limit.
	MaxTasks int
	// Attributes determine which apps may be placed on the agent, by the cluster's own rules (step.Options.Unfit); nil
	// if there are none. The driver returns the same pointer for as long as the attributes are equal, and never
	// changes the value that it points to.
	Attributes *Attributes
	// Unavailable is when the agent's maintenance begins; zero if none is planned. AvailableAgain is the planned end
	// of the maintenance; zero if unknown.
	Unavailable, AvailableAgain time.Time
}

// Attributes are what operators declared about an agent: labels, by which apps choose it, and taints, which repel
// every task that does not tolerate them.
type Attributes struct {
	Labels map[string]string
	Taints []Taint
}

// Taint keeps tasks off an agent. Effect says whether the agent is forbidden or only to be avoided.
type Taint struct{ Key, Value, Effect string }

// Closed reports that an agent accepts no new tasks, and why. With an empty Why it reports that the agent accepts
// tasks again; an offer of the agent implies the same. The scheduler only shows this to users, because the cluster
// makes no offers of a closed agent anyway. Not every cluster sends the event.
type Closed struct {
	AgentID, Hostname string
	// Total and Attributes are as in Offer.
	Total      resources.Amount
	Attributes *Attributes
	// Why is a clause such as "it is cordoned".
	Why string
}

// Rescind withdraws an offer.
type Rescind struct{ OfferID string }

// Failure reports that an agent was removed or, if ExecutorID is set, that an executor ended. Status is then the
// executor's wait status.
type Failure struct {
	AgentID, ExecutorID string
	Status              int
	// Gone says that the cluster does not expect the agent back, because its node was removed. The agent's tasks may
	// still be running.
	Gone bool
}

// FrameworkError is the master's ERROR event. The session ends after it, and its Err wraps it.
type FrameworkError struct {
	Message string
	// Removed is set if the framework id was torn down, FailedOver if another subscriber took the id over.
	Removed, FailedOver bool
}

// Error lets FrameworkError serve as the reason for a session's end.
func (e FrameworkError) Error() string { return "the cluster ended the subscription: " + e.Message }

// Message is a message from an executor to the scheduler. Messages may be lost and have no order.
type Message struct {
	AgentID, ExecutorID string
	// Heartbeat is set if the message is a heartbeat of the executor.
	Heartbeat bool
	// Lease is a request for leases of exclusive tasks, whose signature was not checked; nil for any other message.
	Lease *lease.Message
	// Report is any other decoded message. It is nil if the message could not be decoded; such a message is ignored.
	Report *wire.Report
}

// Heartbeat shows that the session is alive.
type Heartbeat struct{}

func (Subscribed) event() {}

func (Offers) event() {}

func (Closed) event() {}

func (Rescind) event() {}

func (Failure) event() {}

func (FrameworkError) event() {}

func (Update) event() {}

func (Message) event() {}

func (Heartbeat) event() {}

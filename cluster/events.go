package cluster

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Event is what a session reports: one of the types below.
type Event interface{ event() }

// Subscribed is a session's first event.
type Subscribed struct {
	FrameworkID string
	// MasterID is unique to one run of a master (master_info.id).
	MasterID  string
	Heartbeat time.Duration
}

// Offers are new offers.
type Offers struct{ Offers []Offer }

// Offer is resources of one agent.
type Offer struct {
	ID, AgentID, Hostname string
	// AgentURL is the agent's own address: "http://host:port".
	AgentURL string
	// Resources is all that the framework's tasks can use, reserved for our role or not; nothing that is revocable or
	// shared.
	Resources resources.Amount
	// Reserved is the part of Resources that is reserved for our role, each reservation once, in the order of keys.
	Reserved []Reserved
	// ExecutorIDs are our executors that the master knew on the agent when it
	// made the offer (rule X3).
	ExecutorIDs []string
	// Total is all that the agent has, whoever uses it; zero when the cluster does not say it.
	Total resources.Amount
	// MaxTasks is how many tasks may be launched on the offer, whatever is free; 0 sets no bound.
	MaxTasks int
	// Attributes decide which apps may be placed on the agent, by the cluster's own rules (core.Options.Unfit); nil
	// without any. As long as they are the same the same pointer is given, and what it leads to does not change.
	Attributes *Attributes
	// Unavailable is when the agent's maintenance begins, zero when none is planned;
	// AvailableAgain when it is planned to end, zero when that is not said.
	Unavailable, AvailableAgain time.Time
}

// Attributes are what operators have said of an agent: labels to choose it by, and taints, which keep off every task
// that does not tolerate them.
type Attributes struct {
	Labels map[string]string
	Taints []Taint
}

// Taint keeps tasks off an agent, or is only to be avoided, as its effect says.
type Taint struct{ Key, Value, Effect string }

// Closed reports that no tasks may be placed on an agent that the cluster has, or, without Why, that they may again,
// as an offer of it also says. It is for people: nothing is offered of such an agent. Not every cluster says it.
type Closed struct {
	AgentID, Hostname string
	// Total and Attributes are as in offers.
	Total      resources.Amount
	Attributes *Attributes
	// Why is half a sentence, such as "it is cordoned".
	Why string
}

// Rescind takes an offer back.
type Rescind struct{ OfferID string }

// Failure reports that an agent was removed, or, with ExecutorID, that an
// executor ended; Status is then its wait status.
type Failure struct {
	AgentID, ExecutorID string
	Status              int
}

// FrameworkError is the master's ERROR event; the session ends after it, and
// its Err wraps it.
type FrameworkError struct {
	Message string
	// Removed: the id was torn down; FailedOver: another subscriber took it.
	Removed, FailedOver bool
}

// Error makes the event the reason of a session's end.
func (e FrameworkError) Error() string { return "the cluster ended the subscription: " + e.Message }

// Message is what an executor has sent to the scheduler. Messages may get lost, and have no order.
type Message struct {
	AgentID, ExecutorID string
	// Report is what our executor says; nil where what was sent can't be read, which counts as nothing.
	Report *wire.Report
}

// Heartbeat shows that the session lives.
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

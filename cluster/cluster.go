// Package cluster is what the scheduler core needs from a cluster, as an interface and its types: offers of resources,
// tasks that are launched on them by executors, reports of what became of each. cluster/mesos implements it over the
// Mesos v1 scheduler API; nothing here knows Mesos' own types.
//
// A Driver makes Sessions. A Session is one subscription: events come out of
// it in the cluster's order until it ends, and it never heals itself; the
// scheduler decides when to subscribe again (rule T6). Calls are sent once, with no
// retry (rule L3): their error means that the outcome is unknown unless it
// is a *Refused.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// ErrGone is wrapped by the errors of reading a task's files when the agent
// no longer keeps them.
var ErrGone = errors.New("no longer kept")

// FilesGone is an ErrGone that says to people, in half a sentence, what became of the files and what decides about it.
type FilesGone struct{ Why string }

func (g *FilesGone) Error() string { return ErrGone.Error() + ": " + g.Why }

// Unwrap makes it an ErrGone.
func (g *FilesGone) Unwrap() error { return ErrGone }

// ErrOneStream is wrapped by the errors of reading a task's stderr where the cluster keeps it in the task's stdout.
var ErrOneStream = errors.New("it stands in stdout")

// Reserved is the part of some resources that belongs to one reservation of our role on an agent. A cluster takes a
// task only if its resources name exactly the reservations of the offer that they are taken from.
type Reserved struct {
	// Key distinguishes reservations, those with other labels or another maker too. A driver makes and reads it; to
	// everybody else it is opaque. It is kept in the registry.
	Key       string           `json:"key"`
	Resources resources.Amount `json:"resources"`
}

// Framework is who subscribes.
type Framework struct {
	// ID is made by us and kept (rule T7).
	ID                          string
	Name, User, Hostname, WebUI string
	Role, Principal             string
	// FailoverTimeout is how long the master keeps our tasks without us.
	FailoverTimeout time.Duration
}

// Driver opens subscriptions.
type Driver interface {
	// Subscribe sends SUBSCRIBE and returns when the stream is open or failed.
	// It does not retry. ctx bounds the call only, not the session. When the
	// cluster answers with an ERROR event, as it does for a framework id that was
	// torn down, the error wraps a FrameworkError. When it does not let us in, for our
	// credentials or role, the error wraps a *Refused with a 4xx status and says what to look at: trying
	// again helps only when somebody has changed that. A 5xx is a cluster that isn't ready.
	Subscribe(ctx context.Context, f Framework) (Session, error)
}

// Session is one subscription. Its methods may be called concurrently; a
// call's ctx bounds its answer.
type Session interface {
	// Events closes when the session has ended; Err then says why. A
	// Subscribed event is the first.
	Events() <-chan Event
	// Err is nil while the session lives.
	Err() error
	// Launch launches tasks on the offers of one agent, in one call, sent once (Mesos: ACCEPT).
	Launch(ctx context.Context, l Launch) error
	// Decline gives offers back and asks not to see their resources for refuse.
	Decline(ctx context.Context, offers []string, refuse time.Duration) error
	// Kill asks for the end of a task. The cluster may forget it, so it is asked again until the end is reported.
	Kill(ctx context.Context, k Kill) error
	// EndExecutor ends an executor with all its tasks (Mesos: SHUTDOWN).
	EndExecutor(ctx context.Context, executorID, agentID string) error
	// Reconcile asks for the state of the tasks; with none, of all.
	Reconcile(ctx context.Context, tasks []TaskRef) error
	// Acknowledge takes note of an update with a uuid; until then the cluster repeats it.
	Acknowledge(ctx context.Context, a Ack) error
	// RequestOffers asks for offers of all that is free, whatever was declined before (Mesos: REVIVE).
	RequestOffers(ctx context.Context) error
	// StopOffers asks for no offers until RequestOffers (Mesos: SUPPRESS).
	StopOffers(ctx context.Context) error
	// Close ends the session and waits for its goroutines. The framework and its
	// tasks stay (failover).
	Close() error
}

// Demander is a Session that shows others what finds no room, so that they bring more agents.
type Demander interface {
	// ShowUnplaced shows these shards, and no others any more. It decides nothing: losing it, or its error, does no
	// harm.
	ShowUnplaced(ctx context.Context, all []Unplaced) error
}

// Unplaced is a shard that could be launched, and that no agent has room for or suits.
type Unplaced struct {
	Execution, Job string
	Item           int
	// Resources and Container are those of the task that it would be.
	Resources resources.Amount
	Container Container
	// Why is a sentence for people.
	Why string
}

// Refused is a call's error when the cluster answered and said no. With status
// 0 the driver itself said no: the call could not be written down, nothing was sent.
type Refused struct {
	Status  int
	Message string
}

func (r *Refused) Error() string { return r.Message }

// TaskRef names a task to ask about; AgentID may be empty when unknown.
type TaskRef struct{ TaskID, AgentID string }

// Kill asks for the end of a task.
type Kill struct {
	TaskID, AgentID string
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// Reason is why, for people; it may be empty.
	Reason string
}

// Ack acknowledges one status update.
type Ack struct {
	TaskID, AgentID string
	UUID            []byte
}

// Launch uses offers of one agent to launch tasks there.
type Launch struct {
	AgentID  string
	OfferIDs []string
	Tasks    []TaskLaunch
	// Refuse is the filter for what is left over.
	Refuse time.Duration
}

// TaskLaunch is one task to launch.
type TaskLaunch struct {
	TaskID, Name string
	Resources    resources.Amount
	// Reserved is what of Resources is taken from reservations; the rest is unreserved.
	Reserved []Reserved
	// Executor runs it. It is zero on a cluster where each task has an executor of its own, which takes nothing beside
	// Resources (core.Options.TaskExecutors).
	Executor Executor
	// Container is what the task's own container is made of, on a cluster that makes one for each task.
	Container Container
	// Task is all that its executor needs. Nothing in it changes: tasks of one execution have maps of it in common.
	Task wire.Task
	// Shared, unless it is empty, is the encoded part of Task that all tasks of its execution have in common.
	Shared wire.Shared
	// Size bounds how many bytes of a call the task takes.
	Size int
}

// Description is Task as executors read it.
func (t *TaskLaunch) Description() ([]byte, error) { return t.Task.EncodeWith(t.Shared) }

// Size bounds how many bytes of a call all tasks take.
func (l *Launch) Size() (n int) {
	for i := range l.Tasks {
		n += l.Tasks[i].Size
	}
	return n
}

// Container is what an app says of the containers that its tasks run in. Clusters that make none for each task ignore
// it.
type Container struct {
	// Image is run; the cluster's own when empty. PullPolicy and PullSecrets are the cluster's words for how it is
	// fetched.
	Image, PullPolicy string
	PullSecrets       []string
	// Template is what else the container is to have, as JSON in the cluster's own words; nil for nothing.
	Template json.RawMessage
}

// IsZero reports whether the app says nothing.
func (c Container) IsZero() bool {
	return c.Image == "" && c.PullPolicy == "" && len(c.PullSecrets) == 0 && len(c.Template) == 0
}

// Executor describes an executor. The same Executor always becomes the
// same ExecutorInfo, byte for byte, since Mesos rejects tasks whose ExecutorInfo
// differs from that of the running executor of that id (rule X4). It is kept in the registry.
type Executor struct {
	// Version is the version of the mapping to ExecutorInfo: 3 for new ones. Of version 1 the fields behind BinaryURI
	// are ignored, in version 2 Reserved is.
	Version   int              `json:"v"`
	ID        string           `json:"id"`
	Framework string           `json:"framework"`
	Name      string           `json:"name"`
	Resources resources.Amount `json:"resources"`
	// Command is run by the agent, without a shell: Command[0] is the program, in the sandbox.
	Command []string `json:"command"`
	// BinaryURI is fetched into the sandbox, executable and cached.
	BinaryURI string `json:"binaryURI"`
	// User is who the executor runs as; the framework's user when empty, which Mesos never changes.
	User string `json:"user,omitempty"`
	// Environment is set beside what the agent sets. It can be read by everybody who may look at the cluster: no
	// secrets.
	Environment map[string]string `json:"environment,omitempty"`
	// ShutdownGrace is how long the agent waits after SHUTDOWN until it kills; the agent's own default when 0.
	ShutdownGrace time.Duration `json:"shutdownGrace,omitempty"`
	// Reserved is what of Resources was taken from reservations at its start; the rest is unreserved. The executor
	// holds just that until it ends, so it is a part of what may never change.
	Reserved []Reserved `json:"reserved,omitempty"`
}

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

// Update is a task's status update.
type Update struct {
	TaskID, AgentID, ExecutorID string
	State                       State
	Source                      Source
	Reason                      Reason
	// Message is the cluster's own sentence, for people.
	Message string
	// UUID is empty for updates that need no acknowledgement.
	UUID []byte
	// Status is what our executor says of the task. It is nil where the update is not our executor's, and where what
	// it says can't be read, which counts as if it had said nothing.
	Status    *wire.Status
	Timestamp time.Time
	// UnreachableSince is set with Unreachable.
	UnreachableSince time.Time
	// KillKept is set with Unreachable when the cluster keeps a kill of the task for its agent, which ends the task
	// when it is back, and does not start one that it had not been given before.
	KillKept bool
	// ExecutorMismatch is set with Error when the cluster knows the task's executor with another ExecutorInfo: it will
	// refuse every task for that executor (rule X1).
	ExecutorMismatch bool
}

// Message is what an executor has sent to the scheduler. Messages may get lost, and have no order.
type Message struct {
	AgentID, ExecutorID string
	// Report is what our executor says; nil where what was sent can't be read, which counts as nothing.
	Report *wire.Report
}

// Heartbeat shows that the session lives.
type Heartbeat struct{}

func (Subscribed) event()     {}
func (Offers) event()         {}
func (Closed) event()         {}
func (Rescind) event()        {}
func (Failure) event()        {}
func (FrameworkError) event() {}
func (Update) event()         {}
func (Message) event()        {}
func (Heartbeat) event()      {}

// State is a task's state, without Mesos' prefix "TASK_".
type State string

// The states of Mesos. A driver passes states that it does not know as they are.
const (
	Staging        State = "STAGING"
	Starting       State = "STARTING"
	Running        State = "RUNNING"
	Killing        State = "KILLING"
	Finished       State = "FINISHED"
	Failed         State = "FAILED"
	Killed         State = "KILLED"
	Error          State = "ERROR"
	Lost           State = "LOST"
	Dropped        State = "DROPPED"
	Unreachable    State = "UNREACHABLE"
	Gone           State = "GONE"
	GoneByOperator State = "GONE_BY_OPERATOR"
	Unknown        State = "UNKNOWN"
)

// Terminal reports whether a task in this state, reported by its agent, has ended.
// GONE, UNKNOWN and UNREACHABLE have rules of their own.
func (s State) Terminal() bool {
	switch s {
	case Finished, Failed, Killed, Error, Lost, Dropped, Gone, GoneByOperator:
		return true
	}
	return false
}

// Source is who sent an update.
type Source string

// The sources of updates.
const (
	FromMaster   Source = "MASTER"
	FromAgent    Source = "AGENT"
	FromExecutor Source = "EXECUTOR"
)

// Reason is why a task's state changed, as a word of the cluster; "" when it gave none.
type Reason string

// The reasons that rules speak of, with the names of Mesos without their prefix "REASON_". A driver passes others as
// they are.
const (
	ReasonReconciliation        Reason = "RECONCILIATION"
	ReasonExecutorTerminated    Reason = "EXECUTOR_TERMINATED"
	ReasonKilledDuringLaunch    Reason = "TASK_KILLED_DURING_LAUNCH"
	ReasonContainerLaunchFailed Reason = "CONTAINER_LAUNCH_FAILED"
	ReasonContainerMemory       Reason = "CONTAINER_LIMITATION_MEMORY"
	ReasonContainerDisk         Reason = "CONTAINER_LIMITATION_DISK"
	ReasonInvalidOffers         Reason = "INVALID_OFFERS"
	ReasonTaskInvalid           Reason = "TASK_INVALID"
	ReasonAgentRemoved          Reason = "AGENT_REMOVED"
	ReasonAgentDraining         Reason = "AGENT_DRAINING"
	ReasonAgentReregistered     Reason = "AGENT_REREGISTERED"
	// ReasonTaskRemoved is no word of Mesos: somebody has removed a task from a cluster, whose agent ends it now, if
	// it lives.
	ReasonTaskRemoved Reason = "TASK_REMOVED"
)

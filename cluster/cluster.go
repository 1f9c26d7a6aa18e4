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
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/resources"
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

package executors

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// record is the stored part of an executor.
type record struct {
	App   string `json:"app"`
	Key   string `json:"kind"`
	Agent string `json:"agent"`
	// Info is the ExecutorInfo that it was started with, kept byte for byte (rule X4).
	Info cluster.Executor `json:"info"`
	// Role is the framework's role when it was started, "" for the default.
	Role string `json:"role,omitempty"`
	// Sandbox is the folder of its newest run, as it reported it: an absolute path on its agent's host, "" before
	// that.
	Sandbox string `json:"sandbox,omitempty"`
	// Heard is set when an update of the executor, about any task, was committed. The acknowledgement follows the
	// commit; from then on the executor starts processes before it reports their tasks (rule E1).
	Heard bool `json:"heard,omitempty"`
	// Beats is set when the executor has sent a heartbeat. Executors of earlier releases never do.
	Beats bool `json:"beats,omitempty"`
	// Closing is committed before SHUTDOWN is sent; from then on no task is matched to the executor (rule X2).
	Closing  bool      `json:"closing,omitempty"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
}

// Executor is an executor that was started, or is about to be. Its methods only read; Set owns it, and alone changes
// it.
type Executor struct {
	rec     record
	tasks   resources.Account // its live tasks
	pending int               // unanswered ACCEPTs that name it
	// sentWith is the last ACCEPT that named the executor. confirmed is set when the cluster reports a task of it
	// after that ACCEPT was answered, so that the executors named by an offer from then on are those that run (rule
	// X3).
	sentWith   int64
	confirmed  bool
	lastUpdate time.Time
	addedAt    time.Time // zero if an earlier leader started it
	// ended is set when the agent has reported the end of the executor with a task of its last ACCEPT, so that nothing
	// can have started it again since. Its record is removed once none of its tasks is live.
	ended      bool
	ran        bool      // it is known to have started, or was started by an earlier leader
	unanswered int       // number of sweeps since its last update that found it with an unanswered kill
	sweptAt    time.Time // time of the last of those sweeps
	// unansweredGrace is the longest grace of the kills that those sweeps found.
	unansweredGrace time.Duration
	unresponsive    bool // it has not answered a kill, so it is shut down with its tasks (rule K3)
	idleSince       time.Time
	busySince       time.Time
	idleCheckAt     time.Time
	shutdownSent    time.Time
	shutdownTry     int
	// heartbeatAt is when its last heartbeat arrived in this term, heardAt when its last heartbeat or update did.
	// silentSince is since when it has sent neither for too long, zero while that is not so.
	heartbeatAt, heardAt, silentSince time.Time
	// reportedAt is when its last report arrived. quiet is set when it was recorded that none came for too long.
	reportedAt time.Time
	quiet      bool
}

// Uses returns the resources that the executor and its tasks occupy on the agent. The executor's own part does not
// count once it has ended.
func (e *Executor) Uses() resources.Amount {
	if e.ended {
		return e.tasks.Used()
	}
	return e.tasks.Used().Plus(e.rec.Info.Resources)
}

// Pending is the number of unanswered ACCEPTs that name the executor.
func (e *Executor) Pending() int { return e.pending }

// SentWith is the number of the last ACCEPT that named the executor in this term, 0 for none.
func (e *Executor) SentWith() int64 { return e.sentWith }

// Confirmed reports whether the executors that an offer names now are those that run (rule X3). It is true if the
// cluster has reported a task of the executor's last ACCEPT after the answer to that ACCEPT, or if no ACCEPT of this
// session has named the executor.
func (e *Executor) Confirmed() bool { return e.confirmed }

// LastUpdate is when the last update of a task of the executor arrived in this term, zero for none.
func (e *Executor) LastUpdate() time.Time { return e.lastUpdate }

// AddedAt is when the executor was added, in the time of the term; zero if an earlier leader started it.
func (e *Executor) AddedAt() time.Time { return e.addedAt }

// Ended reports whether the agent has reported the end of the executor with a task of its last ACCEPT, so that nothing
// can have started it again since. The executor is removed once none of its tasks is live.
func (e *Executor) Ended() bool { return e.ended }

// Ran reports whether the executor is known to have started, or was loaded from the registry.
func (e *Executor) Ran() bool { return e.ran }

// Unresponsive reports whether the executor has not answered a kill, so that it is shut down with its tasks (rule K3).
func (e *Executor) Unresponsive() bool { return e.unresponsive }

// IdleSince is when its last task was released, or when it was loaded; zero if neither has happened. It is
// meaningful while Tasks is 0.
func (e *Executor) IdleSince() time.Time { return e.idleSince }

// BusySince is when it got its first task since it was idle last, or when it was loaded with tasks; zero if neither
// has happened. It is meaningful while Tasks is positive.
func (e *Executor) BusySince() time.Time { return e.busySince }

// IdleCheckAt is when the idle time of the executor is checked next, zero for never (Set.ScheduleIdleCheck).
func (e *Executor) IdleCheckAt() time.Time { return e.idleCheckAt }

// ShutdownTry is how often SHUTDOWN was sent since the session began or RepeatShutdown was called.
func (e *Executor) ShutdownTry() int { return e.shutdownTry }

// ReportedAt is when the last report of the executor arrived in this term, zero for none.
func (e *Executor) ReportedAt() time.Time { return e.reportedAt }

// Beats reports whether the executor has ever sent a heartbeat. If it has not, its silence means nothing.
func (e *Executor) Beats() bool { return e.rec.Beats }

// HeartbeatAt is when the last heartbeat of the executor arrived in this term, zero for none.
func (e *Executor) HeartbeatAt() time.Time { return e.heartbeatAt }

// HeardAt is when the last heartbeat or update of the executor arrived in this term, zero for none.
func (e *Executor) HeardAt() time.Time { return e.heardAt }

// SilentSince is since when the executor has been silent (MarkSilent), zero while it is not.
func (e *Executor) SilentSince() time.Time { return e.silentSince }

// Quiet reports whether MarkQuiet was called since the last report of the executor.
func (e *Executor) Quiet() bool { return e.quiet }

// Sandbox is the folder of the executor's newest run, as it reported it: an absolute path on its agent's host, ""
// before that.
func (e *Executor) Sandbox() string { return e.rec.Sandbox }

// IsClosing reports whether the executor gets no more tasks. That is committed before SHUTDOWN is sent (rule X2).
func (e *Executor) IsClosing() bool { return e.rec.Closing }

// Key is the key of the app that it was started for (see the function Key).
func (e *Executor) Key() string { return e.rec.Key }

// Info is what the executor was started with, kept byte for byte (rule X4).
func (e *Executor) Info() cluster.Executor { return e.rec.Info }

// ClosedAt is when it was closed, in the time of the term; zero while IsClosing is false.
func (e *Executor) ClosedAt() time.Time { return e.rec.ClosedAt }

// App is the name of the app that it runs tasks of.
func (e *Executor) App() string { return e.rec.App }

// Agent is the id of the agent that it runs on.
func (e *Executor) Agent() string { return e.rec.Agent }

// ID is the id of the executor on the cluster, made of its app, its agent and a number.
func (e *Executor) ID() string { return e.rec.Info.ID }

// Resources is what the executor occupies itself, without its tasks.
func (e *Executor) Resources() resources.Amount { return e.rec.Info.Resources }

// Tasks is the number of its live tasks, those of daemons included.
func (e *Executor) Tasks() int { return e.tasks.Tasks() }

// Daemons is the number of its live tasks that belong to daemons.
func (e *Executor) Daemons() int { return e.tasks.Daemons() }

// Used is what its live tasks are allotted together.
func (e *Executor) Used() resources.Amount { return e.tasks.Used() }

// Stored encodes the executor as it is stored. Tests use it to compare what two leaders know.
func (e *Executor) Stored() []byte { return store.Encode(&e.rec) }

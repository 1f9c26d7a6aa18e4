package step

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
)

// Options are the settings of the core, and its limits and timeouts. Use DefaultOptions and change what differs.
// They do not change during a term.
type Options struct {
	// Release is the version of this program. The stored state names the oldest release that may read it.
	Release string
	// ClusterKind names the kind of cluster, as messages show it. The core refuses the state of another kind. It is
	// empty for Mesos and for clusters with Mesos' protocol.
	ClusterKind string
	// Held is the reason, as users see it, why nothing is launched; empty if launches are not held. Everything else
	// continues.
	Held string
	// Zone is the time zone of crons of jobs without a time zone.
	Zone *time.Location
	// Strategy decides which of the agents with room gets a shard.
	Strategy offers.Strategy
	// KillGrace is the time between SIGTERM and SIGKILL for jobs that set none of their own.
	KillGrace time.Duration
	// TaskExecutors is set where the cluster starts an executor for each task, which ends with the task and takes no
	// more than the task's own resources. There are no records of executors then, and the resources of an app's
	// executor are not accounted.
	TaskExecutors bool
	// Unfit takes the container settings of an app, and returns a function that says why the app may not be placed on
	// an agent with the given attributes, or "". Both functions must be pure. Unfit is nil where any app may be placed
	// anywhere.
	Unfit func(app cluster.Container) func(on *cluster.Attributes) string
	// ExecutorIdle is how long an executor without tasks is kept (rule X9).
	ExecutorIdle time.Duration
	// ExecutorBinary is the URI from which agents fetch the executor for new executors (rule X4).
	ExecutorBinary string
	// ExecutorCommand is the command that the agent runs in the executor's sandbox.
	ExecutorCommand []string
	// ExecutorUser is the user that new executors run as; the framework's user if it is empty.
	ExecutorUser string
	// ExecutorEnvironment is added to the environment of new executors. HostnameVariable, if not empty, names one
	// more variable, which gets the host name of the executor's agent. They must hold no secrets.
	ExecutorEnvironment map[string]string
	HostnameVariable    string
	// KillAnswer is how much longer than the grace an executor may take to report the end of a task that it was asked
	// to kill, before the executor is shut down (rule K3). It is more than the 75 s that a master takes by default to
	// find that an agent is away: until then the agent may be away, or only the executor does not answer.
	KillAnswer time.Duration
	// ExecutorShutdown is the grace that agents give new executors at SHUTDOWN; the agent's default if it is 0.
	ExecutorShutdown time.Duration
	// Role is the framework's role; "" and "*" are the default role. The master adds the role to an executor's
	// ExecutorInfo, so an executor that was started with another role is not used again (rule X1).
	Role string

	// MaxLateness is the age up to which a fire is still run like any other (rule F3).
	MaxLateness time.Duration
	// MaxQueuedFires bounds how many fires of a job may wait (rules F3, F5).
	MaxQueuedFires int
	// MaxOpenExecutions bounds the waiting fires of all jobs: with so many executions open, only one fire of each job
	// may wait.
	MaxOpenExecutions int
	// FiresPerStep bounds the fires that one commit makes (rule F1).
	FiresPerStep int
	// DemandsPerStep bounds the executions that one match considers.
	DemandsPerStep int
	// LaunchBytes bounds the descriptions of all tasks that one ACCEPT launches (rule L3), and RunBytes those of
	// all shards of an execution.
	LaunchBytes, RunBytes int
	// Documents is the format in which documents of apps and jobs are written. Both formats are read.
	Documents DocumentFormat
	// DocumentsLimit bounds the stored size, in bytes, of the documents of all apps and jobs together,
	// DocumentsPerAppLimit that of an app and its jobs; 0 means no limit. Documents that are stored already stay in
	// force.
	DocumentsLimit, DocumentsPerAppLimit int64
	// MaxEnded bounds the ended executions of all jobs together that are kept; there are lower limits for each job.
	// While rows of ended executions are not in the history yet, up to MaxUnstored are kept (rule H1).
	MaxEnded, MaxUnstored int
	// History is set if there is a history to record in. Then Term, the number of the term, is positive.
	History bool
	Term    int64
	// LeaseURLs are the addresses at which executors ask for leases of exclusive tasks. If there is none, exclusive
	// tasks get no lease, and are never given up (rule K5).
	LeaseURLs []string
	// Operators has the error handler, with its properties, by which the people who run the scheduler are notified. It
	// has no name. Without such a handler operators are not notified. It contains secrets.
	Operators jobs.Config
	// JobMetrics bounds the number of jobs that have metrics of their own.
	JobMetrics int

	// OfferHold is the longest time for which an offer is held. OfferAhead bounds how long before a fire offers are
	// requested, also on a cluster that is slow to make them. MaxRefuse is the longest filter of a declined offer.
	OfferHold, OfferAhead, MaxRefuse time.Duration
	// ReserveAfter is how long an execution waits before it may get a reservation, and ReserveBeyond how long the
	// reservation lasts beyond the longest run of a shard on its agents (rule L2).
	ReserveAfter, ReserveBeyond time.Duration

	// UnreachableAfter is how long an agent must be unreachable before the shards on it are given up, for jobs that
	// choose no time of their own (rule E4).
	UnreachableAfter time.Duration
	// StagingKill is the age at which a task that has not started is killed, and StagingLost the age at which it
	// counts as lost.
	StagingKill, StagingLost time.Duration
	// EndUnclear is how long the scheduler waits for the update with the cause of an end that reconciliation has
	// reported (rule S5).
	EndUnclear time.Duration
	// OrphanRetention is how long an orphan is kept that does not block its shard (rule E5).
	OrphanRetention time.Duration
	// RemovedWait, with KillGrace or ExecutorShutdown added, whichever is longer, is how long an agent must have
	// been registered before the tasks of a removed framework must have ended (rule T7). It must be longer than the
	// master takes to find an agent away, which is 75 s by default.
	RemovedWait time.Duration
	// ReconcileInterval is the period of full reconciliation. MinReconcileInterval is the first of the growing
	// intervals at which the master is asked again about tasks that it has not reported.
	ReconcileInterval, MinReconcileInterval time.Duration
	// MaxErrors, MaxLosses and MaxStarts bound how often a shard may be refused, lost or not started (rules E1, E2,
	// L6).
	MaxErrors, MaxLosses, MaxStarts int
	// MinBackoff and MaxBackoff bound the growing delay before a shard is launched again.
	MinBackoff, MaxBackoff time.Duration
	// MinResendInterval and MaxResendInterval bound the growing interval at which kills and shutdowns are repeated.
	MinResendInterval, MaxResendInterval time.Duration
	// MinSubscribeDelay and MaxSubscribeDelay bound the growing delay between attempts to subscribe.
	MinSubscribeDelay, MaxSubscribeDelay time.Duration
}

// DefaultOptions returns the values that the rules name. It leaves out the settings of a cluster, such as
// ExecutorBinary.
func DefaultOptions() Options {
	return Options{
		Zone: time.UTC, KillGrace: 5 * time.Second, KillAnswer: 90 * time.Second, ExecutorIdle: 30 * time.Second,
		ExecutorCommand: []string{"./executor"},
		MaxLateness:     time.Minute, MaxQueuedFires: 100, MaxOpenExecutions: 100_000, FiresPerStep: 1000,
		DemandsPerStep: 2000, MaxEnded: 10_000, MaxUnstored: 30_000, JobMetrics: 1000,
		LaunchBytes: 16 << 20, RunBytes: 2 * jobs.MaxRunBytes,
		DocumentsLimit: 256 << 20, DocumentsPerAppLimit: 64 << 20,
		OfferHold: 5 * time.Second, OfferAhead: 2 * time.Second, MaxRefuse: time.Minute,
		ReserveAfter: 30 * time.Second, ReserveBeyond: time.Minute,
		UnreachableAfter: time.Minute, StagingKill: 5 * time.Minute, StagingLost: 10 * time.Minute,
		EndUnclear: 15 * time.Minute, OrphanRetention: 14 * 24 * time.Hour, RemovedWait: 2 * time.Minute,
		ReconcileInterval: 10 * time.Minute, MinReconcileInterval: time.Second,
		MaxErrors: 5, MaxLosses: 5, MaxStarts: 5,
		MinBackoff: 200 * time.Millisecond, MaxBackoff: time.Minute,
		MinResendInterval: 2 * time.Second, MaxResendInterval: 2 * time.Minute,
		MinSubscribeDelay: 50 * time.Millisecond, MaxSubscribeDelay: 15 * time.Second,
	}
}

// Backoff returns the delay after a number of earlier tries (0 for the first delay): first, doubled with each try,
// up to limit.
func Backoff(first, limit time.Duration, tries int) time.Duration {
	d := first
	for ; tries > 0 && d < limit; tries-- {
		d *= 2
	}
	return min(d, limit)
}

// DocumentFormat is the format of documents of apps and jobs in the registry.
type DocumentFormat int

const (
	// JSONDocuments is the format of this scheduler and of ElasticJob-Cloud 2.x.
	JSONDocuments DocumentFormat = iota
	// YAMLDocuments is the format that ElasticJob-Cloud 3.x reads and writes.
	YAMLDocuments
)

// ResendDue reports whether a call must be sent now. sent is when it was last sent, zero if it was not sent yet, and
// tries is how often it was sent. The interval begins with first and grows up to limit.
func ResendDue(now, sent time.Time, first, limit time.Duration, tries int) bool {
	return sent.IsZero() || now.Sub(sent) >= Backoff(first, limit, tries-1)
}

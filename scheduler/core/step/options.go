package step

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
)

// Options are what people may set of the core, and its timeouts. Use
// DefaultOptions and change what differs.
type Options struct {
	// Release is the version of this program. The state names the release that it needs at least.
	Release string
	// ClusterKind names the kind of cluster, for people. The state of one kind is not taken up with another. It is empty for Mesos, and what
	// speaks as Mesos does.
	ClusterKind string
	// Held is why nothing is launched, for people; empty where launches are not held. All else goes on.
	Held string
	// Zone of crons whose job names none.
	Zone *time.Location
	// Strategy is how agents are chosen.
	Strategy offers.Strategy
	// KillGrace is the time between SIGTERM and SIGKILL.
	KillGrace time.Duration
	// TaskExecutors is set where the cluster starts an executor for each task, which ends with it and takes nothing beside the task's own
	// resources: there are no records of executors then, and what an app takes is paid by nobody.
	TaskExecutors bool
	// Unfit reads what an app says of its containers, and gives what says why they may not be placed on an agent, or "". Both are pure;
	// agents without attributes are not asked about. nil where any app may be placed anywhere.
	Unfit func(app cluster.Container) func(on *cluster.Attributes) string
	// ExecutorIdle is how long an executor is kept with nothing to do (rule X9).
	ExecutorIdle time.Duration
	// ExecutorBinary is the URI of the executor for new executors (rule X4).
	ExecutorBinary string
	// ExecutorCommand is what the agent runs in the executor's sandbox.
	ExecutorCommand []string
	// ExecutorUser is who new executors run as; the framework's user when empty.
	ExecutorUser string
	// ExecutorEnvironment is what new executors get in their environment, and HostnameVariable, if not empty, names one variable more:
	// it gets the hostname of the executor's agent. They hold no secrets.
	ExecutorEnvironment map[string]string
	HostnameVariable    string
	// KillAnswer is how much longer than the grace an executor may take to report the end of a task that it was asked to
	// kill, before it is ended from outside (rule K3). It is more than the 75 s that a master takes by default to find
	// that an agent is away: until then that can't be distinguished from an executor that does not answer.
	KillAnswer time.Duration
	// ExecutorShutdown is what agents are to give new executors at SHUTDOWN; the agent's default when 0.
	ExecutorShutdown time.Duration
	// Role is the framework's; "" and "*" are the default. The master adds it to the ExecutorInfo
	// that it was sent, so one of another role is not used again (rule X1).
	Role string

	// Late is how old a fire may be and still be run like any other (rule F3).
	Late time.Duration
	// QueuedFires is how many fires of a job may wait (rules F3, F5).
	QueuedFires int
	// OpenExecutions bounds the fires of all jobs that wait: with so many executions open, one fire of each job may.
	OpenExecutions int
	// FiresPerStep bounds one commit (rule F1).
	FiresPerStep int
	// DemandsPerStep bounds one match.
	DemandsPerStep int
	// LaunchBytes bounds how large the descriptions of all tasks are that one ACCEPT launches (rule L3), and RunBytes
	// those of all shards of an execution.
	LaunchBytes, RunBytes int
	// Documents is the form in which documents of apps and jobs are written; both are read.
	Documents DocumentFormat
	// DocumentsLimit bounds the documents of all apps and jobs together, DocumentsPerAppLimit those of an app and its
	// jobs, in bytes as they are stored; 0 bounds nothing. What is stored already is kept.
	DocumentsLimit, DocumentsPerAppLimit int64
	// EndedKept is how many ended executions are kept in all; each job keeps fewer (ringSizes). Those whose rows are not in the
	// history yet are kept beside them, UnstoredKept in all (rule H1).
	EndedKept, UnstoredKept int
	// History is set when there is a history to record in. Term is the number of the term, which is positive then.
	History bool
	Term    int64
	// JobMetrics is of how many jobs there are numbers of their own for metrics.
	JobMetrics int

	// OfferHold is how long an offer is held at most; OfferAhead how long before a fire offers are
	// asked for at most, on a cluster that is slow to make them; RefuseMost the longest filter of what is declined.
	OfferHold, OfferAhead, RefuseMost time.Duration
	// ReserveAfter and ReserveBeyond are rule L2's 30 s, and the minute that a reservation lasts beyond the longest
	// run of a shard on its agents.
	ReserveAfter, ReserveBeyond time.Duration

	// UnreachableFailover and UnreachableLost are rule E4's 2 and 10 minutes.
	UnreachableFailover, UnreachableLost time.Duration
	// StagingKill and StagingLost are the reconciliation table's 5 and 10 minutes.
	StagingKill, StagingLost time.Duration
	// EndUnclear is rule S5's 15 minutes.
	EndUnclear time.Duration
	// OrphanKept is rule E5's 2 weeks.
	OrphanKept time.Duration
	// RemovedWait, and beside it KillGrace or, if longer, ExecutorShutdown, is how long an agent must have been registered for the
	// tasks of a removed framework to be over (rule T7). It must be longer than the master takes to
	// find an agent away, 75 s as Mesos comes.
	RemovedWait time.Duration
	// ReconcileEvery is the period of reconciliation, ReconcileFirst the first
	// interval at which unanswered tasks are asked about again.
	ReconcileEvery, ReconcileFirst time.Duration
	// MaxErrors, MaxLosses, MaxStarts end the repetition of a shard (rules E1, E2, L6).
	MaxErrors, MaxLosses, MaxStarts int
	// BackoffFirst and BackoffMost bound the delay before a shard is launched again.
	BackoffFirst, BackoffMost time.Duration
	// ResendFirst and ResendMost bound the repetition of kills and shutdowns.
	ResendFirst, ResendMost time.Duration
	// SubscribeMost bounds the delay between subscriptions.
	SubscribeFirst, SubscribeMost time.Duration
}

// DefaultOptions are the values that the rules name.
func DefaultOptions() Options {
	return Options{
		Zone: time.UTC, KillGrace: 5 * time.Second, KillAnswer: 90 * time.Second, ExecutorIdle: 30 * time.Second,
		ExecutorCommand: []string{"./executor"},
		Late:            time.Minute, QueuedFires: 100, OpenExecutions: 100_000, FiresPerStep: 1000, DemandsPerStep: 2000, EndedKept: 10_000, UnstoredKept: 30_000, JobMetrics: 1000,
		LaunchBytes: 16 << 20, RunBytes: 2 * jobs.MaxRunBytes,
		DocumentsLimit: 256 << 20, DocumentsPerAppLimit: 64 << 20,
		OfferHold: 5 * time.Second, OfferAhead: 2 * time.Second, RefuseMost: time.Minute,
		ReserveAfter: 30 * time.Second, ReserveBeyond: time.Minute,
		UnreachableFailover: 2 * time.Minute, UnreachableLost: 10 * time.Minute,
		StagingKill: 5 * time.Minute, StagingLost: 10 * time.Minute,
		EndUnclear: 15 * time.Minute, OrphanKept: 14 * 24 * time.Hour, RemovedWait: 2 * time.Minute,
		ReconcileEvery: 10 * time.Minute, ReconcileFirst: time.Second,
		MaxErrors: 5, MaxLosses: 5, MaxStarts: 5,
		BackoffFirst: 200 * time.Millisecond, BackoffMost: time.Minute,
		ResendFirst: 2 * time.Second, ResendMost: 2 * time.Minute,
		SubscribeFirst: 50 * time.Millisecond, SubscribeMost: 15 * time.Second,
	}
}

// Backoff doubles from first to most with the number of tries before (0 for the first).
func Backoff(first, most time.Duration, tries int) time.Duration {
	d := first
	for ; tries > 0 && d < most; tries-- {
		d *= 2
	}
	return min(d, most)
}

// DocumentFormat is the form of documents of apps and jobs in the registry.
type DocumentFormat int

const (
	// JSONDocuments are ours, and ElasticJob-Cloud 2.x's.
	JSONDocuments DocumentFormat = iota
	// YAMLDocuments are as ElasticJob-Cloud 3.x reads and writes them.
	YAMLDocuments
)

func ResendDue(now, sent time.Time, first, most time.Duration, tries int) bool {
	return sent.IsZero() || now.Sub(sent) >= Backoff(first, most, tries-1)
}

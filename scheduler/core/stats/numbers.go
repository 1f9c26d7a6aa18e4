// Package stats has the numbers that the scheduler exports as metrics: counters, gauges and histograms, for all jobs
// together and for a limited number of single jobs. They are plain values that the parts of the core increase in a
// step. A new leader term begins at zero. The package neither stores nor exports them.
package stats

import "time"

// Stats has gauges of the present, and counters and histograms since this leader's term began. Durations are in
// seconds.
type Stats struct {
	Leading, Subscribed                                            bool
	Term                                                           int64
	Apps, Jobs, ExecutionsWaiting, ExecutionsRunning, TasksRunning int
	ExecutorsRunning, OffersHeld                                   int
	Fires, FiresDropped, Triggers                                  int64
	// FiresMissed counts the missed windows of each job, not the fires in them.
	FiresMissed                                            int64
	ExecutionsFinished, ExecutionsFailed, ExecutionsKilled int64
	// A task that ended is counted by its state if its shard ended with it, otherwise as requeued.
	TasksLaunched, TasksFinished, TasksFailed, TasksTimedOut     int64
	TasksKilled, TasksLost, TasksRequeued                        int64
	OffersReceived, OffersDeclined, StatusUpdates, Subscriptions int64
	// DaemonRuns counts the ended runs of daemons, DaemonRunsFailed the failed ones among them, according to their
	// executors.
	DaemonRuns, DaemonRunsFailed int64
	// NotificationsSent and NotificationsFailed count attempts to notify people; NotificationsPending are still to
	// be sent.
	NotificationsSent, NotificationsFailed int64
	NotificationsPending                   int

	// Ready counts the executions that could be launched. The other three count shards that wait for another task:
	// those that were lost (Failover), those that failed or never began (Retry), and those of daemons (Daemon), which
	// may also wait for their first task.
	Ready, Failover, Retry, Daemon Queue
	// ExecutionsBlocked counts the executions that wait for something other than resources: an execution of the same
	// job, or the end of a pause.
	ExecutionsBlocked int
	// MachinesSilent and MachinesCordoned count machines, and JobsBlocked the jobs that can't go on because an attempt
	// of them may still run on a machine that does not answer.
	MachinesSilent, MachinesCordoned, JobsBlocked int

	// FireDelay is the time from a cron's fire to the step that launches its execution, BeginDelay the time from the
	// fire to the beginning of each shard's first process. Both leave out executions that waited for another one of
	// their job.
	FireDelay, BeginDelay Histogram
	// ExecutionWait is the time from the creation of an execution to its launch, ExecutionRun that from the beginning
	// of its first process to the end of its last one.
	ExecutionWait, ExecutionRun Histogram
	// TaskRun is the lifetime of a task's process, DaemonRun the duration of those daemon runs that are reported
	// one by one.
	TaskRun, DaemonRun Histogram
	// CommitTime, CommitWrites and CommitEvents are the duration, the number of writes and the number of events of
	// each commit to the registry. The shell counts them, and CommitsFailed; in the core they stay zero.
	CommitTime, CommitWrites, CommitEvents Histogram
	CommitsFailed                          int64

	// Documents has the sizes of the documents of apps and jobs.
	Documents DocumentSizes

	// OfJobs are the numbers of the first Options.JobMetrics jobs that have ended a run, in no order.
	// JobsWithoutMetrics is the number of the other jobs that have ended a run.
	OfJobs             []JobStats
	JobsWithoutMetrics int
}

// Queue counts waiting executions or shards (Depth); it also has how long the oldest of them has waited.
type Queue struct {
	Depth  int
	Oldest time.Duration
}

// New makes the numbers of a term in which nothing has happened, with empty histograms.
func New() Stats {
	return Stats{
		FireDelay: NewLatencies(), BeginDelay: NewLatencies(), ExecutionWait: NewLatencies(),
		ExecutionRun: NewDurations(), TaskRun: NewDurations(), DaemonRun: NewDurations(),
		CommitTime: NewLatencies(), CommitWrites: NewSizes(), CommitEvents: NewSizes(),
	}
}

// JobStats are one job's numbers for metrics.
type JobStats struct {
	Job string
	// LastSuccess is the time at which its last run that finished ended, zero if none is known.
	LastSuccess time.Time
	// LastDuration is the duration of its last run that had a process, from the beginning of its first process to
	// the run's end; 0 if none is known.
	LastDuration time.Duration
	// Finished, Failed and Killed count its runs since this leader's term began.
	Finished, Failed, Killed int64
}

// ObserveRun counts the duration of a run in h, if its beginning and its end are known. It counts 0 if the end is
// before the beginning because a clock was set.
func ObserveRun(h *Histogram, begin, end time.Time) {
	if !begin.IsZero() && !end.IsZero() {
		h.Observe(max(end.Sub(begin), 0).Seconds())
	}
}

// Last records the last run of a job, which must have ended after all earlier ones. begin and complete are when its
// first process began and its last one ended. If the run had no process, begin is zero and LastDuration stays.
func (s *JobStats) Last(finished bool, ended, begin, complete time.Time) {
	if finished {
		s.LastSuccess = ended
	}
	if !begin.IsZero() {
		s.LastDuration = max(complete.Sub(begin), 0)
	}
}

// DocumentSizes has the size of the documents in force of all apps and jobs, in bytes as they are stored, and its
// limit. A limit of 0 bounds nothing.
type DocumentSizes struct {
	Bytes, Limit int64
	// LargestApp is the largest size of an app's document and those of its jobs together, and PerAppLimit bounds
	// it.
	LargestApp, PerAppLimit int64
}

package stats

import "time"

// Stats are gauges of now, and counters and histograms since this leader's term began, for metrics. Durations are in seconds.
type Stats struct {
	Leading, Subscribed                                            bool
	Term                                                           int64
	Apps, Jobs, ExecutionsWaiting, ExecutionsRunning, TasksRunning int
	ExecutorsRunning, OffersHeld                                   int
	Fires, FiresDropped, Triggers                                  int64
	// FiresMissed counts for each job the times in which it missed fires, not the fires.
	FiresMissed                                            int64
	ExecutionsFinished, ExecutionsFailed, ExecutionsKilled int64
	// A task that ended is counted by its state if its shard ended with it; else it was requeued.
	TasksLaunched, TasksFinished, TasksFailed, TasksTimedOut     int64
	TasksKilled, TasksLost, TasksRequeued                        int64
	OffersReceived, OffersDeclined, StatusUpdates, Subscriptions int64
	// DaemonRuns have ended, DaemonRunsFailed of them failed, as their executors counted them.
	DaemonRuns, DaemonRunsFailed int64
	// NotificationsSent and NotificationsFailed are attempts to tell people of failures; NotificationsPending wait to be sent.
	NotificationsSent, NotificationsFailed int64
	NotificationsPending                   int

	// Ready has the executions that could be launched, the others the shards that wait for another task: those that
	// were lost, those that failed or never began, and those of daemons, which wait for their first one, too.
	Ready, Failover, Retry, Daemon Queue
	// ExecutionsBlocked wait for something else than resources: an execution of the same job, or the end of a pause.
	ExecutionsBlocked int

	// FireDelay is the time from a cron's moment to the step that launches its execution, and BeginDelay to the begin of the process
	// of each shard, in its first task; both of executions that waited for no other one of their job.
	FireDelay, BeginDelay Histogram
	// ExecutionWait is from when an execution was made to its launch, ExecutionRun from its first process to its last one's end.
	ExecutionWait, ExecutionRun Histogram
	// TaskRun is how long the process of a task lived, DaemonRun how long a daemon's run took of those reported one by one.
	TaskRun, DaemonRun Histogram
	// Of the registry's commits, which the core knows nothing of: how long they took, and how many writes and events each had.
	CommitTime, CommitWrites, CommitEvents Histogram
	CommitsFailed                          int64

	Documents DocumentSizes

	// OfJobs are the numbers of the first Options.JobMetrics jobs that ended a run, in no order; JobsWithoutMetrics
	// is how many more have ended one.
	OfJobs             []JobStats
	JobsWithoutMetrics int
}

// Queue is how much waits, and for how long the oldest of it has.
type Queue struct {
	Depth  int
	Oldest time.Duration
}

// NewStats are the numbers of a term in which nothing has happened.
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
	// LastSuccess is when its last run that finished ended, zero if none is known.
	LastSuccess time.Time
	// LastDuration is how long the last run of it took that had a process, from its first process to its end; 0 if none is known.
	LastDuration time.Duration
	// Finished, Failed and Killed count its runs since this leader's term began.
	Finished, Failed, Killed int64
}

// ObserveRun counts how long something ran, if both ends are known. Clocks that were set may have them in the wrong order.
func ObserveRun(h *Histogram, begin, end time.Time) {
	if !begin.IsZero() && !end.IsZero() {
		h.Observe(max(end.Sub(begin), 0).Seconds())
	}
}

// Last takes from a run, which ended after all that were taken before, what a job's last run says: begin and complete
// are when its first process began and its last one ended, zero for none.
func (s *JobStats) Last(finished bool, ended, begin, complete time.Time) {
	if finished {
		s.LastSuccess = ended
	}
	if !begin.IsZero() {
		s.LastDuration = max(complete.Sub(begin), 0)
	}
}

// DocumentSizes is how large the documents in force of apps and jobs are, in bytes as they are stored, and how large they
// may be; a limit of 0 is none.
type DocumentSizes struct {
	Bytes, Limit int64
	// LargestApp is that of the app whose document and jobs are the largest together.
	LargestApp, PerAppLimit int64
}

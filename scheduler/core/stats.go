package core

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
func NewStats() Stats {
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

// countRun counts the end of an execution with its job.
func (c *Core) countRun(e *execution) {
	j := c.config.jobs[e.Job]
	if j == nil || j.cfg == nil || e.Dropped || e.daemon() { // runs of daemons are counted one by one
		return
	}
	observeRun(&c.stats.ExecutionRun, e.begin(), e.complete())
	s := c.ofJobs.of(e.Job)
	if s == nil {
		return
	}
	s.last(e)
	switch e.result() {
	case resultFinished:
		s.Finished++
	case resultFailed:
		s.Failed++
	case resultKilled:
		s.Killed++
	}
}

// loadJobStats takes what the history has of last runs; a new leader counts from 0.
func (c *Core) loadJobStats() {
	for e := range c.executions.ended.all() {
		if j := c.config.jobs[e.Job]; j == nil || j.cfg == nil || e.Dropped || e.daemon() {
			continue
		}
		if s := c.ofJobs.of(e.Job); s != nil {
			s.last(e)
		}
	}
}

// Stats returns counters and gauges.
func (c *Core) Stats() Stats {
	s := c.stats
	s.Leading, s.Subscribed = true, c.subscription.open
	s.Apps, s.ExecutorsRunning, s.OffersHeld = len(c.config.apps), len(c.executors.byID), c.flow.held.Len()
	for _, j := range c.config.jobs {
		if j.cfg != nil {
			s.Jobs++
		}
	}
	for _, e := range c.executions.open {
		switch {
		case e.launched():
			s.ExecutionsRunning++
			continue
		case !e.daemon():
			s.ExecutionsBlocked++ // if it is ready, measureQueues takes it away
		}
		s.ExecutionsWaiting++
	}
	s.Documents = c.config.documentSizes()
	c.measureQueues(&s)
	for _, ref := range c.executions.tasks {
		if ref.shard().live() {
			s.TasksRunning++
		}
	}
	s.NotificationsPending = len(c.notifications.pending)
	s.JobsWithoutMetrics = len(c.ofJobs.leftOut)
	for _, of := range c.ofJobs.byJob {
		s.OfJobs = append(s.OfJobs, *of)
	}
	return s
}

// measureQueues looks at all that could be launched if there were resources for it.
func (c *Core) measureQueues(s *Stats) {
	wait := func(q *Queue, n int, since time.Time) {
		q.Depth += n
		q.Oldest = max(q.Oldest, c.Now().Sub(since))
	}
	for _, e := range c.executions.launchable {
		if !e.Kill.IsZero() || c.heldBack(e) {
			continue
		}
		if !e.launched() {
			switch j := c.config.jobs[e.Job]; {
			case !c.canLaunch(j):
			case e.daemon():
				wait(&s.Daemon, j.cfg.ShardingTotalCount, e.Made)
			default:
				wait(&s.Ready, 1, e.Made)
				s.ExecutionsBlocked--
			}
			continue
		}
		for i := range e.Shards {
			switch sh := &e.Shards[i]; {
			case sh.State != Waiting:
			case e.daemon():
				wait(&s.Daemon, 1, sh.WaitSince)
			case sh.Type == FailoverSource:
				wait(&s.Failover, 1, sh.WaitSince)
			default:
				wait(&s.Retry, 1, sh.WaitSince)
			}
		}
	}
}

// countLaunch counts how long an execution has waited, as it is launched first.
func (c *Core) countLaunch(e *execution) {
	if e.daemon() {
		return
	}
	c.stats.ExecutionWait.Observe(max(c.Now().Sub(e.Made), 0).Seconds())
	if e.Source == NormalTrigger {
		c.stats.FireDelay.Observe(max(c.Wall().Sub(e.Fire), 0).Seconds())
	}
}

// learnStart takes when the process of a task began. Only the first is counted that is said of a task: a later one corrects it.
func (c *Core) learnStart(ref taskRef, at time.Time) {
	s := ref.shard()
	if s.Start.IsZero() && s.Attempt == 1 && ref.exec.Source == NormalTrigger {
		c.stats.BeginDelay.Observe(max(at.Sub(ref.exec.Fire), 0).Seconds())
	}
	s.Start = at
}

// countTaskRun counts how long a task that has ended had a process.
func (c *Core) countTaskRun(ref taskRef) {
	if s := ref.shard(); !ref.exec.daemon() {
		observeRun(&c.stats.TaskRun, s.Start, s.Complete)
	}
}

func (c *Core) countEnd(state State) {
	switch state {
	case Finished:
		c.stats.TasksFinished++
	case Killed:
		c.stats.TasksKilled++
	case Lost:
		c.stats.TasksLost++
	case TimedOut:
		c.stats.TasksTimedOut++
	default:
		c.stats.TasksFailed++
	}
}

// observeRun counts how long something ran, if both ends are known. Clocks that were set may have them in the wrong order.
func observeRun(h *Histogram, begin, end time.Time) {
	if !begin.IsZero() && !end.IsZero() {
		h.Observe(max(end.Sub(begin), 0).Seconds())
	}
}

// last takes from an execution, which ended after all that were taken before, what a job's last run says.
func (s *JobStats) last(e *execution) {
	if e.result() == resultFinished {
		s.LastSuccess = e.EndedAt
	}
	if begin := e.begin(); !begin.IsZero() {
		s.LastDuration = max(e.complete().Sub(begin), 0)
	}
}

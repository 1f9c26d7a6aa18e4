package api

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core"

	"github.com/prometheus/client_golang/prometheus"
)

type stats = core.Stats

// schedulerFamilies are the metrics of the scheduler. docs/metrics.md has all of them.
var schedulerFamilies = []family[stats]{
	gauge("leading", "1 while this process leads, else 0.", func(s *stats) int { return one(s.Leading) }),
	gauge("subscribed", "1 while the cluster's events come in, else 0.", func(s *stats) int { return one(s.Subscribed) }),
	gauge("term", "Number of the leader's term.", func(s *stats) int64 { return s.Term }),
	counter("subscriptions", "Subscriptions to the cluster's events.", func(s *stats) int64 { return s.Subscriptions }),
	gauge("apps", "Apps that are published.", func(s *stats) int { return s.Apps }),
	gauge("jobs", "Jobs that are registered.", func(s *stats) int { return s.Jobs }),

	counter("fires", "Fires that crons made.", func(s *stats) int64 { return s.Fires }),
	counter("fires_dropped", "Fires that found their job busy and were not kept (rule F5).", func(s *stats) int64 { return s.FiresDropped }),
	counter("fires_missed", "Times in which a job missed fires, because nobody led or its daemon did not run (rules F3, X8).", func(s *stats) int64 { return s.FiresMissed }),
	counter("triggers", "Runs that people or programs asked for.", func(s *stats) int64 { return s.Triggers }),
	histogram("fire_delay_seconds", "Time from a cron's moment to the step that launches its execution.", func(s *stats) *core.Histogram { return &s.FireDelay }),
	histogram("fire_begin_delay_seconds", "Time from a cron's moment to the begin of the process of a shard, by the agent's clock.", func(s *stats) *core.Histogram { return &s.BeginDelay }),

	labelled(prometheus.GaugeValue, "executions_waiting", "Executions of which no shard was launched yet, by what they wait for.", []string{"queue"},
		func(s *stats, put func(float64, ...string)) {
			put(float64(s.Ready.Depth), "ready")
			put(float64(s.ExecutionsBlocked), "blocked")
		}),
	labelled(prometheus.GaugeValue, "shards_waiting", "Shards that wait for another task, or, of daemons, for any.", []string{"queue"},
		func(s *stats, put func(float64, ...string)) {
			put(float64(s.Failover.Depth), "failover")
			put(float64(s.Retry.Depth), "retry")
			put(float64(s.Daemon.Depth), "daemon")
		}),
	labelled(prometheus.GaugeValue, "oldest_wait_seconds", "For how long the execution or shard has waited that has waited longest, by queue.", []string{"queue"},
		func(s *stats, put func(float64, ...string)) {
			put(s.Ready.Oldest.Seconds(), "ready")
			put(s.Failover.Oldest.Seconds(), "failover")
			put(s.Retry.Oldest.Seconds(), "retry")
			put(s.Daemon.Oldest.Seconds(), "daemon")
		}),
	gauge("executions_running", "Executions that were launched and are not over.", func(s *stats) int { return s.ExecutionsRunning }),
	labelled(prometheus.CounterValue, "executions_ended_total", "Executions that ended, by result.", []string{"result"},
		func(s *stats, put func(float64, ...string)) {
			put(float64(s.ExecutionsFinished), string(core.Finished))
			put(float64(s.ExecutionsFailed), string(core.Failed))
			put(float64(s.ExecutionsKilled), string(core.Killed))
		}),
	histogram("execution_wait_seconds", "Time from when an execution was made to its launch.", func(s *stats) *core.Histogram { return &s.ExecutionWait }),
	histogram("execution_run_seconds", "Time from an execution's first process to its last one's end.", func(s *stats) *core.Histogram { return &s.ExecutionRun }),

	gauge("tasks_running", "Tasks on the cluster that are not over.", func(s *stats) int { return s.TasksRunning }),
	counter("tasks_launched", "Tasks that were sent to the cluster, repeated attempts included.", func(s *stats) int64 { return s.TasksLaunched }),
	labelled(prometheus.CounterValue, "tasks_ended_total", "Tasks that ended and their shards with them, by result (rules E2, E3).", []string{"result"},
		func(s *stats, put func(float64, ...string)) {
			put(float64(s.TasksFinished), string(core.Finished))
			put(float64(s.TasksFailed), string(core.Failed))
			put(float64(s.TasksTimedOut), string(core.TimedOut))
			put(float64(s.TasksKilled), string(core.Killed))
			put(float64(s.TasksLost), string(core.Lost))
		}),
	counter("tasks_requeued", "Tasks that ended and whose shards were queued for another one.", func(s *stats) int64 { return s.TasksRequeued }),
	histogram("task_run_seconds", "Time from the begin of a task's process to its end; tasks of daemons are left out.", func(s *stats) *core.Histogram { return &s.TaskRun }),
	counter("daemon_runs", "Runs of daemons' shards that have ended, as their executors count them.", func(s *stats) int64 { return s.DaemonRuns }),
	counter("daemon_runs_failed", "Runs of daemons' shards that failed or timed out.", func(s *stats) int64 { return s.DaemonRunsFailed }),
	histogram("daemon_run_seconds", "How long runs of daemons' shards took that were reported one by one; with sampling those are the ones that failed and a part of the others.", func(s *stats) *core.Histogram { return &s.DaemonRun }),
	counter("status_updates", "Status updates of tasks, repeated ones included.", func(s *stats) int64 { return s.StatusUpdates }),
	gauge("executors_running", "Executors that hold resources.", func(s *stats) int { return s.ExecutorsRunning }),

	gauge("offers_held", "Resource offers at hand.", func(s *stats) int { return s.OffersHeld }),
	counter("offers_received", "Resource offers that the cluster made.", func(s *stats) int64 { return s.OffersReceived }),
	counter("offers_declined", "Resource offers that were given back unused.", func(s *stats) int64 { return s.OffersDeclined }),

	histogram("commit_duration_seconds", "How long commits of the scheduler's state to the registry took.", func(s *stats) *core.Histogram { return &s.CommitTime }),
	histogram("commit_writes", "Writes in a commit.", func(s *stats) *core.Histogram { return &s.CommitWrites }),
	histogram("commit_events", "Events that a commit is the consequence of: requests, status updates and what else comes from the cluster.", func(s *stats) *core.Histogram { return &s.CommitEvents }),
	counter("commits_failed", "Commits that failed or whose outcome is unknown: each ends its term (rule T3).", func(s *stats) int64 { return s.CommitsFailed }),

	gauge("notifications_pending", "Messages about failed runs that wait to be sent.", func(s *stats) int { return s.NotificationsPending }),
	counter("notifications_sent", "Messages about failed runs that were sent.", func(s *stats) int64 { return s.NotificationsSent }),
	counter("notifications_failed", "Attempts to send such a message that failed.", func(s *stats) int64 { return s.NotificationsFailed }),

	gauge("jobs_without_metrics", "Jobs that ended a run and have no elasticjob_job_* metrics, because --job-metrics others have them.", func(s *stats) int { return s.JobsWithoutMetrics }),
	ofJobs(prometheus.GaugeValue, "last_success_timestamp_seconds", "When the job's last run that finished ended, in seconds since 1970.", nil, func(j *core.JobStats, put func(float64, ...string)) {
		if !j.LastSuccess.IsZero() {
			put(float64(j.LastSuccess.UnixMilli())/1000, j.Job)
		}
	}),
	ofJobs(prometheus.GaugeValue, "last_duration_seconds", "How long the job's last run took, from its first process to its last one's end.", nil, func(j *core.JobStats, put func(float64, ...string)) {
		if j.LastDuration > 0 {
			put(j.LastDuration.Seconds(), j.Job)
		}
	}),
	ofJobs(prometheus.CounterValue, "runs_total", "Runs of the job that ended since this server began to lead, by result.", []string{"result"}, func(j *core.JobStats, put func(float64, ...string)) {
		put(float64(j.Finished), j.Job, string(core.Finished))
		put(float64(j.Failed), j.Job, string(core.Failed))
		put(float64(j.Killed), j.Job, string(core.Killed))
	}),
}

// ofJobs makes a family with numbers of single jobs, of as many as --job-metrics allows. Prometheus gives the label job to
// what it scrapes, so theirs has another name.
func ofJobs(kind prometheus.ValueType, name, help string, more []string, each func(j *core.JobStats, put func(float64, ...string))) family[stats] {
	return labelled(kind, "job_"+name, help, append([]string{"job_name"}, more...), func(s *stats, put func(float64, ...string)) {
		for i := range s.OfJobs {
			each(&s.OfJobs[i], put)
		}
	})
}

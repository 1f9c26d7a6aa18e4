package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// schedulerFamilies are the metrics of the scheduler; docs/metrics.md lists all metrics.
var schedulerFamilies = []family[stats.Stats]{
	gauge("leading", "1 on the server that leads, else 0", func(s *stats.Stats) int { return zeroOrOne(s.Leading) }),
	gauge("subscribed", "1 while the leader is subscribed to the cluster, and its events come in",
		func(s *stats.Stats) int { return zeroOrOne(s.Subscribed) }),
	gauge("term", "the number of the leader's term. It grows with each change of the leader",
		func(s *stats.Stats) int64 { return s.Term }),
	counter("subscriptions", "subscriptions to the cluster: more than one in a term mean that the connection was lost",
		func(s *stats.Stats) int64 { return s.Subscriptions }),
	gauge("apps", "published apps", func(s *stats.Stats) int { return s.Apps }),
	gauge("jobs", "registered jobs", func(s *stats.Stats) int { return s.Jobs }),
	gauge("documents_bytes", "bytes of the documents of all apps and jobs, as they are stored",
		func(s *stats.Stats) int64 { return s.Documents.Bytes }),
	gauge("documents_limit_bytes", "`--documents-limit`: changes beyond it are refused",
		func(s *stats.Stats) int64 { return s.Documents.Limit }),
	gauge("documents_largest_app_bytes", "bytes of the documents of the largest app and its jobs",
		func(s *stats.Stats) int64 { return s.Documents.LargestApp }),
	gauge("documents_per_app_limit_bytes",
		"`--documents-per-app-limit`: changes of an app and its jobs beyond it are refused",
		func(s *stats.Stats) int64 { return s.Documents.PerAppLimit }),

	counter("fires", "fires that crons of transient jobs made. Daemons are fired by their executors and are not counted here",
		func(s *stats.Stats) int64 { return s.Fires }),
	counter("fires_dropped", "fires that found their job busy and were dropped, since it has no `misfire` or too many wait already (F5), those of daemons included", func(s *stats.Stats) int64 { return s.FiresDropped }),
	counter("fires_missed", "periods in which a job missed one or more fires: there was no leader (F3), or a daemon's shard did not run (X8)", func(s *stats.Stats) int64 { return s.FiresMissed }),
	counter("triggers", "runs requested by `POST /api/job/{jobName}/trigger`",
		func(s *stats.Stats) int64 { return s.Triggers }),
	histogram("fire_delay_seconds", "from a cron's time to the decision to launch, without executions that waited for another run of their job. The commit, which `elasticjob_commit_duration_seconds` measures, is not included", func(s *stats.Stats) *stats.Histogram { return &s.FireDelay }),
	histogram("fire_begin_delay_seconds",
		"from a cron's time to the start of the process, for each shard's first task. The start is read from the agent's clock: a clock that is behind makes the value too small", func(s *stats.Stats) *stats.Histogram { return &s.BeginDelay }),

	labelled(prometheus.GaugeValue, "executions_waiting",
		"executions that have not been launched yet. `ready`: they are next and wait for resources. `blocked`: they wait for another run of their job, or for the end of a pause", []string{"queue"},
		func(s *stats.Stats, put func(float64, ...string)) {
			put(float64(s.Ready.Depth), "ready")
			put(float64(s.ExecutionsBlocked), "blocked")
		}),
	labelled(prometheus.GaugeValue, "shards_waiting",
		"shards that wait for another task. `failover`: after a loss. `retry`: after a failure, or a task that never started. `daemon`: shards of daemons, their first task included", []string{"queue"},
		func(s *stats.Stats, put func(float64, ...string)) {
			put(float64(s.Failover.Depth), "failover")
			put(float64(s.Retry.Depth), "retry")
			put(float64(s.Daemon.Depth), "daemon")
		}),
	labelled(prometheus.GaugeValue, "oldest_wait_seconds",
		"how long the oldest entry of a queue has waited: `ready`, `failover`, `retry` or `daemon`; 0 when it is empty. An execution that first waited for another run of its job includes that time", []string{"queue"},
		func(s *stats.Stats, put func(float64, ...string)) {
			put(s.Ready.Oldest.Seconds(), "ready")
			put(s.Failover.Oldest.Seconds(), "failover")
			put(s.Retry.Oldest.Seconds(), "retry")
			put(s.Daemon.Oldest.Seconds(), "daemon")
		}),
	gauge("executions_running", "executions that were launched and have not ended, those of daemons included",
		func(s *stats.Stats) int { return s.ExecutionsRunning }),
	labelled(prometheus.CounterValue, "executions_ended_total",
		"executions that ended: `FINISHED`, `FAILED`, `KILLED`", []string{"result"},
		func(s *stats.Stats, put func(float64, ...string)) {
			put(float64(s.ExecutionsFinished), string(executions.Finished))
			put(float64(s.ExecutionsFailed), string(executions.Failed))
			put(float64(s.ExecutionsKilled), string(executions.Killed))
		}),
	histogram("execution_wait_seconds",
		"from the creation of an execution, by a cron or a trigger, to its launch, for any reason",
		func(s *stats.Stats) *stats.Histogram { return &s.ExecutionWait }),
	histogram("execution_run_seconds", "from an execution's first process to its last one's end",
		func(s *stats.Stats) *stats.Histogram { return &s.ExecutionRun }),

	gauge("tasks_running", "tasks on the cluster", func(s *stats.Stats) int { return s.TasksRunning }),
	counter("tasks_launched", "tasks that were launched", func(s *stats.Stats) int64 { return s.TasksLaunched }),
	labelled(prometheus.CounterValue, "tasks_ended_total",
		"tasks whose shard ended with them: `FINISHED`, `FAILED`, `TIMED_OUT`, `KILLED`, `LOST`", []string{"result"},
		func(s *stats.Stats, put func(float64, ...string)) {
			put(float64(s.TasksFinished), string(executions.Finished))
			put(float64(s.TasksFailed), string(executions.Failed))
			put(float64(s.TasksTimedOut), string(executions.TimedOut))
			put(float64(s.TasksKilled), string(executions.Killed))
			put(float64(s.TasksLost), string(executions.Lost))
		}),
	counter("tasks_requeued", "tasks that ended and whose shard was queued for another one: retries, failovers, daemons' shards that ended", func(s *stats.Stats) int64 { return s.TasksRequeued }),
	histogram("task_run_seconds", "how long a task's process ran; tasks of daemons are left out",
		func(s *stats.Stats) *stats.Histogram { return &s.TaskRun }),
	counter("daemon_runs", "runs of daemons' shards that ended, as their executors count them",
		func(s *stats.Stats) int64 { return s.DaemonRuns }),
	counter("daemon_runs_failed", "runs of daemons' shards that failed or timed out",
		func(s *stats.Stats) int64 { return s.DaemonRunsFailed }),
	histogram("daemon_run_seconds", "duration of the runs of daemons' shards that are reported one by one: all runs, or with `eventTraceSamplingCount` the failed ones and every Nth of the others", func(s *stats.Stats) *stats.Histogram { return &s.DaemonRun }),
	counter("status_updates", "status updates of tasks, repeated ones included",
		func(s *stats.Stats) int64 { return s.StatusUpdates }),
	gauge("executors_running", "executors that hold resources",
		func(s *stats.Stats) int { return s.ExecutorsRunning }),

	gauge("machines_silent", "machines that the cluster calls unreachable, or whose executors are all silent",
		func(s *stats.Stats) int { return s.MachinesSilent }),
	gauge("machines_cordoned", "machines on which nothing is placed, because a person or the server has cordoned them",
		func(s *stats.Stats) int { return s.MachinesCordoned }),
	gauge("jobs_blocked", "jobs that can't go on, because an attempt of them may still run on a machine that does not answer",
		func(s *stats.Stats) int { return s.JobsBlocked }),

	gauge("offers_held", "offers held: near 0 while nothing is due",
		func(s *stats.Stats) int { return s.OffersHeld }),
	counter("offers_received", "offers that the cluster made", func(s *stats.Stats) int64 { return s.OffersReceived }),
	counter("offers_declined", "offers that were declined unused",
		func(s *stats.Stats) int64 { return s.OffersDeclined }),

	histogram("commit_duration_seconds", "how long commits of the scheduler's state took, failed ones included",
		func(s *stats.Stats) *stats.Histogram { return &s.CommitTime }),
	histogram("commit_writes", "writes in a commit of the scheduler's state",
		func(s *stats.Stats) *stats.Histogram { return &s.CommitWrites }),
	histogram("commit_events", "events (requests, status updates, answers) that led to a commit",
		func(s *stats.Stats) *stats.Histogram { return &s.CommitEvents }),
	counter("commits_failed", "commits that failed, or whose outcome is unknown: each ended its leader's term",
		func(s *stats.Stats) int64 { return s.CommitsFailed }),

	gauge("notifications_pending", "messages that were not sent yet, refused ones included: at most one "+
		"for each job, about its failed runs or because it is blocked, and one for operators (`--notify-file`)",
		func(s *stats.Stats) int { return s.NotificationsPending }),
	counter("notifications_sent", "messages that were sent, to the people of jobs and to operators",
		func(s *stats.Stats) int64 { return s.NotificationsSent }),
	counter("notifications_failed", "attempts to send a message, to the people of jobs or to operators, that failed; "+
		"unless the message was refused, it is tried again for a day",
		func(s *stats.Stats) int64 { return s.NotificationsFailed }),

	gauge("jobs_without_metrics", "jobs without their own metrics although a run of them ended, because as many other jobs as `--job-metrics` allows have metrics", func(s *stats.Stats) int { return s.JobsWithoutMetrics }),
	perJob(prometheus.GaugeValue, "last_success_timestamp_seconds", "when the job's last successful run ended", nil,
		func(j *stats.JobStats, put func(float64, ...string)) {
			if !j.LastSuccess.IsZero() {
				put(float64(j.LastSuccess.UnixMilli())/1000, j.Job)
			}
		}),
	perJob(prometheus.GaugeValue, "last_duration_seconds",
		"how long the job's last run took, from its first process to its last one's end", nil,
		func(j *stats.JobStats, put func(float64, ...string)) {
			if j.LastDuration > 0 {
				put(j.LastDuration.Seconds(), j.Job)
			}
		}),
	perJob(prometheus.CounterValue, "runs_total", "the job's runs that ended: `FINISHED`, `FAILED`, `KILLED`",
		[]string{"result"}, func(j *stats.JobStats, put func(float64, ...string)) {
			put(float64(j.Finished), j.Job, string(executions.Finished))
			put(float64(j.Failed), j.Job, string(executions.Failed))
			put(float64(j.Killed), j.Job, string(executions.Killed))
		}),
}

// perJob returns a family with series for single jobs, for at most --job-metrics jobs. The first label is job_name,
// because Prometheus sets the label job on everything that it scrapes.
func perJob(kind prometheus.ValueType, name, help string, moreLabels []string,
	collect func(j *stats.JobStats, put func(float64, ...string))) family[stats.Stats] {
	return labelled(kind, "job_"+name, help, append([]string{"job_name"}, moreLabels...),
		func(s *stats.Stats, put func(float64, ...string)) {
			for i := range s.OfJobs {
				collect(&s.OfJobs[i], put)
			}
		})
}

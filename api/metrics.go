package api

import (
	"net/http"

	"github.com/elasticjob-go/elasticjob/scheduler/core"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newMetrics makes the handler of /metrics and the histogram of our own
// requests, in a registry of their own.
func newMetrics(of Scheduler) (http.Handler, *prometheus.HistogramVec) {
	registry := prometheus.NewRegistry()
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "elasticjob_http_request_duration_seconds",
		Help:    "Time to answer a request of the REST API, by method, route and status; requests that follow output are left out.",
		Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30},
	}, []string{"method", "route", "status"})
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		durations,
		schedulerCollector{of},
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), durations
}

// schedulerCollector takes one picture of the scheduler's statistics per scrape.
type schedulerCollector struct{ scheduler Scheduler }

// series is one number of the statistics.
type series struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(core.Stats) float64
}

func gauge[N int | int64](name, help string, value func(core.Stats) N) series {
	return series{prometheus.NewDesc("elasticjob_"+name, help, nil, nil), prometheus.GaugeValue,
		func(s core.Stats) float64 { return float64(value(s)) }}
}

func counter(name, help string, value func(core.Stats) int64) series {
	return series{prometheus.NewDesc("elasticjob_"+name+"_total", help, nil, nil), prometheus.CounterValue,
		func(s core.Stats) float64 { return float64(value(s)) }}
}

func one(set bool) int {
	if set {
		return 1
	}
	return 0
}

type stats = core.Stats

var allSeries = []series{
	gauge("leading", "1 while this process leads, else 0.", func(s stats) int { return one(s.Leading) }),
	gauge("subscribed", "1 while the cluster's events come in, else 0.", func(s stats) int { return one(s.Subscribed) }),
	gauge("term", "Number of the leader's term.", func(s stats) int64 { return s.Term }),
	gauge("notifications_pending", "Messages about failed runs that wait to be sent.", func(s stats) int { return s.NotificationsPending }),
	gauge("apps", "Apps that are published.", func(s stats) int { return s.Apps }),
	gauge("jobs", "Jobs that are registered.", func(s stats) int { return s.Jobs }),
	gauge("jobs_without_metrics", "Jobs that ended a run and have no elasticjob_job_* metrics, because --job-metrics others have them.", func(s stats) int { return s.JobsWithoutMetrics }),
	gauge("executions_waiting", "Executions of which no shard was launched yet.", func(s stats) int { return s.ExecutionsWaiting }),
	gauge("executions_running", "Executions that were launched and are not over.", func(s stats) int { return s.ExecutionsRunning }),
	gauge("tasks_running", "Tasks on the cluster that are not over.", func(s stats) int { return s.TasksRunning }),
	gauge("executors_running", "Executors that hold resources.", func(s stats) int { return s.ExecutorsRunning }),
	gauge("offers_held", "Resource offers at hand.", func(s stats) int { return s.OffersHeld }),
	counter("fires", "Fires that crons made.", func(s stats) int64 { return s.Fires }),
	counter("daemon_runs", "Runs of daemons' shards that have ended, as their executors count them.", func(s stats) int64 { return s.DaemonRuns }),
	counter("daemon_runs_failed", "Runs of daemons' shards that failed or timed out.", func(s stats) int64 { return s.DaemonRunsFailed }),
	counter("notifications_sent", "Messages about failed runs that were sent.", func(s stats) int64 { return s.NotificationsSent }),
	counter("notifications_failed", "Attempts to send such a message that failed.", func(s stats) int64 { return s.NotificationsFailed }),
	counter("fires_dropped", "Fires that found their job busy and were not kept (rule F5).", func(s stats) int64 { return s.FiresDropped }),
	counter("fires_missed", "Fires that fell into a time without a leader and were not made up for (rule F3).", func(s stats) int64 { return s.FiresMissed }),
	counter("triggers", "Runs that people or programs asked for.", func(s stats) int64 { return s.Triggers }),
	counter("executions_finished", "Executions of which all shards finished.", func(s stats) int64 { return s.ExecutionsFinished }),
	counter("executions_failed", "Executions that failed.", func(s stats) int64 { return s.ExecutionsFailed }),
	counter("executions_killed", "Executions that were ended on request.", func(s stats) int64 { return s.ExecutionsKilled }),
	counter("tasks_launched", "Tasks that were sent to the cluster, repeated attempts included.", func(s stats) int64 { return s.TasksLaunched }),
	counter("tasks_finished", "Tasks that finished.", func(s stats) int64 { return s.TasksFinished }),
	counter("tasks_failed", "Tasks that failed by themselves (rule E3).", func(s stats) int64 { return s.TasksFailed }),
	counter("tasks_killed", "Tasks that were killed on request.", func(s stats) int64 { return s.TasksKilled }),
	counter("tasks_lost", "Tasks that were lost with their agent or executor (rule E2).", func(s stats) int64 { return s.TasksLost }),
	counter("offers_received", "Resource offers that the cluster made.", func(s stats) int64 { return s.OffersReceived }),
	counter("offers_declined", "Resource offers that were given back unused.", func(s stats) int64 { return s.OffersDeclined }),
	counter("status_updates", "Status updates of tasks, repeated ones included.", func(s stats) int64 { return s.StatusUpdates }),
	counter("commits", "Writes of the scheduler's state.", func(s stats) int64 { return s.Commits }),
	counter("commits_failed", "Writes of the scheduler's state that failed or whose outcome is unknown.", func(s stats) int64 { return s.CommitsFailed }),
	counter("subscriptions", "Subscriptions to the cluster's events.", func(s stats) int64 { return s.Subscriptions }),
}

func jobDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("elasticjob_job_"+name, help, append([]string{"job"}, more...), nil)
}

// Numbers of single jobs, of as many as --job-metrics allows.
var (
	jobLastSuccess  = jobDesc("last_success_timestamp_seconds", "When the job's last run that finished ended, in seconds since 1970.")
	jobLastDuration = jobDesc("last_duration_seconds", "How long the job's last run took, from its first process to its last one's end.")
	jobRuns         = jobDesc("runs_total", "Runs of the job that ended since this server began to lead, by result.", "result")
)

// collectJobs writes the numbers of single jobs.
func collectJobs(out chan<- prometheus.Metric, of []core.JobStats) {
	for _, j := range of {
		if !j.LastSuccess.IsZero() {
			out <- prometheus.MustNewConstMetric(jobLastSuccess, prometheus.GaugeValue, float64(j.LastSuccess.UnixMilli())/1000, j.Job)
		}
		if j.LastDuration > 0 {
			out <- prometheus.MustNewConstMetric(jobLastDuration, prometheus.GaugeValue, j.LastDuration.Seconds(), j.Job)
		}
		for _, r := range []struct {
			result core.State
			runs   int64
		}{{core.Finished, j.Finished}, {core.Failed, j.Failed}, {core.Killed, j.Killed}} {
			out <- prometheus.MustNewConstMetric(jobRuns, prometheus.CounterValue, float64(r.runs), j.Job, string(r.result))
		}
	}
}

var fireDelay = prometheus.NewDesc("elasticjob_fire_delay_seconds",
	"Time from a fire to the commit of its launch.", nil, nil)

// Describe implements prometheus.Collector.
func (b schedulerCollector) Describe(out chan<- *prometheus.Desc) {
	for _, s := range allSeries {
		out <- s.desc
	}
	out <- fireDelay
	out <- jobLastSuccess
	out <- jobLastDuration
	out <- jobRuns
}

// Collect implements prometheus.Collector.
func (b schedulerCollector) Collect(out chan<- prometheus.Metric) {
	now := b.scheduler.Stats()
	for _, s := range allSeries {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(now))
	}
	collectJobs(out, now.OfJobs)
	buckets := map[float64]uint64{}
	for i, bound := range core.FireDelayBounds() {
		if i < len(now.FireDelayBuckets) {
			buckets[bound] = uint64(now.FireDelayBuckets[i])
		}
	}
	out <- prometheus.MustNewConstHistogram(fireDelay, uint64(now.FireDelayCount), now.FireDelaySum, buckets)
}

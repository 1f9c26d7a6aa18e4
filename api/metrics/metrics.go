// Package metrics exports the server's metrics to Prometheus; docs/metrics.md lists all of them.
package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// Options are the sources of the metrics.
type Options struct {
	Version string
	// Stats returns the scheduler's statistics. It is called at each scrape.
	Stats func() stats.Stats
	// OpenStreams returns the number of open event streams.
	OpenStreams func() int
	// HistoryStats is called at each scrape and must not block. It may be nil.
	HistoryStats func() HistoryStats
	// NotAfter returns when the certificate in force expires. It may be nil.
	NotAfter func() time.Time
	// Throttled returns how many requests of this process the Kubernetes API server has throttled (status 429). It
	// must not block. It may be nil.
	Throttled func() int64
}

// New returns the handler of /metrics and the histogram of the API's request durations, which the caller observes.
// Each call creates a separate Prometheus registry.
func New(opts Options) (http.Handler, *prometheus.HistogramVec) {
	registry := prometheus.NewRegistry()
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "elasticjob_http_request_duration_seconds",
		Help:    "time to answer a request of the REST API; requests that follow output or events are left out",
		Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30},
	}, []string{"method", "route", "status"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "elasticjob_build_info",
		Help:        "1, with the version of the server",
		ConstLabels: prometheus.Labels{"version": opts.Version}})
	build.Set(1)
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		durations, build,
		collector[stats.Stats]{opts.Stats, schedulerFamilies},
	)
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "elasticjob_event_streams",
		Help: "clients that follow `GET /api/events` of this server"},
		func() float64 { return float64(opts.OpenStreams()) }))
	if opts.HistoryStats != nil {
		registry.MustRegister(collector[HistoryStats]{opts.HistoryStats, historyFamilies})
	}
	if opts.NotAfter != nil {
		registry.MustRegister(collector[time.Time]{opts.NotAfter, tlsFamilies})
	}
	if opts.Throttled != nil {
		registry.MustRegister(collector[int64]{opts.Throttled, kubernetesFamilies})
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), durations
}

// tlsFamilies are the metrics of the certificate in force.
var tlsFamilies = []family[time.Time]{
	gauge("tls_certificate_expiry_timestamp_seconds",
		"with `--tls-cert`: when the certificate that is in force expires",
		func(t *time.Time) int64 { return t.Unix() }),
}

// kubernetesFamilies are the metrics of a server whose jobs run on Kubernetes.
var kubernetesFamilies = []family[int64]{
	counter("kubernetes_requests_throttled",
		"with `--kubernetes`: requests of this server, for leases, pods and output, that the API server throttled (status 429); most are retried",
		func(n *int64) int64 { return *n }),
}

// collector reads the statistics once for each scrape, so that the numbers of one scrape are consistent.
type collector[S any] struct {
	stats    func() S
	families []family[S]
}

// Describe implements prometheus.Collector.
func (c collector[S]) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.families {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c collector[S]) Collect(out chan<- prometheus.Metric) {
	now := c.stats()
	for _, f := range c.families {
		f.collect(out, &now)
	}
}

// family is a metric with all its series.
type family[S any] struct {
	desc    *prometheus.Desc
	collect func(chan<- prometheus.Metric, *S)
}

// number returns a family with one series without labels.
func number[S any](kind prometheus.ValueType, name, help string, value func(*S) float64) family[S] {
	desc := prometheus.NewDesc("elasticjob_"+name, help, nil, nil)
	return family[S]{desc, func(out chan<- prometheus.Metric, s *S) {
		out <- prometheus.MustNewConstMetric(desc, kind, value(s))
	}}
}

func gauge[S any, N int | int64](name, help string, value func(*S) N) family[S] {
	return number(prometheus.GaugeValue, name, help, func(s *S) float64 { return float64(value(s)) })
}

// counter returns a family of a counter without labels. Its name ends with _total.
func counter[S any](name, help string, value func(*S) int64) family[S] {
	return number(prometheus.CounterValue, name+"_total", help, func(s *S) float64 { return float64(value(s)) })
}

// labelled returns a family with a series for each list of label values that collect passes to put.
func labelled[S any](kind prometheus.ValueType, name, help string, labels []string,
	collect func(s *S, put func(value float64, labels ...string))) family[S] {
	desc := prometheus.NewDesc("elasticjob_"+name, help, labels, nil)
	return family[S]{desc, func(out chan<- prometheus.Metric, s *S) {
		collect(s, func(value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
		})
	}}
}

func histogram(name, help string, of func(*stats.Stats) *stats.Histogram) family[stats.Stats] {
	desc := prometheus.NewDesc("elasticjob_"+name, help, nil, nil)
	return family[stats.Stats]{desc, func(out chan<- prometheus.Metric, s *stats.Stats) {
		h := of(s)
		total, buckets := uint64(0), make(map[float64]uint64, len(h.Bounds))
		for i, bound := range h.Bounds {
			total += uint64(h.Counts[i]) // Prometheus' buckets are cumulative
			buckets[bound] = total
		}
		out <- prometheus.MustNewConstHistogram(desc, uint64(h.Count()), h.Sum, buckets)
	}}
}

func zeroOrOne(set bool) int {
	if set {
		return 1
	}
	return 0
}

package api_test

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// BenchmarkScrape scrapes a server with 10,000 jobs: with the metrics of 1,000 of them, the default of --job-metrics,
// and with those of all.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("job-metrics=%d", n), func(b *testing.B) {
			f := newFakeScheduler()
			f.stats = someStats()
			f.stats.OfJobs = nil
			for i := range n {
				f.stats.OfJobs = append(f.stats.OfJobs,
					stats.JobStats{Job: fmt.Sprintf("job_%06d", i), LastSuccess: noon, LastDuration: 1, Finished: 3})
			}
			server := api.New(api.Options{Scheduler: f, Logs: &files{}, HistoryStats: someHistory})
			for b.Loop() {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", "/metrics", nil)
				r.RemoteAddr, r.Host = "127.0.0.1:1", "127.0.0.1:8899"
				server.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
				b.ReportMetric(float64(w.Body.Len()), "bytes")
			}
		})
	}
}

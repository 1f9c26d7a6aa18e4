package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// BenchmarkOffersHeld measures the share of time for which this framework holds offers of an agent. By promise 6, an
// idle framework holds none.
func BenchmarkOffersHeld(b *testing.B) {
	idle := func(i int) string { return fmt.Sprintf("%d %d 3 1 1 ?", i%60, i/60) }
	spread := func(i int) string { return fmt.Sprintf("%d * * * * ?", i%60) }
	large := func(j *jobs.Config) { j.CPUCount = 12 }
	many := func(j *jobs.Config) { j.CPUCount, j.ShardingTotalCount = 1, 200 }
	for _, c := range []struct {
		name    string
		cron    func(int) string
		waiting func(*jobs.Config) // changes a job so that it waits for room that other frameworks use
	}{
		{"idle", idle, nil},
		{"1000_jobs_a_minute", spread, nil},
		{"1000_jobs_at_once_each_minute", func(int) string { return "0 * * * * ?" }, nil},
		{"a_large_shard_waits", idle, large},
		{"200_shards_wait_for_each_other", idle, many},
		{"1000_jobs_a_minute_beside_a_large_shard", spread, large},
		{"1000_jobs_a_minute_beside_200_shards", spread, many},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p := newSimulatedMaster(b, c.cron)
				if c.waiting != nil {
					p.squeeze(b, c.waiting)
				}
				const minutes = 5
				p.run(minutes * time.Minute)
				share := 100 * p.held.Seconds() / (minutes * time.Minute.Seconds() * float64(len(p.agents)))
				b.ReportMetric(share, "%held")
				b.ReportMetric(float64(p.tasks)/minutes, "tasks/min")
				if s := p.core.views.Stats(); s.FireDelay.Count() > 0 {
					b.ReportMetric(1000*s.FireDelay.Sum/float64(s.FireDelay.Count()), "ms_to_launch")
				}
				if c.name == "idle" && p.held > 0 {
					b.Errorf("offers were held for %s although nothing was due", p.held)
				}
			}
		})
	}
}

package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/test/schedule"
)

// BenchmarkFiresAhead counts the fires of 100,000 jobs, which the API does outside of the scheduler's loop.
func BenchmarkFiresAhead(b *testing.B) {
	for _, distinct := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("schedules=%d", distinct), func(b *testing.B) {
			views := make([]config.ScheduleView, distinct)
			zones := []string{"UTC", "Europe/Berlin", "America/New_York"}
			for i := range views {
				expr := fmt.Sprintf("%d %d %d * * ?", i%60, i/60%60, i/3600%24)
				switch {
				case i%10 == 0:
					expr = fmt.Sprintf("%d/10 * * * * ?", i%60)
				case i%10 < 4:
					expr = fmt.Sprintf("%d %d/5 * * * ?", i%60, i/60%60)
				}
				views[i] = config.ScheduleView{Schedule: schedule.Of(b, expr, zones[i%3]), Jobs: 100_000 / distinct,
					Shards: 300_000 / distinct}
			}
			for b.Loop() {
				countFires(views, time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
			}
		})
	}
}

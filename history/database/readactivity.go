package database

import (
	"context"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/history/search"
)

// Activity returns the stored data of each minute that began at from or later and before until, oldest first. A week
// reads 10,080 narrow rows of each of three tables. Minutes without data are missing.
func (d *DB) Activity(ctx context.Context, from, until time.Time) ([]search.Activity, error) {
	minutes := make([]search.Activity, max(int(until.Sub(from)/time.Minute), 0))
	minuteAt := func(begin time.Time) *search.Activity {
		i := begin.Sub(from) / time.Minute
		if begin.Before(from) || int(i) >= len(minutes) {
			return nil
		}
		return &minutes[i]
	}
	results, err := d.TaskResults(ctx, search.Minute, from, until)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if m := minuteAt(r.StatisticsTime.Time); m != nil {
			m.Results, m.Finished, m.Failed = true, r.SuccessCount, r.FailedCount
		}
	}
	running, err := d.TasksRunning(ctx, from.Add(time.Minute)) // sampled at the end of each minute
	if err != nil {
		return nil, err
	}
	for _, r := range running {
		if m := minuteAt(r.StatisticsTime.Add(-time.Minute)); m != nil {
			m.Sampled, m.Running = true, r.RunningCount
		}
	}
	loaded, err := selectAll[loadedRow](ctx, d,
		clause{"SELECT statistics_time, launched_count, waiting_count, fire_count, fire_delay_p50_ms, fire_delay_p95_ms " +
			"FROM SCHEDULING_STATISTICS WHERE statistics_time >= ? AND statistics_time < ? ORDER BY statistics_time",
			[]any{Time{from}, Time{until}}})
	if err != nil {
		return nil, fmt.Errorf("read SCHEDULING_STATISTICS: %w", err)
	}
	for _, r := range loaded {
		if m := minuteAt(r.Time.Time); m != nil {
			m.Loaded, m.Launched, m.Waiting, m.Fires, m.DelayP50, m.DelayP95 = true, r.Launched, r.Waiting, r.Fires,
				r.P50, r.P95
		}
	}
	withData := minutes[:0]
	for i, m := range minutes {
		if m.Time = from.Add(time.Duration(i) * time.Minute); m.Results || m.Sampled || m.Loaded {
			withData = append(withData, m)
		}
	}
	return withData, nil
}

// loadedRow is a row of SCHEDULING_STATISTICS.
type loadedRow struct {
	Time     search.Time `db:"statistics_time"`
	Launched int64       `db:"launched_count"`
	Waiting  int64       `db:"waiting_count"`
	Fires    int64       `db:"fire_count"`
	P50      float64     `db:"fire_delay_p50_ms"`
	P95      float64     `db:"fire_delay_p95_ms"`
}

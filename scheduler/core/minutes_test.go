package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/minutes"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
)

// TestEachMinutesWorkIsKept checks that the activity of each minute is kept in memory, and with a history also
// recorded.
func TestEachMinutesWorkIsKept(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{false, true} {
		t.Run(fmt.Sprint(recorded), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.opt.History, s.opt.Term = recorded, 1
			s.restart()
			s.app()
			s.job(func(j *jobs.Config) { j.Cron, j.ShardingTotalCount = "30 0 8 * * ?", 3 })
			s.job(func(j *jobs.Config) { j.JobName, j.ShardingTotalCount, j.CPUCount = "waits", 4, 100 })
			var loads []event.Load
			// runUntil runs until a time after the beginning, and collects the recorded loads.
			runUntil := func(moment time.Duration) {
				t.Helper()
				for end := s.wallAtLoad.Add(moment); s.now.Before(end); {
					if wake := s.wake(); !wake.IsZero() && wake.Before(end) && wake.After(s.now) {
						s.now = wake
					} else {
						s.now = end
					}
					loads = append(loads, s.step().History.Loads...)
				}
			}
			s.triggerJob("waits")
			runUntil(30 * time.Second)
			s.stepAfter(40 * time.Millisecond)
			s.offer("S1", 8, 8000)
			l := s.answerAccepts()
			if len(l) != 3 {
				t.Fatalf("%d tasks were launched, want 3", len(l))
			}
			s.reportRunning(l)
			s.reportFinished(l[:1])
			runUntil(time.Minute)
			s.reportFailed(l[1])
			runUntil(3 * time.Minute)
			minute := func(n int) time.Time { return s.wallAtLoad.Add(time.Duration(n) * time.Minute) }
			want := []search.Activity{
				{Time: minute(0), Finished: 1, Running: 2, Launched: 3, Waiting: 4, Fires: 1, DelayP50: 37.5,
					DelayP95: 48.8},
				{Time: minute(1), Failed: 1, Running: 1, Waiting: 4},
				{Time: minute(2), Running: 1, Waiting: 4},
			}
			var rows []event.Load
			for i := range want {
				m := &want[i]
				m.Results, m.Sampled, m.Loaded = true, true, true
				rows = append(rows, event.Load{Time: m.Time, Launched: m.Launched, Waiting: m.Waiting, Fires: m.Fires,
					DelayP50: m.DelayP50, DelayP95: m.DelayP95})
			}
			if got := s.core.views.Activity(time.Time{}); !slices.Equal(got, want) {
				t.Errorf("the activity is\n got %+v\nwant %+v", got, want)
			}
			if got := s.core.views.Activity(minute(1)); !slices.Equal(got, want[1:]) {
				t.Errorf("the activity since the second minute is %+v", got)
			}
			if !recorded {
				rows = nil
			}
			if !slices.Equal(loads, rows) {
				t.Errorf("recorded\n got %+v\nwant %+v", loads, rows)
			}
		})
	}
}

// TestAWeekOfMinutesIsKept checks that the minutes of about a week are kept, and older ones removed.
func TestAWeekOfMinutesIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for i := range 2 * minutes.MaxMinutes {
		s.core.minutes.Sample(s.wallAtLoad.Add(time.Duration(i) * time.Minute))
	}
	if got := s.core.views.Activity(time.Time{}); len(got) < minutes.MaxMinutes ||
		len(got) > minutes.MaxMinutes*9/8 ||
		!got[len(got)-1].Time.Equal(s.wallAtLoad.Add((2*minutes.MaxMinutes-2)*time.Minute)) {
		t.Errorf("%d minutes up to %v are kept", len(got), got[len(got)-1].Time)
	}
}

// TestQuantilesOfAHistogram checks the quantiles of the values that a histogram has counted since a copy of it was
// made.
func TestQuantilesOfAHistogram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		p50    float64
		p95    float64
	}{
		{nil, 0, 0},
		{[]float64{0.0001}, 0.5, 1}, // somewhere in the first bucket
		{[]float64{0.003, 0.003, 0.003, 0.2}, 4.2, 220},
		{[]float64{1000}, 300_000, 300_000}, // above all bounds
	} {
		h := stats.NewLatencies()
		h.Observe(7) // before the period, so it must not count
		before := h
		for _, v := range c.values {
			h.Observe(v)
		}
		period := h.Since(&before)
		if p50, p95 := period.Quantile(0.5), period.Quantile(0.95); p50 != c.p50 || p95 != c.p95 ||
			period.Count() != int64(len(c.values)) {
			t.Errorf("%v: the quantiles are %g and %g, want %g and %g", c.values, p50, p95, c.p50, c.p95)
		}
	}
}

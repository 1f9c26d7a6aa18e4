package agents

import (
	"cmp"
	"math"
	"testing"
	"time"
)

// TestDriftOfAClock checks which drift of an agent's clock follows from its reports. A report that arrives late makes
// the clock look behind, so the quickest of several reports counts.
func TestDriftOfAClock(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	const ahead, behind = 1, -1
	type report struct {
		// after is the time since the last report. off is how far the time in the report is ahead of its arrival.
		after, off time.Duration
		want       int // ahead, behind, or 0
	}
	// every returns a report every ten seconds, with the same off.
	every := func(off time.Duration, want ...int) (reports []report) {
		for _, w := range want {
			reports = append(reports, report{10 * time.Second, off, w})
		}
		return reports
	}
	for name, reports := range map[string][]report{
		"right":              every(-time.Millisecond, 0, 0, 0, 0, 0, 0, 0),
		"ahead":              every(1100*time.Millisecond, ahead, ahead),
		"just within bounds": every(time.Second, 0, 0),
		"behind":             every(-1100*time.Millisecond, 0, 0, 0, 0, 0, behind, behind),
		"late, except one": append(every(-5*time.Second, 0, 0, 0, 0),
			append(every(0, 0), every(-5*time.Second, 0, 0, 0)...)...),
		"all at once and late": {{0, -50 * time.Second, 0}, {0, -40 * time.Second, 0}, {0, -30 * time.Second, 0},
			{0, -20 * time.Second, 0}, {0, -10 * time.Second, 0}, {0, -2 * time.Second, 0}, {0, -2 * time.Second, 0}},
		"corrected": append(every(3*time.Second, ahead, ahead),
			every(0, ahead, ahead, ahead, ahead, ahead, 0)...),
		"nearly corrected": append(every(3*time.Second, ahead),
			every(600*time.Millisecond, ahead, ahead, ahead, ahead, ahead, ahead, ahead)...),
		"beyond all bounds": {{0, math.MaxInt64, 0}, {0, math.MinInt64, 0}},
		"of 1970":           every(-56*365*24*time.Hour, 0, 0, 0, 0, 0, behind),
	} {
		clock, now := remoteClock{}, start
		for i, r := range reports {
			now = now.Add(r.after)
			clock.add(now, now.Add(r.off))
			clock.recorded = clock.drift(now, now)
			if cmp.Compare(clock.recorded, 0) != r.want {
				t.Errorf("%s: after report %d the drift is %s, want the sign %d", name, i+1, clock.recorded, r.want)
			}
		}
	}
	clock := remoteClock{}
	clock.add(start, start)
	if got := clock.drift(start, start.Add(time.Hour)); got != 0 {
		t.Errorf("after the wall clock was set an hour forward, one report gives the drift %s, want 0", got)
	}
	if got := clock.drift(start, start.Add(-time.Hour)); got != time.Hour {
		t.Errorf("after the wall clock was set an hour back, the drift is %s, want an hour", got)
	}
}

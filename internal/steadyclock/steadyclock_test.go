package steadyclock_test

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/steadyclock"
)

func TestALeapIsFollowedAfterAnHour(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	years := 73 * 365 * 24 * time.Hour
	var c steadyclock.Clock
	for _, step := range []struct{ up, ahead, want time.Duration }{
		{0, 0, 0},
		{time.Minute, 0, 0},
		{2 * time.Minute, time.Hour, time.Hour}, // a small step
		{3 * time.Minute, years, time.Hour},
		{3*time.Minute + 5*time.Second, 0, 0}, // back
		{4 * time.Minute, years, 0},
		{63 * time.Minute, years, 0},
		{65 * time.Minute, years, years}, // it stays
		{66 * time.Minute, 0, 0},
		{67 * time.Minute, 48 * time.Hour, 0},
		{130 * time.Minute, years, 0}, // another leap
		{200 * time.Minute, years, years},
	} {
		if got := c.Now(noon.Add(step.up+step.ahead), step.up).Sub(noon.Add(step.up)); got != step.want {
			t.Errorf("up %s, with the wall clock %s ahead: %s ahead, want %s", step.up, step.ahead, got, step.want)
		}
	}
}

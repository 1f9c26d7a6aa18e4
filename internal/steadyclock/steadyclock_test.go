package steadyclock_test

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/steadyclock"
)

func TestALeapIsDoubtedForAnHour(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	years := 73 * 365 * 24 * time.Hour
	var c steadyclock.Clock
	for _, step := range []struct {
		up, ahead time.Duration
		doubted   bool
	}{
		{0, years, true}, // the machine started with a wrong clock
		{5 * time.Second, 0, true},
		{59 * time.Minute, 0, true},
		{60 * time.Minute, 0, false},
		{61 * time.Minute, time.Hour, false}, // a small step
		{62 * time.Minute, years, true},
		{62*time.Minute + 5*time.Second, 0, true}, // back
		{121 * time.Minute, 0, true},
		{122 * time.Minute, 0, false},
		{123 * time.Minute, years, true},
		{183 * time.Minute, years, false}, // it stays
		{184 * time.Minute, 0, false},
		{185 * time.Minute, 48 * time.Hour, true},
	} {
		wall := noon.Add(step.up + step.ahead)
		if got := c.Now(wall, step.up); got.Equal(wall) == step.doubted || step.doubted && got.Year() != 1970 {
			t.Errorf("up %s, with the wall clock %s ahead: %s, doubted: %v", step.up, step.ahead, got, step.doubted)
		}
	}
}

package zookeeper

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64][]time.Duration{
		0: {100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
			1600 * time.Millisecond, 2500 * time.Millisecond, 2500 * time.Millisecond},
		1: {200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond,
			3200 * time.Millisecond, 5 * time.Second, 5 * time.Second},
	} {
		var b backoff
		for range 2 {
			var got []time.Duration
			for range want {
				got = append(got, b.next(random))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("at random %v: - wanted, + got\n%s", random, diff)
			}
			b.reset()
		}
	}
}

package zookeeper

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64][]time.Duration{
		0: {100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 2500 * time.Millisecond, 2500 * time.Millisecond},
		1: {200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond, 5 * time.Second, 5 * time.Second},
	} {
		b := backoff{first: 200 * time.Millisecond, most: longestPause}
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

// One server that is lost makes nobody wait: only after a full round without an answer there are pauses, and a
// session alone is no answer.
func TestNextServerIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hosts{servers: []string{"a", "b", "c"}, ctx: t.Context()}
		var got []string
		next := func() {
			began := time.Now()
			server, second := h.Next()
			if second {
				server += " after the library's second"
			} else if took := time.Since(began); took > 0 {
				server += fmt.Sprintf(" after %v", took)
			}
			got = append(got, server)
			h.Connected()
		}
		next() // a answers, and is lost
		h.answered()
		for range 15 {
			next()
		}
		h.answered()
		next()
		want := []string{"a", "b", "c", "a", "b after 100ms", "c", "a", "b after 200ms", "c", "a", "b after 400ms", "c", "a",
			"b after the library's second", "c", "a", "b"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("- wanted, + got\n%s", diff)
		}
	})
}

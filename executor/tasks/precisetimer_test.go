package tasks

import (
	"testing"
	"time"
)

// The precise timer wakes shards with the same wake-up time together, and no shard before its wake-up time.
func TestPreciseTimer(t *testing.T) {
	t.Parallel()
	a := newPreciseTimer()
	for _, wait := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, preciseLead} {
		began := time.Now()
		<-a.after(wait)
		if took := time.Since(began); took < wait {
			t.Errorf("woken after %v, want %v", took, wait)
		}
	}
	first := a.after(preciseLead)
	shared := false
	for range 100 { // the first wake-up time may pass in between
		if second := a.after(preciseLead); second == first {
			shared = true
		} else {
			first = second
		}
	}
	if !shared {
		t.Error("no two shards shared a wake-up time")
	}
	a.wait()
	if len(a.wakeups) > 0 {
		t.Errorf("%d wake-up times are left", len(a.wakeups))
	}
}

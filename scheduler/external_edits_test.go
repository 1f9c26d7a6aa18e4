package scheduler

import (
	"testing"
	"testing/synctest"
	"time"
)

// A path that can't be read is tried again, each time after twice the time, and hinders no other.
func TestFailedReadsOfExternalEditsAreRetriedWithBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f externalEdits
		rings := make(chan struct{}, 1)
		began := time.Now()
		var at []time.Duration
		for range 10 {
			f.retry([]string{"/config/job/a"}, func() { rings <- struct{}{} })
			if paths, _ := f.take(); len(paths) > 0 {
				t.Fatalf("%v is tried at once", paths)
			}
			<-rings
			at = append(at, time.Since(began))
			if paths, _ := f.take(); len(paths) != 1 {
				t.Fatalf("tried: %v", paths)
			}
			began = time.Now()
		}
		if at[0] != editRetryFirst || at[1] != 2*editRetryFirst || at[9] != editRetryMost {
			t.Errorf("tried after %v", at)
		}
		f.read("/config/job/a")
		if pause := f.retry([]string{"/config/job/a"}, func() {}); pause != editRetryFirst {
			t.Errorf("after it was read, tried again after %v", pause)
		}
		f.stop()
	})
}

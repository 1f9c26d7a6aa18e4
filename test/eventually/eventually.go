// Package eventually waits in tests until an operation with a real server succeeds.
package eventually

import (
	"testing"
	"time"
)

// patience is longer than a busy machine needs.
const patience = 2 * time.Minute

// Works repeats try until it returns no error, for example because a client needs time to reconnect.
func Works(t testing.TB, what string, try func() error) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-poll.C:
		}
	}
}

// Package eventually waits in tests for what a real server needs a moment for.
package eventually

import (
	"testing"
	"time"
)

// patience is more than a busy machine needs.
const patience = 2 * time.Minute

// Works tries until there is no error: a client of a server that was away needs a moment to come back.
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

package lease

import (
	"testing"
	"time"
)

// TestFormula checks the times that the documents promise, so that no constant changes by accident.
func TestFormula(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ length, grace, next, renewal time.Duration }{
		{60 * time.Second, 5 * time.Second, 83 * time.Second, 5 * time.Second},
		{10 * time.Second, 5 * time.Second, 23 * time.Second, 10 * time.Second / 6},
		{time.Hour, time.Minute, 73*time.Minute + 17*time.Second, 5 * time.Second},
	} {
		if next, renewal := NextAttempt(tt.length, tt.grace), Renewal(tt.length); next != tt.next || renewal != tt.renewal {
			t.Errorf("%s, %s: the next attempt after %s, renewed every %s", tt.length, tt.grace, next, renewal)
		}
	}
}

package lease

import (
	"testing"
	"time"
)

// TestFormula: these numbers are promised. A change of any constant must be a decision.
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

package fencing

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// TestTokensGrow checks that each token is greater than the last under leaders whose clocks differ. Each leader loads
// what the one before it committed last.
func TestTokensGrow(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	var stored []byte
	last, writes := int64(0), 0
	for _, leader := range []struct {
		name   string
		clock  time.Time
		tokens int
		first  int64 // the first token; 0 for any that is greater than the last
	}{
		{"the first leader begins at its clock", day, 2500, day.UnixMilli() + 1},
		{"at the same moment", day, 1, 0},
		{"with a clock that is behind", day.Add(-time.Hour), 1200, 0},
		{"an hour later", day.Add(time.Hour), 3, day.Add(time.Hour).UnixMilli() + 1},
	} {
		tokens := New(&step.Shared{})
		tokens.shared.Begin(leader.clock)
		tokens.shared.Set(clock.Now{Wall: leader.clock})
		if stored != nil {
			if err := tokens.Restore(stored); err != nil {
				t.Fatalf("%s: %v", leader.name, err)
			}
		}
		for i := range leader.tokens {
			next := tokens.Next()
			if next <= last || i == 0 && leader.first != 0 && next != leader.first {
				t.Fatalf("%s: token %d is %d after %d", leader.name, i, next, last)
			}
			last = next
			var c store.Commit
			tokens.Write(&c)
			for _, w := range c.Writes() {
				stored = w.Value
				writes++
			}
		}
	}
	if writes != 3+1+2+1 {
		t.Errorf("%d writes for %d tokens, want %d", writes, 2500+1+1200+3, 3+1+2+1)
	}
}

// TestRestoreRefusesGarbage checks that a stored limit that is not a number is an error.
func TestRestoreRefusesGarbage(t *testing.T) {
	t.Parallel()
	if err := New(&step.Shared{}).Restore([]byte("x")); err == nil {
		t.Error("a limit that is not a number was accepted")
	}
}

package tasks

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Turns are granted in the order in which they were asked for, up to the job's limit, also after a waiting run gave
// up.
func TestTurns(t *testing.T) {
	t.Parallel()
	all := newSlots()
	has := func(n *slot) bool { return len(n.granted) > 0 }
	ask := func(job string, limit int) *slot { return all.request(job, limit) }
	a, b, c, d := ask("job", 2), ask("job", 2), ask("job", 2), ask("job", 2)
	other, free := ask("other", 1), ask("job", 0)
	check := func(when string, turns []*slot, want ...bool) {
		t.Helper()
		for i, n := range turns {
			if has(n) != want[i] {
				t.Errorf("%s: turn %d is given: %t", when, i, has(n))
			}
		}
	}
	check("at first", []*slot{a, b, c, d, other, free}, true, true, false, false, true, true)
	all.release(c)
	check("one who waits has gone", []*slot{d}, false)
	all.release(b)
	check("one has ended", []*slot{d}, true)
	for _, n := range []*slot{a, d, other, free} {
		all.release(n)
	}
	if len(all.jobs) != 0 {
		t.Errorf("%v is left", all.jobs)
	}
	if n := slotsFor(wire.ConcurrencyCPU); n < 2 || slotsFor(wire.ConcurrencySingle) != 1 || slotsFor("") != 0 {
		t.Errorf("CPU allows %d", n)
	}
}

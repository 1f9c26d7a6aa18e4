package tasks

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Turns are granted in the order in which they were asked for, up to the job's limit, also after a waiting run gave
// up.
func TestTurns(t *testing.T) {
	t.Parallel()
	all := newTurns()
	has := func(n *turn) bool { return len(n.granted) > 0 }
	ask := func(job string, limit int) *turn { return all.ask(job, limit) }
	a, b, c, d := ask("job", 2), ask("job", 2), ask("job", 2), ask("job", 2)
	other, free := ask("other", 1), ask("job", 0)
	check := func(when string, turns []*turn, want ...bool) {
		t.Helper()
		for i, n := range turns {
			if has(n) != want[i] {
				t.Errorf("%s: turn %d is given: %t", when, i, has(n))
			}
		}
	}
	check("at first", []*turn{a, b, c, d, other, free}, true, true, false, false, true, true)
	all.giveBack(c)
	check("one who waits has gone", []*turn{d}, false)
	all.giveBack(b)
	check("one has ended", []*turn{d}, true)
	for _, n := range []*turn{a, d, other, free} {
		all.giveBack(n)
	}
	if len(all.jobs) != 0 {
		t.Errorf("%v is left", all.jobs)
	}
	if n := turnsFor(wire.ConcurrencyCPU); n < 2 || turnsFor(wire.ConcurrencySingle) != 1 || turnsFor("") != 0 {
		t.Errorf("CPU allows %d", n)
	}
}

package tasks

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Slots are granted in the order in which they were requested, up to the job's limit, even after a request was
// cancelled.
func TestSlots(t *testing.T) {
	t.Parallel()
	all := newSlots()
	isGranted := func(n *slot) bool { return len(n.granted) > 0 }
	a, b, c, d := all.request("job", 2), all.request("job", 2), all.request("job", 2), all.request("job", 2)
	other, unlimited := all.request("other", 1), all.request("job", 0)
	check := func(when string, requested []*slot, want ...bool) {
		t.Helper()
		for i, n := range requested {
			if isGranted(n) != want[i] {
				t.Errorf("%s: slot %d granted: %t, want %t", when, i, isGranted(n), want[i])
			}
		}
	}
	check("at first", []*slot{a, b, c, d, other, unlimited}, true, true, false, false, true, true)
	all.release(c)
	check("a request was cancelled", []*slot{d}, false)
	all.release(b)
	check("a run has ended", []*slot{d}, true)
	for _, n := range []*slot{a, d, other, unlimited} {
		all.release(n)
	}
	if len(all.jobs) != 0 {
		t.Errorf("slots of %v are left", all.jobs)
	}
	if n := slotsFor(wire.ConcurrencyCPU); n < 2 || slotsFor(wire.ConcurrencySingle) != 1 || slotsFor("") != 0 {
		t.Errorf("slotsFor: CPU %d, single %d, none %d", n, slotsFor(wire.ConcurrencySingle), slotsFor(""))
	}
}

package executions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// ended returns an execution of a job that was the n-th to end. All its shards have the same state.
func ended(job string, n int, state State, shards int) *Execution {
	fire := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	e := &Execution{rec: record{ID: fmt.Sprintf("%s@%d", job, n), Job: job, Fire: fire, Settings: &Settings{},
		EndNumber: int64(n)}}
	for i := range shards {
		e.shards = append(e.shards, Shard{rec: shardRecord{Item: i, State: state,
			attempt: attempt{TaskID: fmt.Sprintf("%s-%d", e.rec.ID, i)}}})
	}
	return e
}

// TestHistoryKeepsOfEachJobAndResult checks that each job has a ring for each result, so that no run displaces a run of
// another job or with another result.
func TestHistoryKeepsOfEachJobAndResult(t *testing.T) {
	t.Parallel()
	h := newHistory()
	n := 0
	for range 300 {
		for job, state := range map[string]State{"good": Finished, "bad": Failed, "both": Finished} {
			n++
			h.add(ended(job, n, state, 1))
		}
		n++
		h.add(ended("both", n, Failed, 1))
		n++
		h.add(ended("both", n, Killed, 1))
		h.trim(time.Now(), 10_000, math.MaxInt64)
	}
	want := map[string][results]int{"good": {20}, "bad": {0, 100}, "both": {20, 100, 20}}
	for job, sizes := range want {
		for r, size := range sizes {
			if got := len(h.jobs[job].rings[r].list); got != size {
				t.Errorf("of %s, %d runs with result %d are kept, want %d", job, got, r, size)
			}
		}
	}
	last := int64(0)
	for e := range h.all() {
		if e.rec.EndNumber <= last {
			t.Fatalf("end %d is listed after end %d", e.rec.EndNumber, last)
		}
		last = e.rec.EndNumber
	}
	if e := h.lastOf("both", ResultFinished, ResultFailed); e == nil || e.State() != Failed {
		t.Errorf("the last finished or failed run of both is %+v, want the failed one", e)
	}
	if len(h.byID) != h.order.Len() || len(h.tasks) != h.order.Len() || len(h.crowded) != 0 {
		t.Errorf("%d executions, but %d ids and %d tasks are indexed, and %d rings are crowded", h.order.Len(),
			len(h.byID), len(h.tasks), len(h.crowded))
	}
}

// TestHistoryIsBounded checks that the limit holds for random ends, that the indexes have what is kept, and that
// nothing is left in them of what was removed.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	h := newHistory()
	for n := range 3000 {
		e := ended(fmt.Sprint("job", rnd.IntN(200)), n+1, []State{Finished, Failed, Killed}[rnd.IntN(3)],
			1+rnd.IntN(3))
		e.rec.Dropped = rnd.IntN(4) == 0
		h.add(e)
		h.trim(time.Now(), 500, math.MaxInt64)
		if h.order.Len() > 500 {
			t.Fatalf("%d executions are kept, want at most 500", h.order.Len())
		}
	}
	h.trim(time.Now(), 500, math.MaxInt64)
	shards := 0
	for e := range h.all() {
		shards += len(e.shards)
		if h.byID[e.rec.ID] != e {
			t.Fatalf("%s can't be found by its id", e.rec.ID)
		}
	}
	if h.order.Len() != 500 || shards != h.shards || len(h.tasks) != shards {
		t.Errorf("%d executions with %d shards, counted as %d, %d tasks", h.order.Len(), shards, h.shards,
			len(h.tasks))
	}
	h.trim(time.Now(), 0, math.MaxInt64)
	if h.order.Len()+h.shards+len(h.byID)+len(h.tasks)+len(h.jobs)+len(h.crowded) != 0 {
		t.Errorf("the indexes of an empty history are not empty: %+v", h)
	}
}

// TestHistoryKeepsTheNewestWhileThereIsRoom checks that executions that have just ended are kept beyond the size of
// their ring while there is room, and that they displace nothing from the rings of other jobs.
func TestHistoryKeepsTheNewestWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h := newHistory()
	n := 0
	add := func(job string, at time.Time, dropped bool) {
		n++
		e := ended(job, n, Finished, 1)
		e.rec.EndedAt, e.endedAt, e.rec.Dropped = at, at, dropped
		h.add(e)
		h.trim(now, 100, math.MaxInt64)
	}
	kept := func(job string, r Result) int {
		if h.jobs[job] == nil {
			return 0
		}
		return len(h.jobs[job].rings[r].list)
	}
	for range 30 {
		add("slow", now.Add(-time.Hour), false)
	}
	for range 50 {
		add("fast", now, false)
		add("fast", now, true)
	}
	if kept("slow", ResultFinished) != 20 || kept("fast", ResultFinished) != 50 || kept("fast", resultDropped) != 1 {
		t.Errorf("%d slow, %d fast and %d dropped runs are kept, want 20, 50 and 1", kept("slow", ResultFinished),
			kept("fast", ResultFinished), kept("fast", resultDropped))
	}
	for range 500 {
		add("fast", now, false)
	}
	if kept("slow", ResultFinished) != 20 || kept("fast", ResultFinished) != 79 || h.order.Len() != 100 {
		t.Errorf("%d slow and %d fast runs of %d are kept, want 20 and 79 of 100", kept("slow", ResultFinished),
			kept("fast", ResultFinished), h.order.Len())
	}
	now = now.Add(minRetention)
	h.trim(now, 100, math.MaxInt64)
	if kept("fast", ResultFinished) != 20 || len(h.crowded) != 0 {
		t.Errorf("%d old runs are kept, want 20", kept("fast", ResultFinished))
	}
}

// TestHistoryBoundsShards checks that fewer runs are kept if they have many shards, but always the newest.
func TestHistoryBoundsShards(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for n := range 30 {
		h.add(ended("big", n+1, Finished, 10_000))
		h.add(ended("huge", n+31, Failed, maxRingShards+1))
		h.trim(time.Now(), 10_000, math.MaxInt64)
	}
	big, huge := len(h.jobs["big"].rings[ResultFinished].list), len(h.jobs["huge"].rings[ResultFailed].list)
	if big != 5 || huge != 1 {
		t.Errorf("%d big and %d huge runs are kept, want 5 and 1", big, huge)
	}
}

// TestHistoryBoundsWhatIsNotStored checks that ended executions are kept beyond the usual limits while the database is
// unreachable, but not without limit. Beyond this limit, the oldest are removed, and no more than necessary.
func TestHistoryBoundsWhatIsNotStored(t *testing.T) {
	t.Parallel()
	trim := func(h *history, recorded int64) {
		h.trim(time.Now(), 10, 0)
		h.trimUnstored(30, recorded)
	}
	h := newHistory()
	for n := range 100 {
		h.add(ended("small", n+1, Finished, 1))
		trim(&h, int64(n))
		if want := min(n+1, 30); h.order.Len() != want {
			t.Fatalf("%d of %d executions are kept, want %d", h.order.Len(), n+1, want)
		}
	}
	h.add(ended("small", 101, Finished, 1))
	if trim(&h, 71); h.order.Len() != 30 {
		t.Errorf("%d executions are kept, want 30", h.order.Len())
	}
	h.add(ended("small", 102, Finished, 1))
	if trim(&h, 71); h.order.Len() != 31 {
		t.Errorf("%d executions are kept, want 31, because those that are in no batch must stay", h.order.Len())
	}

	h = newHistory()
	shards := make([]Shard, 100_000) // all executions share them, which takes less memory
	for n := range 25 {
		e := ended("big", n+1, Finished, 0)
		e.shards = shards
		h.add(e)
		trim(&h, int64(n))
	}
	if h.shards != maxUnstoredShards {
		t.Errorf("%d shards are kept, want %d", h.shards, maxUnstoredShards)
	}
}

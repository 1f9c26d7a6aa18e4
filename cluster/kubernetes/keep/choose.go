package keep

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
)

// Ended is the pod of a task that has ended.
type Ended struct {
	kubernetes.Pod
	Good bool
	At   time.Time
}

// run is the ended pods of one run, which stay or go together: who reads why one shard failed reads what the others
// did. A daemon's pods have one execution for all times, so each of them is a run of its own.
type run struct {
	job, execution string
	pods           []Ended
	// good: all its pods are. last is when the last of them ended.
	good bool
	last time.Time
	// share is how much of what its job may keep it takes together with the newer runs: at most 1 for one that is
	// kept.
	share float64
}

// Choose says which pods go, the oldest first, and when the next one does by its age; zero if none is kept.
//
// Each job keeps its newest runs. Where that is more pods than Rules.Pods, all jobs give up their older runs in
// proportion to what they may keep, so that a job that fails all the time does not take the others' place; and of a
// run with more than a quarter of those pods, what failed stays first, and the rest as far as the others leave room.
func (r Rules) Choose(now time.Time, ended []Ended) (gone []Ended, next time.Time) {
	runs := runsOf(ended)
	r.rank(runs)
	slices.SortFunc(runs, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.share, b.share), failedFirst(a.good, b.good), b.last.Compare(a.last),
			cmp.Compare(a.job, b.job), cmp.Compare(a.execution, b.execution))
	})
	room := r.Pods
	var rest []Ended // of large runs
	for _, one := range runs {
		until := one.last.Add(r.For)
		if one.share > 1 || !now.Before(until) {
			gone = append(gone, one.pods...)
			continue
		}
		slices.SortFunc(one.pods, func(a, b Ended) int {
			return cmp.Or(failedFirst(a.Good, b.Good), b.At.Compare(a.At), cmp.Compare(a.UID, b.UID))
		})
		kept := min(room, len(one.pods), max(1, r.Pods/4))
		room -= kept
		rest = append(rest, one.pods[kept:]...)
		if kept > 0 && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	gone = append(gone, rest[min(room, len(rest)):]...)
	slices.SortFunc(gone, func(a, b Ended) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.UID, b.UID)) })
	return gone, next
}

// failedFirst orders what failed before what is good.
func failedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func runsOf(ended []Ended) []*run {
	type key struct{ namespace, job, execution string }
	byKey := map[key]*run{}
	var runs []*run
	for _, e := range ended {
		k := key{e.Namespace, e.Job, e.Execution}
		if e.Daemon || e.Execution == "" {
			k.execution = string(e.UID)
		}
		one := byKey[k]
		if one == nil {
			one = &run{job: e.Namespace + "/" + e.Job, execution: k.execution, good: true}
			byKey[k] = one
			runs = append(runs, one)
		}
		one.pods, one.good = append(one.pods, e), one.good && e.Good
		if e.At.After(one.last) {
			one.last = e.At
		}
	}
	return runs
}

// rank sets the runs' shares.
func (r Rules) rank(runs []*run) {
	slices.SortFunc(runs, func(a, b *run) int {
		return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.execution, b.execution))
	})
	type row struct {
		job  string
		good bool
	}
	seen := map[row]int{}
	for _, one := range runs {
		of, most := row{one.job, one.good}, r.Failed
		if one.good {
			most = r.Finished
		}
		seen[of]++
		one.share = 2
		if seen[of] <= most {
			one.share = float64(seen[of]) / float64(most)
		}
	}
}

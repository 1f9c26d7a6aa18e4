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
	// Finished is set if the task finished. It is not set if the task failed, was killed or was lost.
	Finished bool
	// At is when the task ended.
	At time.Time
}

// run holds the ended pods of one execution. Unless they are very many, they are kept or deleted together, because an
// investigation of a failed shard also needs the output of the other shards. All pods of a daemon have the same
// execution id, so each pod of a daemon forms a run of its own.
type run struct {
	job, execution string
	pods           []Ended
	// finished is set if all its tasks finished. last is when the last of them ended.
	finished bool
	last     time.Time
	// share is the rank of the run among its job's runs with the same value of finished, divided by their limit. The
	// newest run has the rank 1. A run with a share above 1 is not kept.
	share float64
}

// Choose returns the pods to delete, oldest first, and when the next pod reaches its maximum age; zero if none is
// kept.
//
// Each job keeps its newest runs. If these have more pods than Rules.Pods, all jobs lose their oldest runs in
// proportion to their limits, so that a job that fails constantly cannot displace the other jobs. A large run gets a
// quarter of Rules.Pods at first, for its failed pods before others. Its remaining pods are kept as far as the other
// runs leave room.
func (r Rules) Choose(now time.Time, ended []Ended) (gone []Ended, next time.Time) {
	runs := runsOf(ended)
	r.rank(runs)
	slices.SortFunc(runs, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.share, b.share), failedFirst(a.finished, b.finished), b.last.Compare(a.last),
			cmp.Compare(a.job, b.job), cmp.Compare(a.execution, b.execution))
	})
	room := r.Pods
	var rest []Ended // pods that are kept only if there is room left after all runs
	for _, one := range runs {
		until := one.last.Add(r.For)
		if one.share > 1 || !now.Before(until) {
			gone = append(gone, one.pods...)
			continue
		}
		slices.SortFunc(one.pods, func(a, b Ended) int {
			return cmp.Or(failedFirst(a.Finished, b.Finished), b.At.Compare(a.At), cmp.Compare(a.UID, b.UID))
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

// failedFirst compares two values of finished, so that false is first.
func failedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// runsOf groups pods into runs, whose shares are not set yet.
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
			one = &run{job: e.Namespace + "/" + e.Job, execution: k.execution, finished: true}
			byKey[k] = one
			runs = append(runs, one)
		}
		one.pods, one.finished = append(one.pods, e), one.finished && e.Finished
		if e.At.After(one.last) {
			one.last = e.At
		}
	}
	return runs
}

// rank sets the shares of the runs.
func (r Rules) rank(runs []*run) {
	slices.SortFunc(runs, func(a, b *run) int {
		return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.execution, b.execution))
	})
	type key struct {
		job      string
		finished bool
	}
	ranks := map[key]int{}
	for _, one := range runs {
		k, limit := key{one.job, one.finished}, r.Failed
		if one.finished {
			limit = r.Finished
		}
		ranks[k]++
		one.share = 2
		if rank := ranks[k]; rank <= limit {
			one.share = float64(rank) / float64(limit)
		}
	}
}

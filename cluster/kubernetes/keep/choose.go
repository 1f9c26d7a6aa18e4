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

// Choose says which pods go, the oldest first, and when the next one does by its age; zero if none is kept.
func (r Rules) Choose(now time.Time, ended []Ended) (gone []Ended, next time.Time) {
	type row struct {
		namespace, job string
		good           bool
	}
	newestFirst := slices.SortedFunc(slices.Values(ended), func(a, b Ended) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.UID, b.UID))
	})
	kept := map[row]int{}
	for _, e := range newestFirst {
		most := r.Failed
		if e.Good {
			most = r.Finished
		}
		of, until := row{e.Namespace, e.Job, e.Good}, e.At.Add(r.For)
		if kept[of] >= most || !now.Before(until) {
			gone = append(gone, e)
			continue
		}
		kept[of]++
		if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	slices.Reverse(gone)
	return gone, next
}

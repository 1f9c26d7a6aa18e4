package keep_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/keep"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ended(job, name string, good bool, ago time.Duration) keep.Ended {
	return keep.Ended{Pod: kubernetes.Pod{Namespace: "jobs", Name: name, UID: types.UID("uid-" + name), Job: job},
		Finished: good, At: now.Add(-ago)}
}

// shards returns the ended pods of a run, one for each letter of ends: g for good, b for bad. They ended a second
// apart, and the last one ended before now by the duration ago.
func shards(job, execution, ends string, ago time.Duration) (all []keep.Ended) {
	for i, end := range ends {
		before := time.Duration(len(ends)-1-i) * time.Second
		e := ended(job, fmt.Sprintf("%s/%s-%d", job, execution, i), end == 'g', ago+before)
		e.Execution = execution
		all = append(all, e)
	}
	return all
}

// TestChoose: runs are kept and deleted as a whole, by their number per job and by the age of their last end, within
// the limit for all pods.
func TestChoose(t *testing.T) {
	t.Parallel()
	many := slices.Concat(
		shards("a", "1", "ggg", 5*time.Minute), shards("a", "2", "ggg", 4*time.Minute),
		shards("a", "3", "bgg", 3*time.Minute), shards("a", "4", "g", 2*time.Minute),
		shards("b", "1", "g", 59*time.Minute), shards("b", "2", "bg", time.Hour))
	daemon := shards("d", "standing", "bbg", time.Minute)
	for i := range daemon {
		daemon[i].Daemon = true
	}
	for name, c := range map[string]struct {
		rules keep.Rules
		ended []keep.Ended
		gone  []string
		next  time.Duration // from now
	}{
		"all are new": {keep.Rules{Finished: 9, Failed: 9, Pods: 99, For: 3 * time.Hour}, many, nil, 2 * time.Hour},
		"the newest runs stay, with all their shards": {keep.Rules{Finished: 2, Failed: 1, Pods: 99,
			For: 2 * time.Hour}, many,
			[]string{"a/1-0", "a/1-1", "a/1-2"}, time.Hour},
		"a run is as old as its last end": {keep.Rules{Finished: 9, Failed: 9, Pods: 99, For: time.Hour}, many, []string{"b/2-0", "b/2-1"}, time.Minute},
		"only the failed":                 {keep.Rules{Failed: 9, Pods: 99, For: 2 * time.Hour}, many, []string{"b/1-0", "a/1-0", "a/1-1", "a/1-2", "a/2-0", "a/2-1", "a/2-2", "a/4-0"}, time.Hour},
		"the oldest run makes room":       {keep.Rules{Finished: 3, Failed: 3, Pods: 12, For: 2 * time.Hour}, many, []string{"a/1-0"}, time.Hour},
		"the older runs of all jobs make room": {keep.Rules{Failed: 4, Pods: 4, For: time.Hour}, slices.Concat(
			shards("x", "1", "b", 4*time.Minute), shards("x", "2", "b", 3*time.Minute),
			shards("x", "3", "b", 2*time.Minute), shards("x", "4", "b", time.Minute),
			shards("y", "1", "b", 59*time.Minute), shards("y", "2", "b", 58*time.Minute)), []string{"x/1-0",
			"x/2-0"}, time.Minute},
		"a failed pod of a run that is too large stays": {keep.Rules{Finished: 3, Failed: 3, Pods: 1, For: 2 * time.Hour}, shards("a", "1", "gbgg", 0), []string{"a/1-0", "a/1-2", "a/1-3"}, 2 * time.Hour},
		"a large run takes what others leave": {keep.Rules{Finished: 3, Failed: 3, Pods: 8, For: 2 * time.Hour},
			slices.Concat(shards("a", "1", "gbgggggg", 0), shards("b", "1", "g", time.Minute),
				shards("c", "1", "gg", time.Minute)), []string{"a/1-0", "a/1-2", "a/1-3"}, 119 * time.Minute},
		"each shard of a daemon is a run": {keep.Rules{Finished: 1, Failed: 1, Pods: 99, For: time.Hour}, daemon, []string{"d/standing-0"}, 59*time.Minute - time.Second},
		"none":                            {keep.Rules{}, shards("a", "1", "gb", time.Minute), []string{"a/1-0", "a/1-1"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone, next := c.rules.Choose(now, slices.Clone(c.ended))
			var names []string
			for _, e := range gone {
				names = append(names, e.Name)
			}
			if diff := cmp.Diff(c.gone, names); diff != "" {
				t.Error(diff)
			}
			if want := now.Add(c.next); !next.Equal(want) && (c.next != 0 || !next.IsZero()) {
				t.Errorf("the next goes at %v, want %v", next, want)
			}
		})
	}
}

// TestDefaultKeepsFailures: an hour later the failure of a job that runs every minute still exists, whatever other
// jobs do.
func TestDefaultKeepsFailures(t *testing.T) {
	t.Parallel()
	rules, err := keep.Parse(keep.Default)
	if err != nil {
		t.Fatal(err)
	}
	var all []keep.Ended
	for i := range 60 {
		ago := time.Duration(60-i) * time.Minute
		all = append(all, shards("minutely", fmt.Sprint("m", i), "bggggggg", ago)...)
		all = append(all, shards("good", fmt.Sprint("g", i), "gggg", ago)...)
		for j := range 60 {
			all = append(all, shards("noisy", fmt.Sprint("n", i, "-", j), "b", ago-time.Duration(j)*time.Second)...)
		}
	}
	gone, _ := rules.Choose(now, all)
	for _, e := range gone {
		if e.Job == "minutely" {
			t.Fatalf("%s is deleted", e.Name)
		}
	}
}

// deletions is an API server that counts delete requests.
type deletions struct {
	*fakekubernetes.Server

	mu     sync.Mutex
	asked  int
	refuse int // number of requests that are answered 500
	// atOnce is the number of concurrent requests, maxAtOnce their maximum.
	atOnce, maxAtOnce int
	// batch is the number of requests since the rules were last applied, maxBatch its maximum.
	batch, maxBatch int
}

func newDeletions(t *testing.T) *deletions {
	t.Helper()
	d := &deletions{Server: fakekubernetes.Start(t)}
	d.Fault = func(w http.ResponseWriter, _ *http.Request, _ runtime.Object) bool {
		d.count(func() {
			d.atOnce++
			d.maxAtOnce = max(d.maxAtOnce, d.atOnce)
		})
		for range 100 {
			goruntime.Gosched() // lets concurrent requests arrive, so that they are counted together
		}
		refused := false
		d.count(func() {
			d.asked++
			d.batch++
			d.maxBatch = max(d.maxBatch, d.batch)
			if refused = d.refuse > 0; refused {
				d.refuse--
				d.atOnce--
			}
		})
		if refused {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return refused
	}
	d.After = func(*http.Request) bool {
		d.count(func() { d.atOnce-- })
		return false
	}
	return d
}

func (d *deletions) count(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// has creates a pod on the server.
func (d *deletions) has(name, uid string) {
	d.PutPod("jobs", name, func(p *corev1.Pod) { p.UID = types.UID(uid) })
}

// left returns the names of the existing pods.
func (d *deletions) left() (names []string) {
	d.With(func() {
		for _, p := range d.Pods {
			names = append(names, p.Name)
		}
	})
	slices.Sort(names)
	return names
}

func newKeeper(t *testing.T, d *deletions, rules keep.Rules) *keep.Keeper {
	t.Helper()
	api, err := kubernetes.NewAPI(d.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	clock := func() time.Time { // the keeper reads it whenever it applies the rules
		d.count(func() { d.batch = 0 })
		return now
	}
	k := keep.New(keep.Options{Rules: rules, Core: api.Core, Logger: slog.New(slog.DiscardHandler),
		Pause: time.Millisecond, Now: clock})
	t.Cleanup(k.Close)
	return k
}

// TestPodsAreDeletedInBatches: however many pods are to be deleted, only a few requests are concurrent, and there is a
// pause after each batch.
func TestPodsAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	d := newDeletions(t)
	k := newKeeper(t, d, keep.Rules{For: time.Hour})
	const all = 300
	for i := range all {
		e := ended("a", fmt.Sprintf("p%03d", i), true, time.Second)
		d.has(e.Name, string(e.UID))
		k.Ended(t.Context(), e.Pod, true, e.At)
	}
	eventually.Works(t, "all are deleted", func() error {
		if n := len(d.left()); n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.maxAtOnce > 4 || d.maxBatch > 50 {
		t.Errorf("%d requests were concurrent and %d between two pauses, want at most 4 and 50", d.maxAtOnce, d.maxBatch)
	}
}

// TestPodsAreDeletedByTheirUIDs: a failed deletion is retried, and every other pod is deleted once. A pod of an ended
// session stays, and so does a new pod that has the name of an ended pod.
func TestPodsAreDeletedByTheirUIDs(t *testing.T) {
	t.Parallel()
	d := newDeletions(t)
	d.refuse = 3
	k := newKeeper(t, d, keep.Rules{Finished: 1, Pods: 9, For: time.Hour})
	endedSession, end := context.WithCancel(t.Context())
	end()
	other := ended("a", "of-another-session", false, 2*time.Hour)
	d.has(other.Name, string(other.UID))
	k.Ended(endedSession, other.Pod, false, now)
	const all = 120
	for i := range all {
		e := ended("a", fmt.Sprintf("p%03d", i), true, time.Duration(i+1)*time.Second)
		d.has(e.Name, map[bool]string{true: "another", false: string(e.UID)}[i == 7])
		k.Ended(t.Context(), e.Pod, true, e.At)
		k.Ended(t.Context(), e.Pod, true, e.At)
	}
	eventually.Works(t, "all but the newest are deleted", func() error {
		d.mu.Lock()
		asked := d.asked
		d.mu.Unlock()
		if diff := cmp.Diff([]string{"of-another-session", "p000", "p007"}, d.left()); diff != "" || asked != all-1+3 {
			return fmt.Errorf("asked for %d times: %s", asked, diff)
		}
		return nil
	})
}

package keep_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/keep"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ended(job, name string, good bool, ago time.Duration) keep.Ended {
	return keep.Ended{Pod: kubernetes.Pod{Namespace: "jobs", Name: name, UID: types.UID("uid-" + name), Job: job}, Good: good, At: now.Add(-ago)}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := []keep.Ended{
		ended("a", "a1", true, 5*time.Minute), ended("a", "a2", true, 4*time.Minute), ended("a", "a3", true, 3*time.Minute),
		ended("a", "bad1", false, 50*time.Minute), ended("a", "bad2", false, 40*time.Minute),
		ended("b", "b1", true, 59*time.Minute), ended("b", "old", true, time.Hour), ended("b", "older", false, 2*time.Hour),
	}
	for name, c := range map[string]struct {
		rules keep.Rules
		gone  []string
		next  time.Duration // from now
	}{
		"all are new":     {keep.Rules{Finished: 9, Failed: 9, For: 3 * time.Hour}, nil, time.Hour},
		"the newest stay": {keep.Rules{Finished: 2, Failed: 1, For: time.Hour}, []string{"older", "old", "bad1", "a1"}, time.Minute},
		"only the failed": {keep.Rules{Failed: 10, For: time.Hour}, []string{"older", "old", "b1", "a1", "a2", "a3"}, 10 * time.Minute},
		"none":            {keep.Rules{}, []string{"older", "old", "b1", "bad1", "bad2", "a1", "a2", "a3"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone, next := c.rules.Choose(now, all)
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

// deletions is an API server that is asked to delete pods.
type deletions struct {
	mu      sync.Mutex
	deleted []string
	refuse  int // so many are answered 500
	// atOnce is how many are being asked for, most how many were at most.
	atOnce, most int
	// batch is how many were deleted since the rules were last asked, largest the most that was.
	batch, largest int
}

func (d *deletions) enter(by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.atOnce += by
	d.most = max(d.most, d.atOnce)
}

// chosen is told when the rules are asked.
func (d *deletions) chosen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batch = 0
}

func (d *deletions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.enter(1)
	defer d.enter(-1)
	for range 100 {
		goruntime.Gosched() // who comes with others is seen with them
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.batch++
	d.largest = max(d.largest, d.batch)
	options, err := optionsOf(r)
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if d.refuse > 0 {
		d.refuse--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if err != nil || options.Preconditions == nil || *options.Preconditions.UID != types.UID("uid-"+name) || r.Method != http.MethodDelete {
		name = fmt.Sprintf("%s %s without its uid: %v", r.Method, name, err)
	}
	d.deleted = append(d.deleted, name)
}

// optionsOf reads the body of a request for a deletion: protobuf, as the API has it.
func optionsOf(r *http.Request) (options metav1.DeleteOptions, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return options, err
	}
	const magic = "k8s\x00"
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(body, []byte(magic))); err != nil {
		return options, err
	}
	return options, options.Unmarshal(envelope.Raw)
}

func (d *deletions) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.deleted))
}

func newKeeper(t *testing.T, d *deletions, rules keep.Rules) *keep.Keeper {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	api, err := kubernetes.NewAPI(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	k := keep.New(keep.Options{Rules: rules, Core: api.Core, Logger: slog.New(slog.DiscardHandler), Pause: time.Millisecond, Now: func() time.Time { d.chosen(); return now }})
	t.Cleanup(k.Close)
	return k
}

// TestPodsAreDeletedInBatches: however many are to go, the API server is asked for few at once, and gets a pause after some.
func TestPodsAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	d := &deletions{}
	k := newKeeper(t, d, keep.Rules{For: time.Hour})
	const all = 300
	for i := range all {
		e := ended("a", fmt.Sprintf("p%03d", i), true, time.Second)
		k.Ended(t.Context(), e.Pod, true, e.At)
	}
	eventually.Works(t, "all are deleted", func() error {
		if n := len(d.all()); n != all {
			return fmt.Errorf("%d of %d are", n, all)
		}
		return nil
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.most > 4 || d.largest > 50 {
		t.Errorf("%d were asked for at once and %d between two pauses, want at most 4 and 50", d.most, d.largest)
	}
}

func TestPodsAreDeletedByTheirUIDs(t *testing.T) {
	t.Parallel()
	d := &deletions{refuse: 3}
	k := newKeeper(t, d, keep.Rules{Finished: 1, For: time.Hour})
	over, end := context.WithCancel(t.Context())
	end()
	k.Ended(over, ended("a", "of-another-session", false, 2*time.Hour).Pod, false, now)
	var want []string
	for i := range 120 {
		e := ended("a", fmt.Sprintf("p%03d", i), true, time.Duration(i+1)*time.Second)
		k.Ended(t.Context(), e.Pod, true, e.At)
		k.Ended(t.Context(), e.Pod, true, e.At)
	}
	for i := range 119 {
		want = append(want, fmt.Sprintf("p%03d", i+1))
	}
	eventually.Works(t, "all but the newest are deleted", func() error {
		if diff := cmp.Diff(want, d.all()); diff != "" {
			return fmt.Errorf("%s", diff)
		}
		return nil
	})
}

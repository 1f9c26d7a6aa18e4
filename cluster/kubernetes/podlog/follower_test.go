package podlog_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podlog"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// session is the session to which a Follower reports.
type session struct {
	*podlog.Follower
	t    *testing.T
	api  *apiServer
	ctx  context.Context
	stop context.CancelFunc

	mu    sync.Mutex
	heard []cluster.Event
}

func newSession(t *testing.T, maxPods int) *session {
	t.Helper()
	s := &session{t: t, api: newAPIServer(t)}
	s.Follower = podlog.NewFollower(podlog.FollowerOptions{Core: s.api.core, Logger: slog.New(slog.DiscardHandler),
		MaxPods: maxPods, MinPause: time.Millisecond, MaxPause: time.Millisecond})
	s.ctx, s.stop = context.WithCancel(t.Context())
	t.Cleanup(func() {
		s.stop()
		s.Wait()
	})
	return s
}

// follow starts a pod whose UID is its name, and follows it.
func (s *session) follow(name string, daemon bool) string {
	c := s.api.begin(name, name, "shard", "")
	s.Running(s.ctx, kubernetes.Pod{Namespace: "jobs", Name: name, UID: types.UID(name), TaskID: "task-" + name,
		Node: "node", Daemon: daemon}, func(e cluster.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard = append(s.heard, e)
	})
	return c
}

func (s *session) events() []cluster.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func run(t *testing.T, number int64) string {
	t.Helper()
	return record(t, wire.Status{Sandbox: "/etc", Dir: "forged",
		Run: &wire.Run{Number: number, State: wire.RunFinished, Complete: time.Unix(number, 0).UTC()}})
}

// runs returns the numbers of the runs in updates.
func (s *session) runs() []int64 {
	var all []int64
	for _, e := range s.events() {
		if u, ok := e.(cluster.Update); ok {
			all = append(all, u.Status.Run.Number)
		}
	}
	return all
}

func TestRunsAreHeard(t *testing.T) {
	t.Parallel()
	s := newSession(t, 1)
	c := s.follow("p", true)
	fetches := record(t, wire.Status{Phase: wire.PhaseFetch})
	s.api.Write("jobs", c, "words\n"+run(t, 1)+"more "+run(t, 2)+"words\n"+fetches)
	until(t, "both runs", func() bool { return len(s.runs()) == 2 })
	u, _ := s.events()[0].(cluster.Update)
	if u.TaskID != "task-p" || u.AgentID != "node" || u.State != cluster.Running || len(u.UUID) != 16 ||
		u.Source != cluster.FromExecutor || u.Timestamp.IsZero() {
		t.Errorf("%+v", u)
	}
	if u.Status.Dir != "jobs/p/p" || u.Status.Sandbox != "" {
		t.Errorf("a job says where its output is: %+v", u.Status)
	}
}

// TestProgressIsHeardOfTheOwnTaskOnly: a job can write any record, but those about other tasks are dropped.
func TestProgressIsHeardOfTheOwnTaskOnly(t *testing.T) {
	t.Parallel()
	s := newSession(t, 1)
	c := s.follow("p", false)
	report := func(tasks ...string) {
		r := wire.PodRecord{Report: &wire.Report{}}
		for _, task := range tasks {
			r.Report.Tasks = append(r.Report.Tasks,
				wire.TaskReport{TaskID: task, Progress: &wire.Progress{Fraction: 0.5}})
		}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		s.api.Write("jobs", c, string(text))
	}
	report("task-other")
	report("task-other", "task-p")
	until(t, "a report", func() bool { return len(s.events()) > 0 })
	m, _ := s.events()[0].(cluster.Message)
	if got := m.Report; got == nil || len(got.Tasks) != 1 || got.Tasks[0].TaskID != "task-p" || m.AgentID != "node" {
		t.Errorf("%+v", got)
	}
}

// TestACutLosesNothing: after a cut the output is followed from a little before it, and records that are read twice
// yield the same events.
func TestACutLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t, 1)
	c := s.follow("p", true)
	s.api.Write("jobs", c, run(t, 1))
	until(t, "the first run", func() bool { return len(s.runs()) == 1 })
	half := run(t, 2)
	s.api.Write("jobs", c, half[:20])
	s.api.Rotate("jobs", c, "")
	s.api.Cut("jobs", c)
	until(t, "it is followed again", func() bool { return len(s.api.opens()) == 2 })
	s.api.Write("jobs", c, run(t, 1)+half)
	until(t, "the second run", func() bool { return slices.Contains(s.runs(), 2) })
	events := s.events()
	first, _ := events[0].(cluster.Update)
	repeated, _ := events[1].(cluster.Update)
	if !bytes.Equal(first.UUID, repeated.UUID) {
		t.Errorf("the same run is reported as %x and %x", first.UUID, repeated.UUID)
	}
	for _, query := range s.api.opens() {
		if !strings.Contains(query, "sinceSeconds=") {
			t.Errorf("all output is asked for: %s", query)
		}
	}
}

// TestFirstFollowingFails: a pod whose node could not be reached at first is read as far back as others.
func TestFirstFollowingFails(t *testing.T) {
	t.Parallel()
	s := newSession(t, 1)
	s.api.broken = 2
	c := s.follow("p", true)
	s.api.Write("jobs", c, run(t, 1))
	until(t, "the run", func() bool { return len(s.runs()) == 1 })
	for _, query := range s.api.opens() {
		if !strings.Contains(query, "sinceSeconds=3600") {
			t.Errorf("it is asked for %s", query)
		}
	}
}

// TestDaemonsComeFirst: with a limit of two, two daemons take the places of other pods. These wait, and are followed
// when other pods are gone.
func TestDaemonsComeFirst(t *testing.T) {
	t.Parallel()
	s := newSession(t, 2)
	for i, name := range []string{"once", "twice", "daemon", "waits", "later"} {
		s.follow(name, i == 2 || i == 4)
	}
	hears := func(name string, number int64) {
		s.api.Write("jobs", name, run(t, number))
		until(t, name, func() bool { return slices.Contains(s.runs(), number) })
	}
	hears("daemon", 1)
	hears("later", 2)
	s.Gone("daemon")
	s.Gone("later")
	s.Gone("once")
	hears("twice", 3)
	hears("waits", 4)
	s.api.Write("jobs", "once", run(t, 5))
	s.stop()
	s.Wait()
	if slices.Contains(s.runs(), 5) {
		t.Error("a pod that is gone is still followed")
	}
}

// BenchmarkFollowed measures the memory of a followed pod, for client and server together.
func BenchmarkFollowed(b *testing.B) {
	api := newAPIServer(b)
	f := podlog.NewFollower(podlog.FollowerOptions{Core: api.core, Logger: slog.New(slog.DiscardHandler), MaxPods: b.N})
	ctx, stop := context.WithCancel(b.Context())
	names := make([]string, b.N)
	for i := range names {
		names[i] = fmt.Sprint("p", i)
		api.begin(names[i], names[i], "shard", "line\n")
	}
	before := memory()
	for _, name := range names {
		f.Running(ctx, kubernetes.Pod{Namespace: "jobs", Name: name, UID: types.UID(name)}, func(cluster.Event) {})
	}
	for len(api.opens()) < b.N {
		runtime.Gosched()
	}
	b.ReportMetric(float64(memory()-before)/float64(b.N), "B/pod")
	stop()
	f.Wait()
}

func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

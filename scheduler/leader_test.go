package scheduler_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// spy is a registry that remembers what was committed.
type spy struct {
	registry.Registry
	mu        sync.Mutex
	committed map[string][]byte
}

func (s *spy) Campaign(ctx context.Context, who string) (registry.Term, error) {
	t, err := s.Registry.Campaign(ctx, who)
	return spyTerm{t, s}, err
}

// holds reports whether a committed value holds the text.
func (s *spy) holds(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.committed {
		if bytes.Contains(v, []byte(text)) {
			return true
		}
	}
	return false
}

type spyTerm struct {
	registry.Term
	spy *spy
}

func (t spyTerm) Commit(ctx context.Context, writes []registry.Write) error {
	if err := t.Term.Commit(ctx, writes); err != nil {
		return err
	}
	t.spy.mu.Lock()
	defer t.spy.mu.Unlock()
	for _, w := range writes {
		t.spy.committed[w.Path] = w.Value
	}
	return nil
}

// led is a scheduler that leads, over a real file.
type led struct {
	*scheduler.Scheduler
	cluster *fakeCluster
	reg     *spy
	ended   chan error
	stop    context.CancelFunc
}

func (l *led) publish(t *testing.T) { publish(t, l.Scheduler) }

func (l *led) runToEnd(t *testing.T) core.ExecutionView { return runToEnd(t, l.Scheduler) }

func lead(t *testing.T, c *fakeCluster) *led {
	t.Helper()
	return leadWith(t, c, scheduler.Options{})
}

// leadWith takes what else to set.
func leadWith(t *testing.T, c *fakeCluster, opt scheduler.Options) *led {
	t.Helper()
	file := openFile(t)
	if opt.Registry != nil {
		file = opt.Registry
	}
	reg := &spy{Registry: file, committed: map[string][]byte{}}
	opt.Registry, opt.Driver, opt.Core, opt.Advertise = reg, c, core.DefaultOptions(), "test"
	ctx, stop := context.WithCancel(t.Context())
	l := &led{cluster: c, reg: reg, ended: make(chan error, 1), stop: stop, Scheduler: scheduler.New(opt)}
	go func() { l.ended <- l.Lead(ctx) }()
	t.Cleanup(func() {
		stop()
		<-l.ended
		l.ended <- nil
	})
	eventually(t, "leading", func() bool { return l.Health().Leading })
	return l
}

func openFile(t *testing.T) registry.Registry {
	t.Helper()
	file, err := embedded.Open(filepath.Join(t.TempDir(), "registry.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("it never came true: %s", what)
		case <-tick.C:
		}
	}
}

func publish(t *testing.T, l *scheduler.Scheduler) {
	t.Helper()
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount = "my_app", "http://127.0.0.1/p.tar", "run", 0.1
	if _, err := l.RegisterApp(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "my_job", "my_app", jobs.Transient, 3, 0.1, 32
	if _, err := l.RegisterJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

func runToEnd(t *testing.T, l *scheduler.Scheduler) core.ExecutionView {
	t.Helper()
	id, err := l.Trigger(t.Context(), "my_job", "")
	if err != nil {
		t.Fatal(err)
	}
	var v core.ExecutionView
	eventually(t, "the execution ends", func() bool {
		v, err = l.Execution(t.Context(), id)
		return err == nil && v.State != core.Waiting && v.State != core.Running
	})
	return v
}

// triggers runs the job, without a look at how it ends.
func (l *led) triggers(t *testing.T) {
	t.Helper()
	if _, err := l.Trigger(t.Context(), "my_job", ""); err != nil {
		t.Fatal(err)
	}
}

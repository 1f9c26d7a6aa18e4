package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/test/buffer"
	"github.com/elasticjob-go/elasticjob/test/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a scheduler with a registry and a cluster that do as a test says, all in a synctest bubble.
type stage struct {
	*scheduler.Scheduler
	opt      scheduler.Options
	registry *scriptedRegistry
	cluster  *scriptedCluster
	diary    *diary
	log      *logged
	stop     context.CancelFunc
	ended    chan error // receives the result of Lead or Stand
	end      func()     // stops, and waits for that
}

// onStage plays a test with a scheduler that set, if not nil, has prepared.
func onStage(t *testing.T, set func(*stage), play func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.cluster.agent = true
		if set != nil {
			set(s)
		}
		s.Scheduler = scheduler.New(s.opt)
		defer func() { s.end() }()
		play(t, s)
	})
}

// leading is onStage with a scheduler that leads and has an app and a job of three shards.
func leading(t *testing.T, set func(*stage), play func(t *testing.T, s *stage)) {
	t.Helper()
	t.Parallel()
	onStage(t, set, func(t *testing.T, s *stage) {
		s.start(t, s.Lead)
		eventually(t, "it leads and is subscribed", func() bool { return s.Health().Subscribed })
		publish(t, s.Scheduler)
		play(t, s)
	})
}

func newStage(t *testing.T) *stage {
	d, log := &diary{names: scenario.NewNames()}, &logged{}
	s := &stage{registry: newRegistry(d), cluster: newCluster(d), diary: d, log: log, stop: func() {}, end: func() {},
		ended: make(chan error, 1)}
	s.opt = scheduler.Options{Registry: s.registry, Driver: s.cluster, Core: step.DefaultOptions(), Advertise: "me:1",
		Random: rand.NewPCG(1, 2),
		Logger: slog.New(slog.NewTextHandler(log, nil)), Point: d.note}
	return s
}

// start runs Lead or Stand until it is stopped.
func (s *stage) start(t *testing.T, lead func(context.Context) error) {
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.ended <- lead(ctx)
	}()
	s.end = func() {
		cancel()
		<-done
	}
}

// another returns a second scheduler with the same registry and cluster.
func (s *stage) another(who string) *stage {
	other := *s
	other.opt.Advertise, other.opt.Random = who, rand.NewPCG(3, 4)
	other.Scheduler, other.ended = scheduler.New(other.opt), make(chan error, 1)
	return &other
}

// eventually waits, in the bubble's time, until ok is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 5*time.Minute; {
		synctest.Wait()
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never came true: %s", what)
}

func publish(t *testing.T, l *scheduler.Scheduler) {
	t.Helper()
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount = "my_app", "http://127.0.0.1/p.tar", "run", 0.1
	if _, err := l.RegisterApp(t.Context(), explain.All(), a); err != nil {
		t.Fatal(err)
	}
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = "my_job", "my_app",
		jobs.Transient, 3, 0.1, 32
	if _, err := l.RegisterJob(t.Context(), explain.All(), j); err != nil {
		t.Fatal(err)
	}
}

// runToEnd triggers the job and waits for the execution's end.
func runToEnd(t *testing.T, l *scheduler.Scheduler) views.ExecutionView {
	t.Helper()
	id, err := l.Trigger(t.Context(), explain.All(), "my_job", "")
	if err != nil {
		t.Fatal(err)
	}
	var v views.ExecutionView
	eventually(t, "the execution ends", func() bool {
		v, err = see(t.Context(), l, explain.Reader.Execution, id)
		return err == nil && v.State != executions.Waiting && v.State != executions.Running
	})
	return v
}

// see returns the scheduler's view of an object with a scope of all apps; list does so for lists.
func see[A, V any](
	ctx context.Context, s *scheduler.Scheduler, say func(explain.Reader, A) (V, error), of A,
) (v V, err error) {
	err = s.Read(ctx, explain.All(), func(r explain.Reader) (err error) {
		v, err = say(r, of)
		return err
	})
	return v, err
}

func list[V any](ctx context.Context, s *scheduler.Scheduler, say func(explain.Reader) []V) ([]V, error) {
	return see(ctx, s, func(r explain.Reader, _ struct{}) ([]V, error) { return say(r), nil }, struct{}{})
}

// refused returns the error of a request as an *Error of the scheduler, or nil.
func refused(err error) *problem.Error {
	var e *problem.Error
	errors.As(err, &e)
	return e
}

// diary records events in order. Random ids are replaced by words.
type diary struct {
	mu    sync.Mutex
	names *scenario.Names
	out   strings.Builder // for scenarios
	lines []string
}

func (d *diary) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := d.names.InWords(fmt.Sprintf(format, args...))
	d.lines = append(d.lines, line)
	d.out.WriteString(line + "\n")
}

// note adds a line that scenarios do not show.
func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) inWords(text string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names.InWords(text)
}

func (d *diary) called(id, prefix string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names.Called(id, prefix)
}

// all returns all lines.
func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// count returns the number of lines with a prefix.
func (d *diary) count(prefix string) (n int) {
	for _, line := range d.all() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// logged is a log that tests can read.
type logged struct{ buffer.Locked }

func (l *logged) has(text string) bool { return l.count(text) > 0 }

func (l *logged) count(text string) int { return strings.Count(l.String(), text) }

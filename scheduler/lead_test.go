package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// election gives the lead to one after the other, in one process.
type election struct {
	registry.Registry
	seat chan struct{} // holds one token while somebody leads
	log  *diary
}

type seatedTerm struct {
	registry.Term
	e     *election
	leave func()
}

func newElection(t *testing.T, log *diary) *election {
	return &election{Registry: openFile(t), seat: make(chan struct{}, 1), log: log}
}

func (e *election) Campaign(ctx context.Context, who string) (registry.Term, error) {
	select {
	case e.seat <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave := sync.OnceFunc(func() { <-e.seat })
	term, err := e.Registry.Campaign(ctx, who)
	if err != nil {
		leave()
		return nil, err
	}
	return seatedTerm{term, e, leave}, nil
}

func (t seatedTerm) Resign(ctx context.Context) error {
	t.e.log.add("resign")
	err := t.Term.Resign(ctx)
	t.leave()
	return err
}

// diary remembers what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(line string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// stand makes a scheduler that stands for election until stop.
func stand(t *testing.T, reg registry.Registry, c *fakeCluster, who string) (s *scheduler.Scheduler, stop func() error) {
	t.Helper()
	s = scheduler.New(scheduler.Options{Registry: reg, Driver: c, Core: core.DefaultOptions(), Advertise: who})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Stand(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return s, stop
}

func TestTheLeadIsHandedOver(t *testing.T) {
	t.Parallel()
	log := &diary{}
	reg, c := newElection(t, log), &fakeCluster{onCall: func(_ context.Context, name string) { log.add(name) }}
	first, stopFirst := stand(t, reg, c, "first:1")
	eventually(t, "the first one leads", func() bool { return first.Health().Subscribed })
	second, _ := stand(t, reg, c, "second:2")
	publish(t, first)
	runToEnd(t, first)
	if l, ok := second.Leader(); !ok || l.Address != "first:1" || l.Self || second.Health().Leading {
		t.Fatalf("the second one sees %+v, %v", l, ok)
	}
	before := time.Now()
	if err := stopFirst(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second one leads", func() bool { return second.Health().Leading })
	if took := time.Since(before); took > 500*time.Millisecond {
		t.Errorf("the hand-over took %s", took)
	}
	lines := log.all()
	if at := slices.Index(lines, "resign"); at < 1 || lines[at-1] != "close" || slices.Contains(lines[:at-1], "close") {
		t.Errorf("want the session closed right before resigning and no call between: %q", lines)
	}
	eventually(t, "the second one knows that it leads", func() bool {
		l, ok := second.Leader()
		return ok && l.Self && l.Address == "second:2" && l.Term == 2
	})
	if v := runToEnd(t, second); v.State != core.Finished {
		t.Errorf("%+v", v)
	}
	if _, err := first.Jobs(t.Context()); err == nil {
		t.Error("the first one still answers")
	}
}

func TestItStandsForElectionAgainAfterItsTerm(t *testing.T) {
	t.Parallel()
	reg := newElection(t, nil)
	s, _ := stand(t, reg, &fakeCluster{}, "one:1")
	eventually(t, "leading", func() bool { return s.Health().Leading })
	publish(t, s)
	other, err := reg.Registry.Campaign(t.Context(), "other:2") // deposes
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "leading again", func() bool {
		l, ok := s.Leader()
		return ok && l.Self && l.Term > other.Number()
	})
	if v := runToEnd(t, s); v.State != core.Finished {
		t.Errorf("%+v", v)
	}
}

// failingRegistry is a registry whose Campaign only fails.
type failingRegistry struct {
	registry.Registry
	errs chan error
}

func (r failingRegistry) Campaign(context.Context, string) (registry.Term, error) {
	return nil, <-r.errs
}

func TestOnlyAnUnusableRegistryEndsIt(t *testing.T) {
	t.Parallel()
	r := failingRegistry{openFile(t), make(chan error, 3)}
	r.errs <- errors.New("no connection")
	r.errs <- errors.New("no connection yet")
	r.errs <- fmt.Errorf("%w: no permission", registry.ErrUnusable)
	s := scheduler.New(scheduler.Options{Registry: r, Core: core.DefaultOptions()})
	if err := s.Stand(t.Context()); !errors.Is(err, registry.ErrUnusable) || len(r.errs) > 0 {
		t.Fatalf("%v, with %d tries left", err, len(r.errs))
	}
}

// short is a registry that lets everybody lead and refuses every commit.
type short struct {
	registry.Registry
	campaigns int
}

type shortTerm struct{ registry.Term }

func (r *short) Campaign(context.Context, string) (registry.Term, error) {
	r.campaigns++
	return shortTerm{}, nil
}
func (*short) Leader() (registry.Leader, bool) { return registry.Leader{}, false }

func (shortTerm) Number() int64                                          { return 1 }
func (shortTerm) Done() <-chan struct{}                                  { return nil }
func (shortTerm) Changed() <-chan string                                 { return nil }
func (shortTerm) Resign(context.Context) error                           { return nil }
func (shortTerm) List(context.Context, string) ([]registry.Entry, error) { return nil, nil }
func (shortTerm) Commit(context.Context, []registry.Write) error {
	return errors.New("ZooKeeper gives no permission")
}

func TestTermsThatEndAtOnceComeMoreAndMoreSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &short{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := scheduler.New(scheduler.Options{Registry: r, Core: core.DefaultOptions()}).Stand(ctx); err != nil {
			t.Fatal(err)
		}
		if r.campaigns < 10 || r.campaigns > 40 {
			t.Errorf("it led %d times in a minute", r.campaigns)
		}
	})
}

func count(lines []string, line string) int {
	return len(slices.DeleteFunc(lines, func(l string) bool { return l != line }))
}

func TestReconcileIsAskedForOnceInTenSeconds(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	log := &diary{}
	c := &fakeCluster{onCall: func(_ context.Context, name string) { log.add(name) }}
	l := leadWith(t, c, scheduler.Options{Clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	eventually(t, "it was asked at the subscription", func() bool { return count(log.all(), "reconcile") > 0 })
	before := count(log.all(), "reconcile")
	if err := l.Reconcile(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is asked", func() bool { return count(log.all(), "reconcile") == before+1 })
	var e *core.Error
	if err := l.Reconcile(t.Context(), true); !errors.As(err, &e) || e.Kind != core.TooSoon || e.RetryAfter != 10*time.Second {
		t.Fatalf("%v", err)
	}
	mu.Lock()
	now = now.Add(10 * time.Second)
	mu.Unlock()
	if err := l.Reconcile(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

// TestPointsArePassed: a test that arms one gets there.
func TestPointsArePassed(t *testing.T) {
	t.Parallel()
	log := &diary{}
	c := &fakeCluster{hold: true}
	l := leadWith(t, c, scheduler.Options{Point: log.add})
	l.publish(t)
	if _, err := l.Trigger(t.Context(), "my_job", ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool {
		tasks, err := l.RunningTasks(t.Context())
		return err == nil && len(tasks) == 3 && tasks[0].State == core.Running
	})
	if _, err := l.SetJobDisabled(t.Context(), "my_job", true); err != nil {
		t.Fatal(err)
	}
	eventually(t, "kills leave", func() bool { return slices.Contains(log.all(), "before-kill") })
	l.stop()
	<-l.ended
	l.ended <- nil
	lines := log.all()
	for _, name := range scheduler.Points() {
		if !slices.Contains(lines, name) {
			t.Errorf("%s was not passed", name)
		}
	}
	if lines[0] != "term-begun" || lines[len(lines)-1] != "before-resign" {
		t.Errorf("from %s to %s", lines[0], lines[len(lines)-1])
	}
	if i, j := slices.Index(lines, "before-commit"), slices.Index(lines, "before-accept"); i < 0 || j < i || !strings.HasPrefix(lines[i+1], "after-commit") {
		t.Errorf("%q", lines)
	}
}

var _ cluster.Driver = (*fakeCluster)(nil)

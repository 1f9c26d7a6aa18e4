package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// TestT2NoCallOfADeposedLeaderLeaves: what a leader has committed and not yet sent when its term ends stays unsent,
// also when its loop hangs in a commit meanwhile: the next leader has read what was committed, and its calls and these
// would contradict each other.
func TestT2NoCallOfADeposedLeaderLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, point string
		hold        bool // tasks run on
		lead        func(*testing.T, *led)
	}{
		{call: "accept", point: "before-accept", lead: func(t *testing.T, l *led) {
			l.publish(t)
			l.triggers(t)
		}},
		{call: "acknowledge", point: "before-ack", lead: func(t *testing.T, l *led) {
			l.publish(t)
			l.triggers(t)
		}},
		{call: "kill", point: "before-kill", hold: true, lead: func(t *testing.T, l *led) {
			l.publish(t)
			l.triggers(t)
			synctest.Wait()
			if _, err := l.SetJobDisabled(t.Context(), "my_job", true); err != nil {
				t.Fatal(err)
			}
		}},
		{call: "subscribe", point: "before-subscribe", lead: func(t *testing.T, l *led) { l.publish(t) }},
	} {
		t.Run(c.call, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &deposition{point: c.point, awake: make(chan struct{})}
				reg := &gated{Registry: openFile(t)}
				l := leadWith(t, &fakeCluster{hold: c.hold, onCall: d.left, onSubscribe: d.left}, scheduler.Options{Registry: reg, Point: d.reached})
				c.lead(t, l)
				synctest.Wait()
				// The process sleeps: a commit hangs, and the call stands before its leaving.
				open := reg.shut()
				defer open()
				asked := make(chan struct{})
				go func() {
					defer close(asked)
					_, _ = l.SetJobDisabled(t.Context(), "my_job", false)
					_, _ = l.Trigger(t.Context(), "my_job", "")
				}()
				synctest.Wait()
				if _, err := reg.Registry.Campaign(t.Context(), "the next one"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				d.deposed()
				synctest.Wait()
				open()
				<-asked
				if left := d.all(); len(left) > 0 {
					t.Errorf("after the end of the term there left %q", left)
				}
			})
		})
	}
}

// deposition holds a leader at a point until it is deposed, and notes which calls leave after that.
type deposition struct {
	point string
	awake chan struct{} // closed when the leader is deposed

	mu    sync.Mutex
	ended bool
	calls []string
}

func (d *deposition) reached(point string) {
	if point == d.point {
		<-d.awake
	}
}

// left notes a call whose context is still good: any other one goes nowhere.
func (d *deposition) left(ctx context.Context, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended && ctx.Err() == nil && name != "close" {
		d.calls = append(d.calls, name)
	}
}

func (d *deposition) deposed() {
	d.mu.Lock()
	d.ended = true
	d.mu.Unlock()
	close(d.awake)
}

func (d *deposition) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// TestT2ADeposedLeaderSendsNothing: calls that wait when the term ends are dropped, also while
// the loop is busy.
func TestT2ADeposedLeaderSendsNothing(t *testing.T) {
	t.Parallel()
	log := &diary{}
	c := &fakeCluster{onCall: func(ctx context.Context, name string) {
		log.add(name)
		if name == "acknowledge" {
			<-ctx.Done() // the master is silent
		}
	}}
	l := lead(t, c)
	l.publish(t)
	l.runToEnd(t)
	eventually(t, "all call queues wait", func() bool { return count(log.all(), "acknowledge") == 4 })
	if _, err := l.reg.Campaign(t.Context(), "the next one"); err != nil {
		t.Fatal(err)
	}
	if err := <-l.ended; !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("ended with %v", err)
	}
	l.ended <- nil
	if n := count(log.all(), "acknowledge"); n != 4 {
		t.Errorf("%d acknowledgements left, 2 of them after the term", n)
	}
}

func TestT2ADeposedLeaderStops(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	if _, err := l.reg.Campaign(t.Context(), "the next one"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Trigger(t.Context(), "my_job", ""); err == nil {
		t.Fatal("a deposed leader accepted a trigger")
	}
	select {
	case err := <-l.ended:
		if !errors.Is(err, registry.ErrTermEnded) {
			t.Fatalf("ended with %v, want one that says that the term ended", err)
		}
		l.ended <- nil
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

// guarded is a registry with a node that may not be written.
type guarded struct{ registry.Registry }

func (r guarded) Campaign(ctx context.Context, who string) (registry.Term, error) {
	t, err := r.Registry.Campaign(ctx, who)
	return guardedTerm{t}, err
}

type guardedTerm struct{ registry.Term }

func (t guardedTerm) Commit(ctx context.Context, writes []registry.Write) error {
	if slices.ContainsFunc(writes, func(w registry.Write) bool { return w.Path == "/config/app/guarded" }) {
		return errors.New("no permission")
	}
	return t.Term.Commit(ctx, writes)
}

// TestT2ARefusedChangeEndsNoTerm: neither a fence refused it nor a session ended.
func TestT2ARefusedChangeEndsNoTerm(t *testing.T) {
	t.Parallel()
	l := leadWith(t, &fakeCluster{}, scheduler.Options{Registry: guarded{openFile(t)}})
	l.publish(t)
	a, err := l.App(t.Context(), "my_app")
	if err != nil {
		t.Fatal(err)
	}
	a.Config.AppName = "guarded"
	var e *core.Error
	if _, err := l.RegisterApp(t.Context(), a.Config); !errors.As(err, &e) || e.Kind != core.Unavailable || !strings.Contains(e.Message, "no permission") {
		t.Errorf("%v", err)
	}
	if v := l.runToEnd(t); v.State != core.Finished {
		t.Errorf("%+v", v)
	}
}

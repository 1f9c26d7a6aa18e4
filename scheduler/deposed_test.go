package scheduler_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/elasticjob-go/elasticjob/scheduler"
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

// triggers runs the job, without a look at how it ends.
func (l *led) triggers(t *testing.T) {
	t.Helper()
	if _, err := l.Trigger(t.Context(), "my_job", ""); err != nil {
		t.Fatal(err)
	}
}

// deposition holds a leader at a point until it is deposed, and notes which calls leave after that.
type deposition struct {
	point string
	awake chan struct{} // closed when the leader is deposed

	mu    sync.Mutex
	over  bool
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
	if d.over && ctx.Err() == nil && name != "close" {
		d.calls = append(d.calls, name)
	}
}

func (d *deposition) deposed() {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	close(d.awake)
}

func (d *deposition) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

package scheduler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// gated is a registry whose commits wait while the gate is shut.
type gated struct {
	registry.Registry
	mu   sync.Mutex
	gate chan struct{}
}

func (r *gated) Campaign(ctx context.Context, who string) (registry.Term, error) {
	t, err := r.Registry.Campaign(ctx, who)
	return gatedTerm{t, r}, err
}

// shut makes commits wait until open.
func (r *gated) shut() (open func()) {
	gate := make(chan struct{})
	set := func(g chan struct{}) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.gate = g
	}
	set(gate)
	return sync.OnceFunc(func() {
		set(nil)
		close(gate)
	})
}

type gatedTerm struct {
	registry.Term
	r *gated
}

func (t gatedTerm) Commit(ctx context.Context, writes []registry.Write) error {
	t.r.mu.Lock()
	gate := t.r.gate
	t.r.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return t.Term.Commit(ctx, writes)
}

// TestASlowCommitKeepsNobodyWaiting: requests that only read the process's own state are answered at once; a request that
// still waits for the gate when the term ends was certainly not done.
func TestASlowCommitKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	reg := &gated{Registry: openFile(t)}
	l := leadWith(t, &fakeCluster{}, scheduler.Options{Registry: reg})
	l.publish(t)
	l.runToEnd(t)
	if st := l.Stats(); st.Apps != 1 || st.Triggers != 1 || st.TasksFinished != 3 {
		t.Fatalf("%+v", st)
	}
	commits := l.Stats().Commits
	open := reg.shut()
	defer open()
	slow := make(chan error, 1)
	go func() {
		_, err := l.Trigger(t.Context(), "my_job", "")
		slow <- err
	}()
	eventually(t, "the commit is under way", func() bool { return l.Stats().Commits > commits })
	for range 3 {
		begin := time.Now()
		if st := l.Stats(); time.Since(begin) > time.Second || !st.Leading || !st.Subscribed || st.Apps != 1 || st.Triggers != 1 || st.Term != 1 {
			t.Fatalf("after %s: %+v", time.Since(begin), st)
		}
	}
	waits := make(chan error, 1)
	go func() {
		_, err := l.Trigger(t.Context(), "my_job", "")
		waits <- err
	}()
	l.stop()
	open()
	if err := <-slow; err != nil {
		t.Errorf("what was under way: %v", err)
	}
	var e *core.Error
	if err := <-waits; !errors.As(err, &e) || e.Kind != core.Unavailable {
		t.Errorf("what waited: %v", err)
	}
}

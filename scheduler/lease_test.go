package scheduler

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// slowTerm is a term whose confirmation takes a while. It records when each began.
type slowTerm struct {
	registry.Term
	takes time.Duration
	err   error

	mu    sync.Mutex
	began []time.Time
}

func (t *slowTerm) Confirm(context.Context) error {
	t.mu.Lock()
	t.began = append(t.began, time.Now())
	t.mu.Unlock()
	time.Sleep(t.takes)
	return t.err
}

// TestConfirmer checks that each call is answered by a read that began after it, that one read answers many calls, and
// that reads keep their distance.
func TestConfirmer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		takes time.Duration
		calls []time.Duration // when the calls are made
		reads []time.Duration // when reads begin
		err   error
	}{
		"one call":                       {0, []time.Duration{0}, []time.Duration{0}, nil},
		"many calls at once":             {0, []time.Duration{0, 0, 0, 100, 200}, []time.Duration{0, 1000}, nil},
		"calls during a read":            {300, []time.Duration{0, 100, 200}, []time.Duration{0, 1000}, nil},
		"calls during a read of seconds": {3000, []time.Duration{0, 100, 2900}, []time.Duration{0, 3000}, nil},
		"calls far apart":                {0, []time.Duration{0, 5000}, []time.Duration{0, 5000}, nil},
		"the term has ended":             {0, []time.Duration{0, 100}, []time.Duration{0, 1000}, registry.ErrTermEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				term := &slowTerm{takes: test.takes * time.Millisecond, err: test.err}
				c := newConfirmer(term)
				began := time.Now()
				var all sync.WaitGroup
				for _, at := range test.calls {
					all.Go(func() {
						time.Sleep(at * time.Millisecond)
						called := time.Now()
						if err := c.confirm(t.Context()); !errors.Is(err, test.err) {
							t.Errorf("got %v", err)
						}
						term.mu.Lock()
						defer term.mu.Unlock()
						for _, read := range term.began {
							if !read.Before(called) {
								return
							}
						}
						t.Errorf("no read began after the call at %s", called.Sub(began))
					})
				}
				all.Wait()
				if len(term.began) != len(test.reads) {
					t.Fatalf("%d reads, want %d", len(term.began), len(test.reads))
				}
				for i, want := range test.reads {
					if at := term.began[i].Sub(began); i > 0 && at != want*time.Millisecond {
						t.Errorf("read %d began at %s", i, at)
					}
				}
			})
		})
	}
}

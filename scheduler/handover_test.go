package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// logged is a log that can be looked into.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) has(text string) bool { return l.count(text) > 0 }

func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// stopping ends the lead at its first passing of a point.
func stopping(t *testing.T, point string) (l *led) {
	t.Helper()
	var stop atomic.Pointer[context.CancelFunc]
	l = leadWith(t, &fakeCluster{}, scheduler.Options{Point: func(name string) {
		if end := stop.Load(); end != nil && name == point {
			(*end)()
		}
	}})
	l.publish(t)
	eventually(t, "it has nothing to do", func() bool { return l.Health().Subscribed })
	stop.Store(&l.stop)
	return l
}

// TestWhatACommitMadeIsAnsweredAlsoAtTheEndOfTheTerm: a client must not be asked to try again
// what is done.
func TestWhatACommitMadeIsAnsweredAlsoAtTheEndOfTheTerm(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(*led) (string, error){
		"register": func(l *led) (string, error) {
			a := app.Default()
			a.AppName, a.AppURL, a.BootstrapScript = "new", "http://127.0.0.1/p.tar", "run"
			v, err := l.RegisterApp(t.Context(), a)
			return v.Config.AppName, err
		},
		"disable": func(l *led) (string, error) {
			v, err := l.SetJobDisabled(t.Context(), "my_job", true)
			return fmt.Sprint(v.Config.JobName, v.Disabled), err
		},
		"deregister": func(l *led) (string, error) {
			v, err := l.DeregisterJob(t.Context(), "my_job")
			return v.Config.JobName, err
		},
		"delete": func(l *led) (string, error) {
			v, err := l.DeleteApp(t.Context(), "my_app", true)
			return v.Config.AppName, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 10 {
				l := stopping(t, "config-committed")
				if said, err := request(l); err != nil || said == "" {
					t.Fatalf("%q, %v", said, err)
				}
			}
		})
	}
	t.Run("trigger", func(t *testing.T) {
		t.Parallel()
		for range 10 {
			l := stopping(t, "before-accept")
			if id, err := l.Trigger(t.Context(), "my_job", ""); err != nil || id == "" {
				t.Fatalf("%q, %v", id, err)
			}
		}
	})
}

// quiet is a registry without anything in it, for fake time.
type quiet struct {
	leader   registry.Leader
	resigned chan struct{}
}

type quietTerm struct {
	shortTerm
	r *quiet
}

func (r *quiet) Campaign(ctx context.Context, who string) (registry.Term, error) {
	if r.leader.Address != "" { // somebody leads
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return quietTerm{r: r}, nil
}
func (r *quiet) Leader() (registry.Leader, bool) { return r.leader, r.leader.Address != "" }
func (*quiet) Close() error                      { return nil }

func (quietTerm) Commit(context.Context, []registry.Write) error { return nil }
func (t quietTerm) Resign(context.Context) error {
	close(t.r.resigned)
	return nil
}

// refusing is a cluster that answers SUBSCRIBE with what err gives of the time since the beginning.
type refusing struct {
	fakeCluster
	begin time.Time
	err   func(since time.Duration) error
}

func (c *refusing) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	if err := c.err(time.Since(c.begin)); err != nil {
		return nil, err
	}
	return c.fakeCluster.Subscribe(ctx, f)
}

// TestALeaderThatIsOnlyRefusedAbdicates after a minute, and only then.
func TestALeaderThatIsOnlyRefusedAbdicates(t *testing.T) {
	t.Parallel()
	no := &cluster.Refused{Status: 401, Message: "subscribe at m:5050: 401 Unauthorized (look at --mesos-credentials-file)"}
	for name, c := range map[string]struct {
		most   time.Duration
		err    func(since time.Duration) error
		givesU bool
	}{
		"only refused": {time.Minute, func(time.Duration) error { return fmt.Errorf("subscribe: %w", no) }, true},
		"healed within it": {time.Minute, func(d time.Duration) error {
			if d > 50*time.Second {
				return nil
			}
			return no
		}, false},
		"not there at times": {time.Minute, func(d time.Duration) error {
			if d > 30*time.Second && d < 50*time.Second {
				return errors.New("connection refused")
			}
			if d > 100*time.Second {
				return nil
			}
			return no
		}, false},
		"not ready":  {time.Minute, func(time.Duration) error { return &cluster.Refused{Status: 503, Message: "recovering"} }, false},
		"not wanted": {0, func(time.Duration) error { return no }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &quiet{resigned: make(chan struct{})}
				driver := &refusing{begin: time.Now(), err: c.err}
				s := scheduler.New(scheduler.Options{Registry: r, Driver: driver, Core: core.DefaultOptions(), RefusedMost: c.most})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				err := s.Stand(ctx)
				took := time.Since(driver.begin)
				if !c.givesU {
					if err != nil || took < 5*time.Minute {
						t.Errorf("ended after %s: %v", took, err)
					}
					return
				}
				if !errors.Is(err, scheduler.ErrRefused) || !strings.Contains(err.Error(), "--mesos-credentials-file") || took < time.Minute || took > 80*time.Second {
					t.Errorf("ended after %s: %v", took, err)
				}
				select {
				case <-r.resigned:
				default:
					t.Error("the leader did not abdicate")
				}
			})
		})
	}
}

// relay is a registry for whose first term there may be a standby; it has no second term.
type relay struct {
	quiet
	standby bool
	terms   int
}

type relayTerm struct {
	quietTerm
	standby bool
}

func (t relayTerm) Standby(context.Context) bool { return t.standby }

func (r *relay) Campaign(ctx context.Context, _ string) (registry.Term, error) {
	if r.terms++; r.terms > 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return relayTerm{quietTerm{r: &r.quiet}, r.standby}, nil
}

// TestALeaderWithoutAClusterStepsDown: it makes room for a standby, and stands for election again.
func TestALeaderWithoutAClusterStepsDown(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		standby bool
		err     func(since time.Duration) error
		makes   bool
	}{
		"there is a standby":  {true, func(time.Duration) error { return away }, true},
		"there is no standby": {false, func(time.Duration) error { return away }, false},
		"it is back in time": {true, func(d time.Duration) error {
			if d > 2*time.Minute {
				return nil
			}
			return away
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &relay{quiet: quiet{resigned: make(chan struct{})}, standby: c.standby}
				driver := &refusing{begin: time.Now(), err: c.err}
				s := scheduler.New(scheduler.Options{Registry: r, Driver: driver, Core: core.DefaultOptions()})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				go func() {
					select {
					case <-r.resigned:
						if took := time.Since(driver.begin); ctx.Err() == nil && (!c.makes || took < 3*time.Minute || took > 4*time.Minute) {
							t.Errorf("made way after %s", took)
						}
					case <-t.Context().Done():
					}
				}()
				if err := s.Stand(ctx); err != nil {
					t.Error(err)
				}
				if again := r.terms == 2; again != c.makes {
					t.Errorf("%d terms", r.terms)
				}
			})
		})
	}
}

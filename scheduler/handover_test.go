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

// TestWhatACommitMadeIsAnsweredAlsoAtTheEndOfTheTerm: a client must not be told to try again
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

// gated is a registry whose commits wait while the gate is shut.
type gated struct {
	registry.Registry
	mu   sync.Mutex
	gate chan struct{}
}

type gatedTerm struct {
	registry.Term
	r *gated
}

func (r *gated) Campaign(ctx context.Context, who string) (registry.Term, error) {
	t, err := r.Registry.Campaign(ctx, who)
	return gatedTerm{t, r}, err
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

// TestASlowCommitKeepsNobodyWaiting who only asks how it goes; and what waits for its turn
// when the term ends was certainly not done.
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
	var e *scheduler.Error
	if err := <-waits; !errors.As(err, &e) || e.Kind != scheduler.Unavailable {
		t.Errorf("what waited: %v", err)
	}
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

// TestALeaderThatIsOnlyRefusedGivesUp after a minute, and only then.
func TestALeaderThatIsOnlyRefusedGivesUp(t *testing.T) {
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
				s := scheduler.New(scheduler.Options{Registry: r, Driver: driver, Core: scheduler.DefaultCoreOptions(), RefusedMost: c.most})
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
					t.Error("the lead was not given up")
				}
			})
		})
	}
}

// relay is a registry whose first term somebody may stand by for; there is no second.
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

// TestALeaderWithoutAClusterMakesWay for one who stands by, and stands for election again.
func TestALeaderWithoutAClusterMakesWay(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		standby bool
		err     func(since time.Duration) error
		makes   bool
	}{
		"somebody stands by": {true, func(time.Duration) error { return away }, true},
		"nobody stands by":   {false, func(time.Duration) error { return away }, false},
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
				s := scheduler.New(scheduler.Options{Registry: r, Driver: driver, Core: scheduler.DefaultCoreOptions()})
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

// TestItsOwnAddressLeads: told as what it likely is, and not as if another server were found there.
func TestItsOwnAddressLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		r := &quiet{leader: registry.Leader{Term: 4, Address: "me:1", Since: time.Now()}}
		s := scheduler.New(scheduler.Options{Registry: r, Core: scheduler.DefaultCoreOptions(), Advertise: "me:1", Logger: log.logger()})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Stand(ctx) }()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !log.has("an earlier run of it") || log.has("--advertise") || !strings.Contains(s.Health().Detail, "--advertise") {
			t.Errorf("after 5 s: %s; %+v", log.text.String(), s.Health())
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if log.count("an earlier run of it") != 1 || log.count("the same --advertise") != 1 || log.has("self=true") {
			t.Errorf("after 5 minutes: %s", log.text.String())
		}
		cancel()
		<-ended
	})
}

// TestALeaderTellsThatItIsIt, and says nothing of itself as of another.
func TestALeaderTellsThatItIsIt(t *testing.T) {
	t.Parallel()
	log := &logged{}
	s := scheduler.New(scheduler.Options{Registry: openFile(t), Driver: &fakeCluster{}, Core: scheduler.DefaultCoreOptions(), Advertise: "me:1", Logger: log.logger()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Stand(ctx) }()
	eventually(t, "it is told", func() bool { return log.has(`msg="who leads" self=true address=me:1`) })
	cancel()
	<-ended
	if log.has("self=false") {
		t.Error(log.text.String())
	}
}

// TestNobodyLeads is told with what this server knows of it.
func TestNobodyLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		s := scheduler.New(scheduler.Options{Registry: nobody{}, Core: scheduler.DefaultCoreOptions(), Advertise: "me:1", Logger: log.logger()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Stand(ctx); err != nil || log.count("still nobody is known to lead") != 1 || !log.has("ZooKeeper is away") {
			t.Errorf("%v: %s", err, log.text.String())
		}
	})
}

// nobody is a registry that can't be reached.
type nobody struct{ registry.Registry }

func (nobody) Campaign(ctx context.Context, _ string) (registry.Term, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (nobody) Leader() (registry.Leader, bool) { return registry.Leader{}, false }
func (nobody) Trouble() error                  { return errors.New("ZooKeeper is away") }

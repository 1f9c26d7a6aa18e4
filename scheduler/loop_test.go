package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/embedded"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCluster is a driver whose one agent runs every task at once.
type fakeCluster struct {
	mu       sync.Mutex
	sessions []*fakeSession
	// refuse makes the next SUBSCRIBEs fail.
	refuse []error
	// lose makes the next ACCEPT's outcome unknown: it is never answered.
	lose bool
	// onAccept sees each ACCEPT.
	onAccept func(cluster.Accept)
	// onCall, if set, sees each call that leaves and each session's end, by name; it may wait.
	onCall func(ctx context.Context, name string)
	// onSubscribe, if set, sees each SUBSCRIBE that leaves.
	onSubscribe func(ctx context.Context, name string)
	// hold keeps tasks running.
	hold     bool
	launched []cluster.TaskLaunch
	acked    int
}

type fakeSession struct {
	c      *fakeCluster
	events chan cluster.Event
	offers int
	mu     sync.Mutex
	closed bool
}

func (c *fakeCluster) Subscribe(ctx context.Context, f cluster.Framework) (cluster.Session, error) {
	if c.onSubscribe != nil {
		c.onSubscribe(ctx, "subscribe")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.ID == "" {
		return nil, errors.New("subscribed without a framework id")
	}
	if len(c.refuse) > 0 {
		err := c.refuse[0]
		c.refuse = c.refuse[1:]
		return nil, err
	}
	s := &fakeSession{c: c, events: make(chan cluster.Event, 10_000)}
	c.sessions = append(c.sessions, s)
	s.events <- cluster.Subscribed{FrameworkID: f.ID, MasterID: "m"}
	s.offer()
	return s, nil
}

// offer puts the whole agent on offer; the caller holds the lock, or nobody else knows s.
func (s *fakeSession) offer() {
	s.offers++
	s.tell(cluster.Offers{Offers: []cluster.Offer{{
		ID: fmt.Sprintf("O%d", s.offers), AgentID: "S1", Hostname: "h1", AgentURL: "http://h1:5051",
		Resources: resources.Amount{CPUMilli: 8000, MemMilli: 8_192_000},
	}}})
}

func (s *fakeSession) tell(e cluster.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.events <- e
	}
}

func (s *fakeSession) Events() <-chan cluster.Event { return s.events }
func (s *fakeSession) Err() error                   { return errors.New("closed") }

func (s *fakeSession) call(ctx context.Context, name string) {
	if s.c.onCall != nil {
		s.c.onCall(ctx, name)
	}
}

func (s *fakeSession) Accept(ctx context.Context, a cluster.Accept) error {
	s.call(ctx, "accept")
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.onAccept != nil {
		c.onAccept(a)
	}
	if c.lose {
		c.lose = false
		return errors.New("the connection broke")
	}
	c.launched = append(c.launched, a.Tasks...)
	for _, t := range a.Tasks {
		states := []cluster.State{cluster.Running, cluster.Finished}
		if c.hold {
			states = states[:1]
		}
		for _, state := range states {
			s.tell(cluster.Update{TaskID: t.TaskID, AgentID: a.AgentID, ExecutorID: t.Executor.ID, State: state,
				Source: cluster.FromExecutor, UUID: []byte(string(state) + t.TaskID), Timestamp: time.Now()})
		}
	}
	s.offer()
	return nil
}

func (s *fakeSession) Acknowledge(ctx context.Context, _ cluster.Ack) error {
	s.call(ctx, "acknowledge")
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.acked++
	return nil
}

func (s *fakeSession) Revive(ctx context.Context) error {
	s.call(ctx, "revive")
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.offer()
	return nil
}

func (s *fakeSession) Reconcile(ctx context.Context, tasks []cluster.TaskRef) error {
	s.call(ctx, "reconcile")
	for _, t := range tasks {
		s.tell(cluster.Update{TaskID: t.TaskID, AgentID: t.AgentID, State: cluster.Gone, Source: cluster.FromMaster, Reason: cluster.ReasonReconciliation})
	}
	return nil
}

func (s *fakeSession) Decline(context.Context, []string, time.Duration) error { return nil }
func (s *fakeSession) Kill(ctx context.Context, _ cluster.Kill) error {
	s.call(ctx, "kill")
	return nil
}

func (s *fakeSession) Shutdown(_ context.Context, executorID, agentID string) error {
	s.tell(cluster.Failure{AgentID: agentID, ExecutorID: executorID})
	return nil
}
func (s *fakeSession) Suppress(context.Context) error { return nil }
func (s *fakeSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.call(context.Background(), "close")
		close(s.events)
	}
	return nil
}

// spy is a registry that remembers what was committed.
type spy struct {
	registry.Registry
	mu        sync.Mutex
	committed map[string][]byte
}

type spyTerm struct {
	registry.Term
	spy *spy
}

func (s *spy) Campaign(ctx context.Context, who string) (registry.Term, error) {
	t, err := s.Registry.Campaign(ctx, who)
	return spyTerm{t, s}, err
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

// led is a scheduler that leads, over a real file.
type led struct {
	*scheduler.Scheduler
	cluster *fakeCluster
	reg     *spy
	ended   chan error
	stop    context.CancelFunc
}

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
	opt.Registry, opt.Driver, opt.Core, opt.Advertise = reg, c, scheduler.DefaultCoreOptions(), "test"
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

func (l *led) publish(t *testing.T) { publish(t, l.Scheduler) }

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

func (l *led) runToEnd(t *testing.T) scheduler.ExecutionView { return runToEnd(t, l.Scheduler) }

func runToEnd(t *testing.T, l *scheduler.Scheduler) scheduler.ExecutionView {
	t.Helper()
	id, err := l.Trigger(t.Context(), "my_job", "")
	if err != nil {
		t.Fatal(err)
	}
	var v scheduler.ExecutionView
	eventually(t, "the execution ends", func() bool {
		v, err = l.Execution(t.Context(), id)
		return err == nil && v.State != scheduler.Waiting && v.State != scheduler.Running
	})
	return v
}

func TestATriggerRunsToItsEnd(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	if v := l.runToEnd(t); v.State != scheduler.Finished || len(v.Shards) != 3 {
		t.Fatalf("%+v", v)
	}
	eventually(t, "S3: every update is acknowledged", func() bool {
		l.cluster.mu.Lock()
		defer l.cluster.mu.Unlock()
		return l.cluster.acked == 6
	})
	st := l.Stats()
	if st.TasksLaunched != 3 || st.TasksFinished != 3 || st.Triggers != 1 || st.Term != 1 {
		t.Fatalf("%+v", st)
	}
}

func TestL3AnAcceptWithoutAnswerMeansSubscribingAnew(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{lose: true}
	l := lead(t, c)
	l.publish(t)
	v := l.runToEnd(t)
	if v.State != scheduler.Finished {
		t.Fatalf("%+v", v)
	}
	for _, s := range v.Shards {
		if s.Attempt != 2 {
			t.Fatalf("shard %d took %d attempts, want 2: the first ACCEPT was lost, GONE said so", s.Item, s.Attempt)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) != 2 {
		t.Fatalf("%d subscriptions, want 2", len(c.sessions))
	}
}

// Two ACCEPTs that name one executor: if the later one arrived first and the executor ended, the earlier one would
// start it once more, and the scheduler would take it for one that it does not know.
func TestL3AcceptsForOneAgentKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, acceptsKeepTheirOrder)
}

func acceptsKeepTheirOrder(t *testing.T) {
	first, release := make(chan struct{}), make(chan struct{})
	var accepts atomic.Int64
	c := &fakeCluster{hold: true, onCall: func(ctx context.Context, name string) {
		if name == "accept" && accepts.Add(1) == 1 {
			close(first)
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
	}}
	l := lead(t, c)
	l.publish(t)
	other := jobs.Default()
	other.JobName, other.AppName, other.JobExecutionType, other.ShardingTotalCount, other.CPUCount, other.MemoryMB = "other", "my_app", jobs.Transient, 1, 0.1, 32
	if _, err := l.RegisterJob(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Trigger(t.Context(), "my_job", ""); err != nil {
		t.Fatal(err)
	}
	<-first
	id, err := l.Trigger(t.Context(), "other", "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second launch is decided", func() bool {
		v, err := l.Execution(t.Context(), id)
		return err == nil && v.State == scheduler.Running
	})
	synctest.Wait()
	if n := accepts.Load(); n != 1 {
		t.Errorf("%d ACCEPTs have left before the first was answered", n)
	}
	close(release)
	eventually(t, "both are launched, in order", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.launched) == 4 && strings.HasPrefix(c.launched[3].TaskID, "other@-@")
	})
}

func TestT6SubscribesAgainWithBackoff(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{refuse: []error{errors.New("no master"), errors.New("no master yet")}})
	eventually(t, "subscribed", func() bool { return l.Health().Subscribed })
}

func TestT7ARemovedFrameworkIsReplaced(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{refuse: []error{cluster.FrameworkError{Message: "Framework has been removed", Removed: true}}}
	l := lead(t, c)
	l.publish(t)
	if v := l.runToEnd(t); v.State != scheduler.Finished {
		t.Fatalf("%+v", v)
	}
}

func TestWriteThenAct(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{}
	l := lead(t, c)
	var missing []string
	c.onAccept = func(a cluster.Accept) {
		for _, task := range a.Tasks {
			if !l.reg.holds(task.TaskID) {
				missing = append(missing, task.TaskID)
			}
		}
	}
	l.publish(t)
	l.runToEnd(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(missing) > 0 {
		t.Fatalf("launched before it was committed: %q", missing)
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
		if !errors.Is(err, registry.ErrTermOver) {
			t.Fatalf("ended with %v, want one that says that the term is over", err)
		}
		l.ended <- nil
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestT4AConfigConflictIsAnsweredAndEndsNoTerm(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	change := func(desc string) func(jobs.Config) (jobs.Config, error) {
		return func(c jobs.Config) (jobs.Config, error) {
			c.Description = desc
			return c, nil
		}
	}
	if _, err := l.UpdateJob(t.Context(), "my_job", change("one")); err != nil {
		t.Fatal(err)
	}
	v, err := l.UpdateJob(t.Context(), "my_job", change("two"))
	if err != nil || v.Config.Description != "two" {
		t.Fatalf("%+v, %v", v, err)
	}
	refused := errors.New("no")
	if _, err := l.UpdateJob(t.Context(), "my_job", func(jobs.Config) (jobs.Config, error) { return jobs.Config{}, refused }); !errors.Is(err, refused) {
		t.Fatalf("%v, want what the change said", err)
	}
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript = "my_app", "http://127.0.0.1/other.tar", "run"
	var e *scheduler.Error
	if _, err := l.RegisterApp(t.Context(), a); !errors.As(err, &e) || e.Kind != scheduler.Conflict {
		t.Fatalf("%v, want a conflict", err)
	}
	if !l.Health().Leading {
		t.Fatal("the term ended")
	}
}

func TestDrainEndsEverything(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	l.runToEnd(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := l.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Trigger(t.Context(), "my_job", ""); err == nil {
		t.Fatal("a stopping scheduler accepted a trigger")
	}
}

func TestAnIdempotencyKeyGivesTheSameExecution(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	first, err := l.Trigger(t.Context(), "my_job", "key-1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.Trigger(t.Context(), "my_job", "key-1")
	if err != nil || again != first {
		t.Fatalf("%q, %v; want %q again", again, err, first)
	}
}

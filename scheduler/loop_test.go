package scheduler_test

import (
	"context"
	"errors"
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
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestATriggerRunsToItsEnd(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	if v := l.runToEnd(t); v.State != core.Finished || len(v.Shards) != 3 {
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

func TestL3AnAcceptWithoutAnswerMeansSubscribingAgain(t *testing.T) {
	t.Parallel()
	c := &fakeCluster{lose: true}
	l := lead(t, c)
	l.publish(t)
	v := l.runToEnd(t)
	if v.State != core.Finished {
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
		return err == nil && v.State == core.Running
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
	if v := l.runToEnd(t); v.State != core.Finished {
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
	var e *core.Error
	if _, err := l.RegisterApp(t.Context(), a); !errors.As(err, &e) || e.Kind != core.Conflict {
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

// TestT4UpdatesAtTheSameTimeAllHold: each is made of the document that the one before has left, whoever comes first.
func TestT4UpdatesAtTheSameTimeAllHold(t *testing.T) {
	t.Parallel()
	l := lead(t, &fakeCluster{})
	l.publish(t)
	const users = 20
	var asked sync.WaitGroup
	for range users {
		asked.Go(func() {
			_, err := l.UpdateJob(t.Context(), "my_job", func(j jobs.Config) (jobs.Config, error) {
				j.Description += "x"
				return j, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	asked.Wait()
	if v, err := l.Job(t.Context(), "my_job"); err != nil || v.Config.Description != strings.Repeat("x", users) {
		t.Errorf("%q, %v", v.Config.Description, err)
	}
}

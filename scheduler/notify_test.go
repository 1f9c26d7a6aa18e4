package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// people are notified of failures, and record that.
type people struct {
	// answer, if set, returns the outcome of a message; it may wait.
	answer func(ctx context.Context, job string) error

	mu       sync.Mutex
	told     map[string]int // the number of messages by job
	underWay map[string]int // the number of messages that are being sent, by job
	most     int            // the maximum number of messages that were being sent at once
	twice    bool           // two messages of one job were being sent at once
}

func newPeople() *people {
	return &people{told: map[string]int{}, underWay: map[string]int{}}
}

func (p *people) Notify(ctx context.Context, n notifications.Notification) error {
	job := n.Job.JobName
	p.change(func() {
		p.underWay[job]++
		p.twice = p.twice || p.underWay[job] > 1
		at := 0
		for _, k := range p.underWay {
			at += k
		}
		p.most = max(p.most, at)
	})
	defer p.change(func() { p.underWay[job]-- })
	if p.answer != nil {
		if err := p.answer(ctx, job); err != nil {
			return err
		}
	}
	p.change(func() { p.told[job]++ })
	return nil
}

func (p *people) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *people) of(job string) (told int) {
	p.change(func() { told = p.told[job] })
	return told
}

// fail registers a job that notifies people, and runs it.
func fail(t *testing.T, s *stage, name string) {
	t.Helper()
	failOf(t, s, "my_app", name)
}

func failOf(t *testing.T, s *stage, app, name string) {
	t.Helper()
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = name, app, jobs.Transient,
		1, 0.1, 32
	j.JobErrorHandlerType, j.Props = jobs.HandlerWebhook,
		document.Texts{jobs.PropWebhookURL: {Value: "https://h/" + name + "?key=hunter2"}}
	if _, err := s.RegisterJob(t.Context(), explain.All(), j); err != nil {
		t.Fatal(err)
	}
	id, err := s.Trigger(t.Context(), explain.All(), name, "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a run fails", func() bool {
		v, err := see(t.Context(), s.Scheduler, explain.Reader.Execution, id)
		return err == nil && v.State == executions.Failed
	})
}

// TestSlowMessageDelaysNoOtherApp (N2): few messages of an app are under way at once, one of each job, and none
// waits for those of another app.
func TestSlowMessageDelaysNoOtherApp(t *testing.T) {
	p := newPeople()
	p.answer = func(ctx context.Context, job string) error {
		if strings.HasPrefix(job, "bad_slow") {
			<-ctx.Done()
			return fmt.Errorf("too slow: %w", ctx.Err())
		}
		return nil
	}
	leading(t, func(s *stage) { s.cluster.fails, s.opt.Notifier = "bad", p }, func(t *testing.T, s *stage) {
		a := app.Default()
		a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount = "slow_app", "http://127.0.0.1/p.tar", "run", 0.1
		if _, err := s.RegisterApp(t.Context(), explain.All(), a); err != nil {
			t.Fatal(err)
		}
		for n := range 12 {
			failOf(t, s, "slow_app", fmt.Sprint("bad_slow", n))
		}
		began := time.Now()
		for n := range 20 {
			fail(t, s, fmt.Sprint("bad", n))
		}
		synctest.Wait()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("runs end %s late, though nothing is wrong but a message", took)
		}
		for n := range 20 {
			if told := p.of(fmt.Sprint("bad", n)); told != 1 {
				t.Errorf("of job bad%d people are told %d times", n, told)
			}
		}
		eventually(t, "it is logged", func() bool { return s.log.has("too slow") })
		p.change(func() {
			if p.most != 5 || p.twice { // 4 of the slow app, and one of the other
				t.Errorf("%d messages were under way at once, two of one job: %v", p.most, p.twice)
			}
		})
		if s.log.has("hunter2") {
			t.Errorf("a secret is logged: %s", s.log)
		}
	})
}

// TestTheNextLeaderTells (N1): the next leader sends a notification that was not sent when the leader stopped.
func TestTheNextLeaderTells(t *testing.T) {
	first, second := newPeople(), newPeople()
	first.answer = func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return errors.New("cut off")
	}
	leading(t, func(s *stage) { s.cluster.fails, s.opt.Notifier = "bad", first }, func(t *testing.T, s *stage) {
		fail(t, s, "bad")
		s.end()
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		s.opt.Notifier = second
		next := s.another("next:1")
		next.start(t, next.Lead)
		defer func() { next.end() }()
		eventually(t, "people are told", func() bool { return second.of("bad") == 1 })
		time.Sleep(5 * time.Minute) // in the time of the bubble
		if told := second.of("bad"); told != 1 || first.of("bad") != 0 {
			t.Errorf("people are told %d times", told)
		}
	})
}

// TestWithoutANotifier: without a Notifier the log says so, and the runs go on.
func TestWithoutANotifier(t *testing.T) {
	leading(t, func(s *stage) { s.cluster.fails = "bad" }, func(t *testing.T, s *stage) {
		fail(t, s, "bad")
		eventually(t, "it is logged", func() bool { return s.log.has("this server has no notifier") })
	})
}

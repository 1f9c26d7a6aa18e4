package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// TestA1RowsSayWhoAsked: the rows of each changing request name its requester.
func TestA1RowsSayWhoAsked(t *testing.T) {
	leading(t, func(s *stage) { s.cluster.holds = true }, func(t *testing.T, s *stage) {
		alice := event.Actor{Name: "alice", Kind: "user", From: "10.0.0.7"}
		ctx := scheduler.WithActor(t.Context(), alice)
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		a, err := see(ctx, s.Scheduler, explain.Reader.App, "my_app")
		do(err)
		a.Config.AppName = "other"
		_, err = s.RegisterApp(ctx, explain.All(), a.Config)
		do(err)
		_, err = s.SetAppDisabled(ctx, explain.All(), "other", true)
		do(err)
		_, err = s.DeleteApp(ctx, explain.All(), "other", false)
		do(err)
		_, err = s.UpdateJob(ctx, explain.All(), "my_job", describe("x"))
		do(err)
		_, err = s.SetJobPaused(ctx, explain.All(), "my_job", true)
		do(err)
		_, err = s.SetJobPaused(ctx, explain.All(), "my_job", false)
		do(err)
		id, err := s.Trigger(ctx, explain.All(), "my_job", "")
		do(err)
		do(s.KillExecution(ctx, explain.All(), id))
		_, err = s.ShutDownJob(ctx, explain.All(), "my_job")
		do(err)
		_, err = s.SetJobDisabled(ctx, explain.All(), "my_job", false)
		do(err)
		do(s.Reconcile(ctx, explain.All(), true))
		_, err = s.DeregisterJob(ctx, explain.All(), "my_job")
		do(err)
		rows, err := see(t.Context(), s.Scheduler, explain.Reader.Audits, search.Audits{Who: "alice", Limit: 100})
		do(err)
		var actions []string
		for _, r := range rows {
			actions = append(actions, r.Action)
			if r.Actor != alice {
				t.Errorf("%+v", r)
			}
		}
		slices.Sort(actions)
		want := []string{"app.delete", "app.disable", "app.register", "cluster.reconcile", "execution.kill",
			"job.delete", "job.enable", "job.pause", "job.resume",
			"job.shutdown", "job.trigger", "job.update"}
		if !slices.Equal(actions, want) {
			t.Errorf("%v, want %v", actions, want)
		}
		if rows, err = see(t.Context(), s.Scheduler, explain.Reader.Audits, search.Audits{Limit: 100}); err != nil ||
			len(rows) != len(want)+2 {
			t.Errorf("%d rows, %v: changes without a requester have rows, too", len(rows), err)
		}
	})
}

// TestA1ARefusedOrRepeatedChangeLeavesNoRow: neither a refused nor a repeated request leaves a row.
func TestA1ARefusedOrRepeatedChangeLeavesNoRow(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		ctx := scheduler.WithActor(t.Context(), event.Actor{Name: "alice"})
		for range 2 {
			if _, err := s.Trigger(ctx, explain.All(), "my_job", "key"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Trigger(ctx, explain.All(), "nosuch", ""); err == nil {
			t.Error("a job that is not there was triggered")
		}
		no := errors.New("no")
		if _, err := s.UpdateJob(ctx, explain.All(), "my_job",
			func(jobs.Config) (jobs.Config, error) { return jobs.Config{}, no }); !errors.Is(err, no) {
			t.Error(err)
		}
		if err := s.KillTask(ctx, explain.All(), "nosuch"); err == nil {
			t.Error("a task that is not there was killed")
		}
		if rows, err := see(ctx, s.Scheduler, explain.Reader.Audits,
			search.Audits{Who: "alice", Limit: 10}); err != nil || len(rows) != 1 || rows[0].Action != "job.trigger" {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}

// outbox keeps rows until they are taken.
type outbox struct {
	mu    sync.Mutex
	rows  []event.Audit
	fails int // number of calls of TakeAudit that fail
	taken int // number of calls of TakeAudit
}

func (o *outbox) put(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = append(o.rows, event.Audit{ID: id, Action: "user.add", Target: "user", TargetName: id})
}

func (o *outbox) PendingAudit() []event.Audit {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.rows)
}

func (o *outbox) TakeAudit(_ context.Context, ids []string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken++; o.taken <= o.fails {
		return errors.New("the registry does not answer")
	}
	o.rows = slices.DeleteFunc(o.rows, func(a event.Audit) bool { return slices.Contains(ids, a.ID) })
	return nil
}

// TestA1RowsOfTheOutboxAreMovedOnce: each leader moves the rows that are there once, and removes no row from the outbox
// before it is committed.
func TestA1RowsOfTheOutboxAreMovedOnce(t *testing.T) {
	o := &outbox{fails: 3}
	o.put("one")
	leading(t, func(s *stage) { s.opt.Audits = o }, func(t *testing.T, s *stage) {
		moved := func(want int) func() bool {
			return func() bool {
				rows, err := see(t.Context(), s.Scheduler, explain.Reader.Audits,
					search.Audits{Target: "user", Limit: 10})
				return err == nil && len(rows) == want && len(o.PendingAudit()) == 0
			}
		}
		eventually(t, "the row is moved, though it could not be taken at first", moved(1))
		if o.taken != 4 {
			t.Errorf("it was taken %d times, want 3 failures and a success", o.taken)
		}
		o.put("two")
		s.end()
		if n := len(o.PendingAudit()); n != 1 {
			t.Fatalf("%d rows wait while nobody leads, want 1", n)
		}
		next := s.another("next:1")
		next.start(t, next.Lead)
		defer next.end()
		s.Scheduler = next.Scheduler
		eventually(t, "the next leader moves the other one", moved(2))
		for _, id := range []string{"one", "two"} {
			if rows, _ := see(t.Context(), s.Scheduler, explain.Reader.Audits,
				search.Audits{TargetName: id, Limit: 10}); len(rows) != 1 {
				t.Errorf("%s is there %d times", id, len(rows))
			}
		}
	})
}

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

func TestATriggerRunsToItsEnd(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		if v := runToEnd(t, s.Scheduler); v.State != executions.Finished || len(v.Shards) != 3 {
			t.Fatalf("%+v", v)
		}
		eventually(t, "S3: every update is acknowledged", func() bool {
			_, acked := s.cluster.count()
			return acked == 6
		})
		if st := s.Stats(); st.TasksLaunched != 3 || st.TasksFinished != 3 || st.Triggers != 1 || st.Term != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestL3AnAcceptWithoutAnswerMeansSubscribingAgain(t *testing.T) {
	var once sync.Once
	leading(t, func(s *stage) {
		s.cluster.onCall = func(_ context.Context, name string) (err error) {
			if name == "ACCEPT" {
				once.Do(func() { err = errors.New("the connection broke") })
			}
			return err
		}
	}, func(t *testing.T, s *stage) {
		v := runToEnd(t, s.Scheduler)
		for _, of := range v.Shards {
			if v.State != executions.Finished || of.Attempt != 2 {
				t.Errorf("shard %d took %d attempts, want 2: the first ACCEPT was lost, GONE said so", of.Item,
					of.Attempt)
			}
		}
		if n, _ := s.cluster.count(); n != 2 {
			t.Errorf("%d subscriptions, want 2", n)
		}
	})
}

// TestFailedSubscriptions: a cluster that cannot be reached is tried again (rule T6), and a removed framework is
// replaced (rule T7).
func TestFailedSubscriptions(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string][]error{
		"T6 away":    {errors.New("no master"), errors.New("no master yet")},
		"T7 removed": {cluster.FrameworkError{Message: "Framework has been removed", Removed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			leading(t, func(s *stage) {
				s.cluster.onSubscribe = func() error {
					if len(fails) == 0 {
						return nil
					}
					err := fails[0]
					fails = fails[1:]
					return err
				}
			}, func(t *testing.T, s *stage) {
				if v := runToEnd(t, s.Scheduler); v.State != executions.Finished {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}

func TestWriteThenAct(t *testing.T) {
	leading(t, func(s *stage) { s.cluster.holds = true }, func(t *testing.T, s *stage) {
		if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is launched", func() bool { return s.diary.count("CALL ACCEPT") == 1 })
		for name, id := range s.cluster.ids {
			if !s.registry.holds(id) {
				t.Errorf("%s is launched and not committed", name)
			}
		}
	})
}

func TestT4ConflictsAreAnsweredAndEndNoTerm(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		for _, text := range []string{"one", "two"} {
			v, err := s.UpdateJob(t.Context(), explain.All(), "my_job", describe(text))
			if err != nil || v.Config.Description != text {
				t.Errorf("%+v, %v", v, err)
			}
		}
		no := errors.New("no")
		if _, err := s.UpdateJob(t.Context(), explain.All(), "my_job",
			func(jobs.Config) (jobs.Config, error) { return jobs.Config{}, no }); !errors.Is(err, no) {
			t.Errorf("%v, want the error of the change", err)
		}
		a, err := see(t.Context(), s.Scheduler, explain.Reader.App, "my_app")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.RegisterApp(t.Context(), explain.All(), a.Config); refused(err) == nil ||
			refused(err).Kind != problem.Conflict {
			t.Errorf("%v, want a conflict", err)
		}
		if !s.Health().Leading {
			t.Error("the term ended")
		}
	})
}

func describe(text string) func(jobs.Config) (jobs.Config, error) {
	return func(c jobs.Config) (jobs.Config, error) {
		c.Description = text
		return c, nil
	}
}

// TestT4UpdatesAtTheSameTimeAllHold: concurrent updates are applied one after the other, and none is lost.
func TestT4UpdatesAtTheSameTimeAllHold(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		const users = 20
		var asked sync.WaitGroup
		for range users {
			asked.Go(func() {
				_, err := s.UpdateJob(t.Context(), explain.All(), "my_job", func(j jobs.Config) (jobs.Config, error) {
					j.Description += "x"
					return j, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		asked.Wait()
		if v, err := see(t.Context(), s.Scheduler, explain.Reader.Job, "my_job"); err != nil ||
			v.Config.Description != strings.Repeat("x", users) {
			t.Errorf("%q, %v", v.Config.Description, err)
		}
	})
}

// TestT2ARefusedChangeEndsNoTerm: a change that the registry refuses for another reason than the fence ends no term.
func TestT2ARefusedChangeEndsNoTerm(t *testing.T) {
	leading(t, func(s *stage) {
		s.registry.onCommit = func(writes []registry.Write) error {
			if len(writes) > 0 && writes[0].Path == "/config/app/guarded" {
				return errors.New("no permission")
			}
			return nil
		}
	}, func(t *testing.T, s *stage) {
		a, err := see(t.Context(), s.Scheduler, explain.Reader.App, "my_app")
		if err != nil {
			t.Fatal(err)
		}
		a.Config.AppName = "guarded"
		if _, err := s.RegisterApp(t.Context(), explain.All(), a.Config); refused(err) == nil ||
			refused(err).Kind != problem.Unavailable || !strings.Contains(err.Error(), "no permission") {
			t.Errorf("%v", err)
		}
		if v := runToEnd(t, s.Scheduler); v.State != executions.Finished {
			t.Errorf("%+v", v)
		}
	})
}

func TestAnIdempotencyKeyGivesTheSameExecution(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		first, err := s.Trigger(t.Context(), explain.All(), "my_job", "key-1")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Trigger(t.Context(), explain.All(), "my_job", "key-1"); err != nil || again != first {
			t.Errorf("%q, %v; want %q again", again, err, first)
		}
	})
}

func TestDrainEndsEverything(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		runToEnd(t, s.Scheduler)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := s.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err == nil {
			t.Error("a stopping scheduler accepted a trigger")
		}
	})
}

func TestReconcileIsAskedForOnceInTenSeconds(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		eventually(t, "it was asked at the subscription", func() bool { return s.diary.count("CALL RECONCILE") > 0 })
		before := s.diary.count("CALL RECONCILE")
		if err := s.Reconcile(t.Context(), explain.All(), false); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is asked", func() bool { return s.diary.count("CALL RECONCILE") == before+1 })
		err := s.Reconcile(t.Context(), explain.All(), true)
		if e := refused(err); e == nil || e.Kind != problem.TooSoon || e.RetryAfter <= 9*time.Second {
			t.Fatalf("%v", err)
		}
		time.Sleep(10 * time.Second)
		if err := s.Reconcile(t.Context(), explain.All(), true); err != nil {
			t.Error(err)
		}
	})
}

// TestCommittedRequestsAreAnsweredAtTheEndOfTheTerm: a client is not asked to repeat a change that was made, although
// the leader abdicates at some point while the request is under way.
func TestCommittedRequestsAreAnsweredAtTheEndOfTheTerm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		point   string
		request func(context.Context, *stage) (string, error)
	}{
		"register": {"config-committed", func(ctx context.Context, s *stage) (string, error) {
			a := app.Default()
			a.AppName, a.AppURL, a.BootstrapScript = "new", "http://127.0.0.1/p.tar", "run"
			v, err := s.RegisterApp(ctx, explain.All(), a)
			return v.Config.AppName, err
		}},
		"disable": {"config-committed", func(ctx context.Context, s *stage) (string, error) {
			v, err := s.SetJobDisabled(ctx, explain.All(), "my_job", true)
			return fmt.Sprint(v.Config.JobName, v.Disabled), err
		}},
		"deregister": {"config-committed", func(ctx context.Context, s *stage) (string, error) {
			v, err := s.DeregisterJob(ctx, explain.All(), "my_job")
			return v.Config.JobName, err
		}},
		"delete": {"config-committed", func(ctx context.Context, s *stage) (string, error) {
			v, err := s.DeleteApp(ctx, explain.All(), "my_app", true)
			return v.Config.AppName, err
		}},
		"trigger": {"after-commit", func(ctx context.Context, s *stage) (string, error) {
			return s.Trigger(ctx, explain.All(), "my_job", "")
		}},
		"launch": {"before-accept", func(ctx context.Context, s *stage) (string, error) {
			return s.Trigger(ctx, explain.All(), "my_job", "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var stop sync.Once
			var asked chan struct{}
			leading(t, func(s *stage) {
				asked = make(chan struct{})
				s.opt.Point = func(name string) {
					select {
					case <-asked:
						if name == c.point {
							stop.Do(s.stop)
						}
					default:
					}
				}
			}, func(t *testing.T, s *stage) {
				close(asked)
				if said, err := c.request(t.Context(), s); err != nil || said == "" {
					t.Errorf("%q, %v", said, err)
				}
			})
		})
	}
}

// TestTheLogTellsWhatPeopleChange: the log has a line for each change, and none for a refused request.
func TestTheLogTellsWhatPeopleChange(t *testing.T) {
	leading(t, nil, func(t *testing.T, s *stage) {
		ctx := t.Context()
		same := func(c jobs.Config) (jobs.Config, error) { return c, nil }
		_, _ = s.UpdateJob(ctx, explain.All(), "my_job", same)
		_, _ = s.UpdateJob(ctx, explain.All(), "none", same)
		_, _ = s.SetJobDisabled(ctx, explain.All(), "my_job", true)
		_, _ = s.SetJobDisabled(ctx, explain.All(), "my_job", false)
		_, _ = s.SetAppDisabled(ctx, explain.All(), "my_app", true)
		_, _ = s.DeleteApp(ctx, explain.All(), "my_app", false) // it has a job
		_, _ = s.DeregisterJob(ctx, explain.All(), "my_job")
		_, _ = s.DeregisterJob(ctx, explain.All(), "my_job")
		_, _ = s.DeleteApp(ctx, explain.All(), "my_app", false)
		for _, line := range []string{
			`msg="app registered" app=my_app`, `msg="job registered" job=my_job`, `msg="job updated" job=my_job`,
			`msg="job disabled" job=my_job`, `msg="job enabled" job=my_job`,
			`msg="app disabled" app=my_app`, `msg="job deregistered" job=my_job`, `msg="app deleted" app=my_app`,
		} {
			if n := s.log.count(line); n != 1 {
				t.Errorf("%s: %d times", line, n)
			}
		}
		if s.log.has("job=none") {
			t.Error("a change that was refused is logged as made")
		}
	})
}

// TestPointsArePassed: each point is called.
func TestPointsArePassed(t *testing.T) {
	leading(t, func(s *stage) {
		s.cluster.holds, s.cluster.fails, s.opt.Notifier = true, "bad", newPeople()
	}, func(t *testing.T, s *stage) {
		fail(t, s, "bad")
		if _, err := s.Trigger(t.Context(), explain.All(), "my_job", ""); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it runs", func() bool {
			tasks, err := list(t.Context(), s.Scheduler, explain.Reader.RunningTasks)
			return err == nil && len(tasks) == 3 && tasks[0].State == executions.Running
		})
		if _, err := s.SetJobDisabled(t.Context(), explain.All(), "my_job", true); err != nil {
			t.Fatal(err)
		}
		eventually(t, "kills leave", func() bool { return s.diary.count("before-kill") > 0 })
		s.stop()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		lines := s.diary.all()
		at := map[string]int{}
		for i, line := range lines {
			if _, known := at[line]; !known {
				at[line] = i
			}
		}
		for _, name := range scheduler.Points() {
			if _, passed := at[name]; !passed {
				t.Errorf("%s was not passed", name)
			}
		}
		if !(at["term-begun"] < at["before-commit"] && at["before-commit"] < at["after-commit"] &&
			at["after-commit"] < at["before-accept"] && at["before-accept"] < at["before-resign"]) {
			t.Errorf("%q", lines)
		}
		if last := lines[len(lines)-2:]; last[0] != "before-resign" || last[1] != "REGISTRY term 1 is resigned" {
			t.Errorf("at last %q", last)
		}
	})
}

package whole_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestDisableAndEnable: disabling a job, or an app with its jobs, kills running and waiting shards (F6). None of these
// shards is left when the job or the app is enabled again.
func TestDisableAndEnable(t *testing.T) {
	for _, what := range []string{"job", "app"} {
		t.Run(what, func(t *testing.T) {
			m := start(t, "--kill-grace", "300ms")
			path, release := m.Hold()
			m.App("a", writes, nil)
			m.Job("j", "a", system.Doc{"shardingTotalCount": 2, "misfire": true, "env": env("HOLD", path)})
			m.Job("crons", "a", system.Doc{"cron": everySecond})
			runs, waits := m.Trigger("j"), m.Trigger("j")
			starts := m.AwaitStarts(runs, 2)
			subject := map[string]string{"job": "/api/job/j", "app": "/api/app/a"}[what]
			m.OK("POST", subject+"/disable", "")
			for _, id := range []string{runs, waits} {
				if e := m.Await(id, "KILLED"); e.Reason == "" {
					t.Errorf("%+v, want a reason", e)
				}
			}
			for _, s := range starts {
				if m.Lives(s.PID) {
					t.Errorf("process %d of a killed task lives", s.PID)
				}
			}
			for _, s := range m.Execution(runs).Shards {
				if s.State != "KILLED" || !strings.Contains(s.FailureCause, "disabled") {
					t.Errorf("%+v, want KILLED, as disabled", s)
				}
			}
			if x := m.Explain("j"); x.State != map[string]string{"job": "DISABLED", "app": "APP_DISABLED"}[what] ||
				len(x.Waiting)+len(x.Running) != 0 {
				t.Errorf("explain: %+v", x)
			}
			m.Refused(409, "job_disabled", "POST", "/api/job/j/trigger", "")
			if what == "app" {
				if x := m.Explain("crons"); len(x.NextFires) != 0 {
					t.Errorf("next fires of a disabled job: %v", x.NextFires)
				}
				m.Refused(409, "job_disabled", "POST", "/api/job/crons/trigger", "")
				m.Until("the fires of crons have ended", func() string {
					if x := m.Explain("crons"); len(x.Running) > 0 {
						return fmt.Sprintf("%+v", x)
					}
					return ""
				})
			}
			m.Kill() // the state survives this
			m.Start()
			m.Refused(409, "job_disabled", "POST", "/api/job/j/trigger", "")
			disabled := m.LastFire("crons")

			release()
			enabled := time.Now()
			m.OK("POST", subject+"/enable", "")
			if x := m.Explain("j"); len(x.Waiting)+len(x.Running) != 0 {
				t.Errorf("enabled, but shards are left: %+v", x)
			}
			m.Run("j", "FINISHED")
			if what == "app" {
				m.Until("crons fires again", func() string {
					if !m.LastFire("crons").After(enabled) {
						return "it does not"
					}
					return ""
				})
				for _, e := range m.Ledger() {
					at, err := time.Parse(time.RFC3339, e.FireTime)
					if err != nil {
						t.Fatal(err)
					}
					if strings.HasPrefix(e.Execution, "crons@") && at.After(disabled) &&
						at.Before(enabled.Truncate(time.Second)) {
						t.Errorf("%+v fired while disabled", e)
					}
				}
			}
			m.Stop()
			m.Ran()
		})
	}
}

// TestUpdateHoldsFromTheNextExecution is rule F7: an update of a job does not change its running execution. The waiting
// one gets the new settings.
func TestUpdateHoldsFromTheNextExecution(t *testing.T) {
	// Idle executors are kept, but not one with an earlier version of the app.
	m := start(t, "--executor-idle", "1h")
	path, release := m.Hold()
	m.App("a", system.Files{"bin/start.sh": script(`touch "$LEDGER.$ELASTICJOB_SHARDING_ITEM"
while [ -e "$HOLD" ]; do sleep 0.1; done; echo "$ELASTICJOB_JOB_PARAMETER $ELASTICJOB_SHARDING_TOTAL_COUNT"
[ "$ELASTICJOB_JOB_PARAMETER" != old ] || [ "$ELASTICJOB_ATTEMPT" != 1 ] || exit 1`)}, nil)
	m.Job("j", "a", system.Doc{"jobParameter": "old", "maxRetries": 1, "shardingTotalCount": 2,
		"env": env("HOLD", path)})
	old := m.Trigger("j")
	m.AwaitShards(old, "RUNNING")
	next := m.Trigger("j") // it waits, and so gets the newest settings
	m.Update("j", system.Doc{"jobParameter": "new", "shardingTotalCount": 3, "maxRetries": 0})
	if x := m.Explain("j"); len(x.Waiting) != 3 || !strings.Contains(x.Waiting[0].Reason, old) {
		t.Errorf("waiting: %+v, want 3 shards that wait for %s", x.Waiting, old)
	}
	if got := m.OK("GET", "/api/job/tasks/ready", ""); got != `[{"jobName":"j","times":"1"}]`+"\n" {
		t.Errorf("ready: %s", got)
	}
	release()
	for id, want := range map[string]string{old: "old 2\n", next: "new 3\n"} {
		e := m.Await(id, "FINISHED") // the old execution also keeps its own retries
		if n := len(e.Shards); fmt.Sprint(n) != want[4:5] {
			t.Errorf("%s has %d shards, want %s", id, n, want[4:5])
		}
		for _, s := range e.Shards {
			if got := m.Logs(s.TaskID, ""); got != want {
				t.Errorf("%s item %d wrote %q, want %q", id, s.Item, got, want)
			}
		}
	}

	// The executor of the next execution has the app's new package [D14].
	before := fmt.Sprint(m.Executors())
	m.Packages.Serve("/a2.tar", system.Tar(m, "", only("echo second package")))
	m.OK("PUT", "/api/app", fmt.Sprintf(`{"appName":"a","appURL":%q}`, m.Packages.URL("/a2.tar")))
	if e := m.Run("j", "FINISHED"); m.Logs(e.Shards[0].TaskID, "") != "second package\n" {
		t.Errorf("after the app's update: %+v", e)
	}
	m.Until("the old package's executor is gone", func() string {
		if now := m.Executors(); len(now) != 1 || fmt.Sprint(now) == before {
			return fmt.Sprint(now)
		}
		return ""
	})
}

// TestDeregisterAndRegisterAgain is rule K2: the new job's first execution waits until the tasks of the old job have
// ended.
func TestDeregisterAndRegisterAgain(t *testing.T) {
	m := start(t, "--kill-grace", "3s", "--executor-idle", "1h")
	m.App("a", system.Files{"bin/start.sh": system.Ledger,
		"bin/deaf.sh": script(`trap '' TERM; exec 9>"$LEDGER.j.0"; flock 9; touch "$LEDGER.up"; while :; do sleep 0.1; done`)}, nil)
	m.Job("j", "a", system.Doc{"props": env("script.command.line", "bin/deaf.sh")})
	old := m.Trigger("j")
	m.Until("the old task runs", func() string {
		if _, err := os.Stat(m.LedgerPath + ".up"); err != nil {
			return err.Error()
		}
		return ""
	})
	m.AwaitShards(old, "RUNNING")
	m.OK("DELETE", "/api/job/j/deregister", "")
	m.Refused(404, "job_not_found", "GET", "/api/job/j/explain", "")
	m.Job("j", "a", nil)
	id := m.Trigger("j")
	if x := m.Explain("j"); len(x.Waiting) != 1 || !strings.Contains(x.Waiting[0].Reason, old) {
		t.Errorf("explain: %+v, want that it waits for %s", x, old)
	}
	e := m.Await(id, "FINISHED")
	o := m.Execution(old)
	if o.State != "KILLED" || o.Shards[0].CompleteTime.After(*e.Shards[0].StartTime) {
		t.Errorf("the old execution ended as %+v, the new one ran as %+v", o, e)
	}
	m.Ran() // checks for overlaps: the task that ignores SIGTERM held the shard's lock
	m.OK("DELETE", "/api/app/a?jobs=true", "")
	m.Until("the deleted app's executor is gone", func() string {
		if now := m.Executors(); len(now) > 0 {
			return fmt.Sprint(now)
		}
		return ""
	})
	if got := m.Execution(id); got.State != "FINISHED" {
		t.Errorf("the execution of a deleted job: %+v", got)
	}
	m.Stop()
}

// TestTriggersOfARunningJob is rule F5: while a job runs, one trigger may wait, or several if the job has misfire. A
// further trigger is rejected, and the accepted ones run one after the other.
func TestTriggersOfARunningJob(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", writes, nil)
	m.Job("one", "a", system.Doc{"env": env("HOLD", path)})
	m.Job("more", "a", system.Doc{"misfire": true, "env": env("HOLD", path)})
	ids := []string{m.Trigger("one")}
	m.AwaitStarts(ids[0], 1)
	ids = append(ids, m.Trigger("one"))
	m.Refused(409, "trigger_waits", "POST", "/api/job/one/trigger", "")
	for range 5 {
		ids = append(ids, m.Trigger("more"))
	}
	m.AwaitStarts(ids[2], 1)
	if got := m.OK("GET", "/api/job/tasks/ready",
		""); got != `[{"jobName":"more","times":"4"},{"jobName":"one","times":"1"}]`+"\n" {
		t.Errorf("ready: %s", got)
	}
	release()
	for _, id := range ids {
		m.Await(id, "FINISHED")
	}
	m.Stop()
	m.OnceEach()
	var order []string
	for _, e := range m.Ledger() {
		if e.What == "start" && strings.HasPrefix(e.Execution, "more@") {
			order = append(order, e.Execution)
		}
	}
	if fmt.Sprint(order) != fmt.Sprint(ids[2:]) {
		t.Errorf("they ran as %v, want %v", order, ids[2:])
	}
}

// TestExplainWaitingShards is promise 4: explain says why a shard waits.
func TestExplainWaitingShards(t *testing.T) {
	m := start(t)
	path, release := m.Hold()
	m.App("a", writes, nil)
	m.Job("big", "a", system.Doc{"cpuCount": m.CPUs * 4})
	m.Job("large", "a", system.Doc{"cpuCount": m.CPUs - 1, "env": env("HOLD", path)})
	m.Job("small", "a", system.Doc{"cpuCount": 2})
	m.Job("idle", "a", nil)
	if got := m.OK("GET", "/api/job/big/explain", ""); !strings.Contains(got,
		"no agent seen so far can hold one shard") {
		t.Errorf("a job that never fits: %s", got)
	}
	if x := m.Explain("idle"); x.State != "ON_TRIGGER" {
		t.Errorf("%+v", x)
	}
	never := m.Trigger("big")
	large := m.Trigger("large")
	m.AwaitStarts(large, 1)
	small := m.Trigger("small")
	for job, want := range map[string][]string{
		"big":   {"no agent can ever hold one shard", fmt.Sprint(m.CPUs * 4), fmt.Sprint(m.CPUs)},
		"small": {"1 shard needs", "which lacks"},
	} {
		m.Until(job+" says what it waits for", func() string {
			x := m.Explain(job)
			if x.State != "WAITING" || len(x.Waiting) != 1 {
				return fmt.Sprintf("%+v", x)
			}
			for _, want := range want {
				if !strings.Contains(x.Waiting[0].Reason, want) {
					return fmt.Sprintf("%+v, want %q", x.Waiting, want)
				}
			}
			return ""
		})
	}
	if e := m.Execution(small); e.State != "WAITING" || !strings.Contains(e.Reason, "which lacks") {
		t.Errorf("%+v, want the reason", e)
	}
	if x := m.Explain("large"); x.State != "RUNNING" || len(x.Running) != 1 || x.Running[0].ExecutionID != large {
		t.Errorf("%+v", x)
	}
	if got := m.OK("GET", "/api/job/tasks/running", ""); strings.Count(got, `"id"`) != 1 ||
		!strings.Contains(got, `"jobName":"large","shardingItems":[0]`) {
		t.Errorf("running tasks: %s", got)
	}
	release()
	m.Await(small, "FINISHED")
	m.OK("DELETE", "/api/job/big/deregister", "")
	m.Await(never, "KILLED")
}

// TestIdleExecutorIsShutDown is rule X9: the resources of an idle executor are released.
func TestIdleExecutorIsShutDown(t *testing.T) {
	m := start(t, "--executor-idle", "1s")
	m.App("a", writes, nil)
	m.Job("a", "a", nil)
	m.Job("often", "a", system.Doc{"cron": everySecond})
	m.Run("a", "FINISHED")
	first := fmt.Sprint(m.Executors())
	m.Update("often", system.Doc{"cron": nil})
	m.Until("the idle executor is gone", func() string {
		if now := m.Executors(); len(now) > 0 {
			return fmt.Sprint(now)
		}
		return ""
	})
	m.App("whole", only(":"), system.Doc{"cpuCount": 0.5})
	m.Job("whole", "whole", system.Doc{"cpuCount": m.CPUs - 0.5}) // needs the whole machine
	m.Run("whole", "FINISHED")
	m.Run("a", "FINISHED")
	if now := fmt.Sprint(m.Executors()); now == first {
		t.Errorf("executor %s is back", now)
	}
	m.Stop()
	m.OnceEach()
}

// TestIdleExecutorFreesResources: an idle executor that would be kept is ended at once if a waiting shard needs its
// resources (X9).
func TestIdleExecutorFreesResources(t *testing.T) {
	m := start(t, "--executor-idle", "1h")
	m.App("a", only(":"), system.Doc{"cpuCount": 2})
	m.Job("a", "a", nil)
	m.Run("a", "FINISHED")
	m.App("whole", only(":"), system.Doc{"cpuCount": 0.5})
	m.Job("whole", "whole", system.Doc{"cpuCount": m.CPUs - 0.5})
	m.Run("whole", "FINISHED")
	m.Stop()
}

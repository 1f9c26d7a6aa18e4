package executor_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// A program that sends no hello is started for each fire, in its own folder and with its own variables.
func TestDaemonWithoutHello(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", script(t, `test ! -e mark; touch mark; echo "$ELASTICJOB_FIRE_TIME $ELASTICJOB_EXECUTION_ID $ELASTICJOB_EXECUTION_SOURCE $ELASTICJOB_ATTEMPT $PWD $$"
		echo "line $$" >&2; sleep 0.1; exit 3`))
	task.Props = map[string]string{"own": "<x>"}
	a.launch(task)
	runs := a.awaitRuns("d", wire.RunFailed, 2)
	if got := a.states("d"); !strings.HasPrefix(got, "STARTING STARTING RUNNING RUNNING RUNNING") {
		t.Errorf("states: %s", got)
	}
	lines := strings.Split(a.read("tasks/1/stdout"), "\n")
	pids := strings.Split(a.read("tasks/1/stderr"), "\n")
	for i, r := range runs[:2] {
		if r.Attempt != 1 || r.Source != "NORMAL_TRIGGER" || r.Fire.Nanosecond() != 0 || r.Start.Before(r.Fire) ||
			r.Complete.Before(r.Start) || !r.Sampled || r.Retried ||
			r.ExitStatus == nil || *r.ExitStatus != 3 || r.totals.Runs != int64(i+1) || r.totals.Failed != int64(i+1) {
			t.Errorf("run %+v", r)
		}
		if want := "exit status 3; end of stderr:\n" + pids[i]; r.Cause != want {
			t.Errorf("cause %q, want %q", r.Cause, want)
		}
		want := r.Fire.Format("2006-01-02T15:04:05.000Z") + " job@" + r.Fire.Format("20060102T150405Z") +
			" NORMAL_TRIGGER 1 "
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("it wrote %q, want %q", lines[i], want)
		}
	}
	if begun := a.awaitRuns("d", wire.RunRunning, 2); !begun[0].Fire.Equal(runs[0].Fire) {
		t.Errorf("the first that began is %v, the first that ended %v", begun[0].Fire, runs[0].Fire)
	}
	if !runs[1].Fire.After(runs[0].Fire) {
		t.Errorf("fires %v, %v", runs[0].Fire, runs[1].Fire)
	}
}

// A program that sends a hello stays and gets its runs over the pipe; the error in its answer is the cause of a
// failure.
func TestResidentDaemon(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", residentScript(t,
		`echo "$$ $line"; [ $run = 2 ] && error='bad\nluck'; [ $run = 3 ] && { echo oops >&2; exit 7; }`))
	task.Props = map[string]string{"own": "x"}
	a.launch(task)
	finished, failed := a.awaitRuns("d", wire.RunFinished, 2), a.awaitRuns("d", wire.RunFailed, 2)
	if failed[0].Cause != "bad\nluck" || failed[0].ExitStatus != nil {
		t.Errorf("second run: %+v", failed[0])
	}
	if failed[1].Cause != "the process ended during the run: exit status 7; end of stderr:\noops" ||
		failed[1].ExitStatus == nil || *failed[1].ExitStatus != 7 {
		t.Errorf("third run: %+v", failed[1])
	}
	if last := finished[1].totals; last.Runs != 4 || last.Failed != 2 || last.Skipped != 0 {
		t.Errorf("totals %+v", last)
	}
	lines := strings.Split(a.read("tasks/1/stdout"), "\n")
	var pids []string
	for _, line := range lines[:4] {
		pid, _, _ := strings.Cut(line, " ")
		pids = append(pids, pid)
	}
	if pids[0] != pids[1] || pids[1] != pids[2] || pids[2] == pids[3] {
		t.Errorf("processes %v", pids)
	}
	fire := wire.FormatFireTime(finished[0].Fire)
	for _, part := range []string{`"run":"1"`, `"fireTime":"` + fire + `"`, `"source":"NORMAL_TRIGGER"`, `"attempt":1`,
		`"executionId":"job@`, `"shardingItem":1`, `"props":{"own":"x"}`} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("no %s in %s", part, lines[0])
		}
	}
}

// A resident process that ends between two runs is reported and started again.
func TestResidentEndsWhileIdle(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	once := filepath.Join(t.TempDir(), "once")
	task := daemonOf("d", residentScript(t,
		`[ -e `+once+` ] || { touch `+once+`; say "{\"type\":\"done\",\"run\":\"$run\"}"; exit 5; }`))
	a.launch(task)
	a.awaitRuns("d", wire.RunFinished, 2)
	a.until("a report of the process that ended", func() bool {
		for _, u := range a.statesOf("d") {
			if strings.Contains(u.GetMessage(),
				"the resident process ended: exit status 5; it will be restarted in 0s") {
				return true
			}
		}
		return false
	})
}

// A kill ends the present run and its process, and the last update contains that run.
func TestDaemonKilledInARun(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"one run": script(t, `echo $$; exec sleep 1000`),
		"resident": residentScript(t, `echo $$; sleep 1000`)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			a.launch(daemonOf("d", program))
			begun := a.awaitRuns("d", wire.RunRunning, 1)
			pid := strings.TrimSpace(a.read("tasks/1/stdout"))
			a.kill("d")
			_, status := a.await("d", mesos.TASK_KILLED)
			if r := status.Run; r == nil || r.State != wire.RunKilled || !r.Fire.Equal(begun[0].Fire) ||
				r.Signal != "terminated" || status.Cause != "killed" || status.Totals.Failed != 0 {
				t.Errorf("unexpected status %+v, run %+v", status, status.Run)
			}
			if alive(pid) {
				t.Error("the process of the run outlived the end of its task")
			}
		})
	}
}

// A shard that is killed between two runs or before its first fire ends at once.
func TestDaemonKilledWhileIdle(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(daemonOf("resident", residentScript(t, `:`)))
	a.awaitRuns("resident", wire.RunFinished, 1)
	never := daemonOf("never", script(t, `:`))
	never.Daemon.Cron = "0 0 0 1 1 ? 2126"
	a.launch(never)
	a.await("never", mesos.TASK_RUNNING)
	for _, id := range []string{"resident", "never"} {
		a.kill(id)
		if _, status := a.await(id, mesos.TASK_KILLED); status.Run != nil || status.Totals == nil {
			t.Errorf("%s: unexpected status %+v", id, status)
		}
	}
}

// After a kill with more grace than the task's own, the shard does not fire again, and ends when its present run has
// ended. The run has only the grace beyond the task's own; a shard without a run ends at once.
func TestDaemonDrained(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(testing.TB, string) string{"one run": script, "resident": residentScript} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			gate := filepath.Join(t.TempDir(), "gate")
			a.launch(daemonOf("d", make(t, `while [ ! -e `+gate+` ]; do sleep 0.02; done`)))
			begun := a.awaitRuns("d", wire.RunRunning, 1)
			a.killWithin("d", 10*time.Minute)
			a.launch(taskOf("after", script(t, ":"))) // when this one runs, the kill has arrived
			a.await("after", mesos.TASK_FINISHED)
			if err := os.WriteFile(gate, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			_, status := a.await("d", mesos.TASK_KILLED)
			finished := a.awaitRuns("d", wire.RunFinished, 1)
			if len(finished) != 1 || !finished[0].Fire.Equal(begun[0].Fire) || status.Run != nil ||
				status.Totals.Runs != 1 {
				t.Errorf("%+v, %+v", finished, status)
			}
		})
	}
	t.Run("no longer than it may", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t)
		a.launch(daemonOf("d", script(t, `exec sleep 1000`)))
		a.awaitRuns("d", wire.RunRunning, 1)
		a.killWithin("d", 10*time.Minute)
		a.killWithin("d", time.Minute+100*time.Millisecond) // its own grace is a minute
		if _, status := a.await("d", mesos.TASK_KILLED); status.Run == nil || status.Run.State != wire.RunKilled {
			t.Errorf("unexpected status %+v", status)
		}
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		a := newAgent(t)
		a.launch(daemonOf("d", residentScript(t, `:`)))
		a.awaitRuns("d", wire.RunFinished, 1)
		a.killWithin("d", 10*time.Minute)
		if _, status := a.await("d", mesos.TASK_KILLED); status.Cause != "killed" {
			t.Errorf("unexpected status %+v", status)
		}
	})
}

// Fires during a run are queued with misfire; without it they are skipped and counted.
func TestDaemonMisfire(t *testing.T) {
	t.Parallel()
	for _, misfire := range []bool{true, false} {
		a := newAgent(t)
		gate := filepath.Join(t.TempDir(), "gate")
		task := daemonOf("d", residentScript(t, `while [ ! -e `+gate+` ]; do sleep 0.02; done`))
		task.Daemon.Misfire = misfire
		a.launch(task)
		first := a.awaitRuns("d", wire.RunRunning, 1)[0].Fire
		eventually(t, "two more fires", func() bool { return time.Since(first) > 2200*time.Millisecond })
		if err := os.WriteFile(gate, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		runs := a.awaitRuns("d", wire.RunFinished, 3)
		if misfire {
			for i, r := range runs[1:3] {
				if r.Source != "MISFIRE" || !r.Fire.Equal(first.Add(time.Duration(i+1)*time.Second)) ||
					r.totals.Skipped != 0 {
					t.Errorf("unexpected run %+v", r)
				}
			}
			continue
		}
		// An executor that is late may see the end of the first run before the last fire that came during it. Each fire
		// between the two runs is counted.
		r := runs[1]
		if between := int64(r.Fire.Sub(first)/time.Second) - 1; r.Source != "NORMAL_TRIGGER" || between < 1 ||
			r.totals.Skipped < between {
			t.Errorf("unexpected run %+v", r)
		}
	}
}

// A fire that was cut off with the previous attempt of the task runs at once.
func TestDaemonReruns(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", script(t, `echo "$ELASTICJOB_EXECUTION_SOURCE $ELASTICJOB_FIRE_TIME"`))
	task.Daemon.Cron, task.Daemon.Rerun = "0 0 0 1 1 ? 2126", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a.launch(task)
	if r := a.awaitRuns("d", wire.RunFinished, 1)[0]; r.Source != "FAILOVER" || !r.Fire.Equal(task.Daemon.Rerun) {
		t.Errorf("unexpected run %+v", r)
	}
	if got := a.read("tasks/1/stdout"); got != "FAILOVER 2026-01-02T03:04:05.000Z\n" {
		t.Errorf("it wrote %q", got)
	}
}

// A shard that does not fire yet has nothing to drain: a kill ends it at once, whatever the grace.
func TestDaemonKilledWhileItIsFetched(t *testing.T) {
	t.Parallel()
	requested := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	a := newAgent(t)
	a.launch(daemonOf("d", server.URL+"/job.sh"))
	<-requested
	a.killWithin("d", time.Hour)
	if _, status := a.await("d", mesos.TASK_KILLED); status.Run != nil {
		t.Errorf("unexpected status %+v", status)
	}
}

// SHUTDOWN of the executor kills shards without draining them.
func TestDaemonShutdown(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(daemonOf("busy", residentScript(t, `sleep 1000`)))
	a.launch(daemonOf("idle", residentScript(t, `:`)))
	a.awaitRuns("busy", wire.RunRunning, 1)
	a.awaitRuns("idle", wire.RunFinished, 1)
	a.event(mesosexec.Event{Type: mesosexec.Event_SHUTDOWN})
	if _, status := a.await("busy", mesos.TASK_KILLED); status.Run == nil || status.Run.State != wire.RunKilled {
		t.Errorf("unexpected status %+v", status)
	}
	if _, status := a.await("idle", mesos.TASK_KILLED); status.Run != nil ||
		!strings.Contains(status.Cause, "shut down") {
		t.Errorf("unexpected status %+v", status)
	}
	if status := a.exit(); status != 0 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
}

// Resident processes end with an executor that is killed (rule X7).
func TestResidentsDieWithTheExecutor(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	pids := filepath.Join(t.TempDir(), "pids")
	for _, id := range []string{"d1", "d2"} {
		a.launch(daemonOf(id, residentScript(t, `trap "" TERM; setsid sleep 1000 & echo $$ $! >>`+pids)))
		a.awaitRuns(id, wire.RunFinished, 1)
	}
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	a.exit()
	mustEnd(t, pids)
}

// A process that was started again and sends no hello delays its shard no longer than a run may take.
func TestRestartedWithoutHello(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	once := filepath.Join(t.TempDir(), "once")
	task := daemonOf("d", script(t, `[ -e `+once+` ] && exec sleep 1000
touch `+once+`; echo '{"type":"hello","version":1}' >&4; read -r line <&3; echo '{"type":"done","run":"1"}' >&4`))
	task.Daemon.TimeoutMillis, task.KillGraceMillis = 300, 100
	a.launch(task)
	a.awaitRuns("d", wire.RunFinished, 1)
	if r := a.awaitRuns("d", wire.RunTimedOut, 1)[0]; !strings.HasSuffix(r.Cause, "sent no hello") {
		t.Errorf("unexpected run %+v", r)
	}
}

// A resident program that asks for the time in seconds gets the second of its fire or a later one. Python's time.gmtime
// reads the kernel's coarse clock, which lags. If the executor ignored that, most runs would see the second before.
func TestAResidentSeesTheSecondOfItsFire(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", script(t, `exec python3 -u -c '
import json, os, time
pipe = open(4, "w", buffering=1)
print(json.dumps({"type": "hello", "version": 1}), file=pipe)
for line in open(3):
    seen = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    run = json.loads(line)
    error = "" if seen >= run["fireTime"] else "fire " + run["fireTime"] + ", seen " + seen
    print(json.dumps({"type": "done", "run": run["run"], "error": error}), file=pipe)
'`))
	task.Daemon.Cron = "* * * * * ?"
	a.launch(task)
	a.until("5 runs", func() bool {
		runs := a.runs("d")
		for _, r := range runs {
			if r.State == wire.RunFailed {
				t.Fatalf("a run failed: %s", r.Cause)
			}
		}
		return len(runs) > 0 && runs[len(runs)-1].totals.Runs >= 5
	})
}

package executor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// A run that takes too long is cancelled, and killed if it does not react. The shard continues with its next run.
func TestDaemonTimeout(t *testing.T) {
	t.Parallel()
	deaf := script(t, `trap '' TERM; echo $$; while :; do sleep 0.05; done`)
	for name, test := range map[string]struct {
		program, cause string
		kept           bool
	}{
		"one run":           {script(t, `exec sleep 1000`), "; then: ended by signal 15 (terminated); its working", true},
		"one that is deaf":  {deaf, "; then: ended by signal 9 (killed)", true},
		"resident answers":  {residentScript(t, `read -r cancel <&3; error="stopped: ${cancel##*reason}"; error=${error%%\"*}`), "; then: stopped:", false},
		"resident is deaf":  {residentScript(t, `sleep 1000`), "; then: the process ended during the run: ended by signal 9 (killed)", true},
		"resident, in time": {residentScript(t, `read -r cancel <&3`), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			task := daemonOf("d", test.program)
			task.Daemon.TimeoutMillis, task.KillGraceMillis, task.KeepFailed = 200, 200, 9
			a.launch(task)
			runs := a.awaitRuns("d", wire.RunTimedOut, 2)
			want := "it took longer than 200ms (timeoutSeconds)" + test.cause
			if r := runs[0]; !strings.HasPrefix(r.Cause, want) || r.totals.Failed != 1 {
				t.Errorf("cause %q, want %q, %+v", r.Cause, want, r.totals)
			}
			const place = "its working directory is kept on the agent: "
			if kept := strings.Contains(runs[0].Cause, place); kept != test.kept {
				t.Errorf("kept %v: %q", kept, runs[0].Cause)
			}
		})
	}
}

// A failed run is retried, with the attempt in its context, until it succeeds or no attempt is left.
func TestDaemonRetries(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", script(t, `[ $ELASTICJOB_ATTEMPT = 3 ]`))
	task.Daemon.MaxRetries, task.Daemon.RetryBackoffMillis, task.Daemon.SamplingCount = 2, 10, 1000
	a.launch(task)
	finished := a.awaitRuns("d", wire.RunFinished, 1)[0]
	failed := a.awaitRuns("d", wire.RunFailed, 2)
	for i, r := range append(failed[:2], finished) {
		if r.Attempt != i+1 || !r.Fire.Equal(finished.Fire) || r.Retried != (i < 2) || r.Sampled {
			t.Errorf("unexpected run %+v", r)
		}
	}
}

// A finished run is reported with notes, such as its memory, for a process of one run and for a resident process.
func TestDaemonRunsHaveNotes(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{
		"one run":  script(t, `exec python3 -c 'x = b"x" * 200_000_000'`),
		"resident": pythonResident(t, `x = b"x" * 200_000_000`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t)
			task := daemonOf("d", program)
			task.CPUs, task.MemoryMB = 0.5, 64
			a.launch(task)
			if r := a.awaitRuns("d", wire.RunFinished, 1)[0]; !strings.HasPrefix(r.Note, "it used up to ") ||
				r.Cause != "" {
				t.Errorf("unexpected run %+v", r.Run)
			}
		})
	}
}

// pythonResident returns a resident program that executes a statement in each run.
func pythonResident(t *testing.T, statement string) string {
	return script(t, `exec python3 -c '
import json, os
messages, answers = os.fdopen(3), os.fdopen(4, "w", buffering=1)
print(json.dumps({"type": "hello", "version": 1}), file=answers)
for line in messages:
    `+statement+`
    print(json.dumps({"type": "done", "run": json.loads(line)["run"]}), file=answers)
'`)
}

// With a sampling count of 3, every third run is reported.
func TestDaemonSampling(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", residentScript(t, `:`))
	task.Daemon.SamplingCount = 3
	a.launch(task)
	for i, r := range a.awaitRuns("d", wire.RunFinished, 2) {
		if !r.Sampled || r.totals.Runs != int64(3*(i+1)) {
			t.Errorf("unexpected run %+v", r)
		}
	}
}

// SINGLE_THREAD: only one run of a job's shards is in progress at a time.
func TestDaemonSingleThread(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	dir := t.TempDir()
	program := residentScript(t, `mkdir `+dir+`/lock || error=together; sleep 0.05; rmdir `+dir+`/lock`)
	ids := []string{"d1", "d2", "d3"}
	for _, id := range ids {
		task := daemonOf(id, program)
		task.Daemon.Concurrency = wire.ConcurrencySingle
		a.launch(task)
	}
	for _, id := range ids {
		a.awaitRuns(id, wire.RunFinished, 2)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		for _, r := range a.runs(id) {
			if r.State == wire.RunFailed {
				t.Errorf("%s: %s", id, r.Cause)
			}
		}
	}
}

// If the shard can't fire, the task fails; if a run can't begin, the run fails.
func TestDaemonThatCannotBegin(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	for id, test := range map[string]struct {
		spoil func(*wire.Task)
		cause string
	}{
		"package": {func(task *wire.Task) { task.Package.URL = "file:///nonexistent" }, "nonexistent"},
		"command": {func(task *wire.Task) { task.Command = []string{"jib.sh"} }, `jib.sh is neither in the PATH of this agent (`},
		"cron":    {func(task *wire.Task) { task.Daemon.Cron = "x" }, `cron "x" of job job`},
		"zone":    {func(task *wire.Task) { task.Daemon.TimeZone = "Mars/Base" }, `time zone "Mars/Base" of job job`},
	} {
		task := daemonOf(id, script(t, ":"))
		test.spoil(&task)
		a.launch(task)
		if _, status := a.await(id, mesos.TASK_FAILED); !strings.Contains(status.Cause, test.cause) {
			t.Errorf("%s: unexpected cause %q", id, status.Cause)
		}
	}
	bad := daemonOf("bad", script(t, ":"))
	bad.Command = []string{"/bin/sh", strings.Repeat("x", 200_000)}
	a.launch(bad)
	if r := a.awaitRuns("bad", wire.RunFailed, 2)[0]; !strings.Contains(r.Cause,
		"the arguments or the environment are too long") {
		t.Errorf("unexpected run %+v", r)
	}
}

// An agent that returns after many runs gets all kept updates in order: failures one by one, successes as counts.
func TestDaemonReportsWhatItsAgentMissed(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := daemonOf("d", script(t, `[ $ELASTICJOB_ATTEMPT = 120 ]`))
	task.Daemon.MaxRetries, task.Daemon.Misfire = 200, true
	a.mu.Lock()
	a.silent = true
	a.mu.Unlock()
	a.launch(task)
	eventually(t, "120 attempts", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, r := range a.reports {
			for _, task := range r.Tasks {
				if task.Totals.Runs >= 120 {
					return true
				}
			}
		}
		return false
	})
	a.stop()
	a.mu.Lock()
	a.silent = false
	a.updates = nil // the agent loses what it has received
	a.mu.Unlock()
	a.listen(a.address)
	runs := a.awaitRuns("d", wire.RunFailed, 119)
	for i, r := range runs[:119] {
		if r.Attempt != i+1 || r.totals.Runs != int64(i+1) {
			t.Errorf("update %d: %+v", i, r)
		}
	}
	a.awaitRuns("d", wire.RunFinished, 1)
}

// If the supervisor is killed, the resident processes die. The updates say so, and contain the run that was
// interrupted.
func TestResidentsDieWithTheSupervisor(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	pids := filepath.Join(t.TempDir(), "pids")
	a.launch(daemonOf("idle", residentScript(t, `echo $$ >>`+pids)))
	a.awaitRuns("idle", wire.RunFinished, 1)
	killer := daemonOf("killer", residentScript(t, `echo $$ >>`+pids+`; kill -9 $PPID; sleep 1000`))
	a.launch(killer)
	for _, id := range []string{"idle", "killer"} {
		_, status := a.await(id, mesos.TASK_FAILED)
		if !status.SupervisorLost || status.Totals == nil || id == "killer" &&
			(status.Run == nil || status.Run.State != wire.RunKilled) {
			t.Errorf("%s: unexpected status %+v", id, status)
		}
	}
	if status := a.exit(); status != 1 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
	mustEnd(t, pids)
}

// The executor reports which of its shards run, their progress, and their counts.
func TestReports(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(daemonOf("d", residentScript(t,
		`say "{\"type\":\"progress\",\"run\":\"$run\",\"fraction\":0.25,\"message\":\"run $run\"}"; sleep 1.5`)))
	a.launch(taskOf("t", script(t, `echo '{"type":"progress","fraction":0.5,"message":"half"}' >&4; exec sleep 1000`)))
	seen := map[string]wire.TaskReport{}
	a.until("reports of both", func() bool {
		for _, r := range a.reports {
			if r.Time.IsZero() || r.Version != 1 {
				t.Errorf("unexpected report %+v", r)
			}
			for _, task := range r.Tasks {
				if task.Progress != nil {
					seen[task.TaskID] = task
				}
			}
		}
		return len(seen) == 2
	})
	if d := seen["d"]; d.Progress.Fraction != 0.25 || !strings.HasPrefix(d.Progress.Message, "run ") ||
		d.Fire.IsZero() || d.Totals == nil || time.Since(d.Progress.At) > time.Minute {
		t.Errorf("unexpected report %+v with progress %+v", d, d.Progress)
	}
	if task := seen["t"]; task.Progress.Fraction != 0.5 || task.Progress.Message != "half" || !task.Fire.IsZero() ||
		task.Totals != nil {
		t.Errorf("unexpected report %+v with progress %+v", task, task.Progress)
	}
	a.kill("t")
	a.await("t", mesos.TASK_KILLED)
}

// An agent that refuses reports is logged once, and nothing else depends on the reports.
func TestReportsRefused(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.mu.Lock()
	a.refusesReports = true
	a.mu.Unlock()
	a.launch(taskOf("t", script(t, `while :; do echo '{"type":"progress","fraction":0.5}' >&4; sleep 0.1; done`)))
	a.until("three refusals", func() bool { return a.refusals >= 3 })
	a.kill("t")
	a.await("t", mesos.TASK_KILLED)
	log, err := os.ReadFile(a.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "message to the scheduler not sent"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
}

// A shard whose process keeps ending holds no slot of its job (SINGLE_THREAD) while it waits for a restart, so that the
// other shards of the job run.
func TestSlotIsNotHeldForARestart(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	for id, program := range map[string]string{"ends": residentScript(t, `exit 1`), "works": residentScript(t, `:`)} {
		task := daemonOf(id, program)
		task.Daemon.Concurrency = wire.ConcurrencySingle
		a.launch(task)
	}
	a.awaitRuns("ends", wire.RunFailed, 5) // restarts come after 0, 1, 2 and 4 s
	works := a.awaitRuns("works", wire.RunFinished, 1)
	works = a.awaitRuns("works", wire.RunFinished, len(works)+1)
	if last := works[len(works)-1].totals; last.Skipped > 2 {
		t.Errorf("unexpected %+v", last)
	}
}

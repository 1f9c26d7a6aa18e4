package whole_test

import (
	"os"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestTimeout is rules K4 and E6: a shard that exceeds timeoutSeconds is killed with its job's own grace period. It
// fails as timed out, or is run again with the number of the attempt in its environment.
func TestTimeout(t *testing.T) {
	m := start(t)
	m.App("slow", system.Files{
		"bin/start.sh":  script(`echo "attempt $ELASTICJOB_ATTEMPT" >>"$LEDGER.$ELASTICJOB_JOB_NAME"; [ "$ELASTICJOB_ATTEMPT" -gt 1 ] || exec sleep 300`),
		"bin/deaf.sh":   script(`trap '' TERM; while :; do sleep 0.1; done`),
		"bin/polite.sh": script(`trap 'exit 0' TERM; while :; do sleep 0.1; done`),
	}, nil)
	m.Job("again", "slow", system.Doc{"timeoutSeconds": 1, "maxRetries": 1, "retryBackoffSeconds": 1})
	again := m.Trigger("again")
	m.Job("deaf", "slow", system.Doc{"timeoutSeconds": 1, "killGraceSeconds": 1,
		"props": env("script.command.line", "bin/deaf.sh")})
	deaf := m.Trigger("deaf")
	m.Job("polite", "slow", system.Doc{"timeoutSeconds": 1, "props": env("script.command.line", "bin/polite.sh")})
	polite := m.Trigger("polite")

	if e := m.Await(again, "FINISHED"); e.Shards[0].Attempt != 2 {
		t.Errorf("run again: %+v", e)
	}
	if text, err := os.ReadFile(m.LedgerPath + ".again"); err != nil || string(text) != "attempt 1\nattempt 2\n" {
		t.Errorf("the attempts: %q, %v", text, err)
	}
	e := m.Await(deaf, "FAILED")
	if s := e.Shards[0]; s.State != "TIMED_OUT" || !strings.Contains(s.FailureCause, "timed out: it ran for ") ||
		!strings.Contains(s.FailureCause, "timeoutSeconds is 1") || !strings.Contains(e.Reason, "timed out") {
		t.Errorf("timed out: %+v", e)
	}
	// A task that ends with status 0 in its grace period has timed out nevertheless.
	if e := m.Await(polite, "FAILED"); e.Shards[0].State != "TIMED_OUT" {
		t.Errorf("ended in its grace period: %+v", e)
	}
	m.Stop()
	m.NothingRuns()
}

// TestTimeoutOutlivesTheServer: a shard times out although its server was killed and started again.
func TestTimeoutOutlivesTheServer(t *testing.T) {
	m := start(t)
	m.App("slow", only(`exec sleep 300`), nil)
	m.Job("slow", "slow", system.Doc{"timeoutSeconds": 2})
	id := m.Trigger("slow")
	m.AwaitShards(id, "RUNNING")
	m.Kill()
	m.Start()
	if e := m.Await(id, "FAILED"); e.Shards[0].State != "TIMED_OUT" {
		t.Errorf("%+v", e)
	}
}

// send sends a command, such as pause, for the job "j", and returns the job's state in the answer.
func send(m *system.Machine, command string) string {
	m.Helper()
	answer := m.OK("POST", "/api/job/j/"+command, "")
	_, rest, _ := strings.Cut(answer, `"state":"`)
	state, _, _ := strings.Cut(rest, `"`)
	return state
}

// startBusy returns a machine on which an execution of job "j" runs until it is released, and another one waits for it.
func startBusy(t *testing.T) (m *system.Machine, runs, waits string, release func()) {
	t.Helper()
	m = start(t)
	path, release := m.Hold()
	m.App("a", writes, nil)
	m.Job("j", "a", system.Doc{"misfire": true, "env": env("HOLD", path)})
	runs = m.Trigger("j")
	m.AwaitShards(runs, "RUNNING")
	return m, runs, m.Trigger("j"), release
}

// TestPauseAndResume is rule F10, with a kill -9 of the server in between: while a job is paused, launched shards keep
// running, waiting shards keep waiting, and new triggers are rejected.
func TestPauseAndResume(t *testing.T) {
	m, one, two, release := startBusy(t)
	for range 2 {
		if got := send(m, "pause"); got != "PAUSED" {
			t.Errorf("after pause, the job is %q", got)
		}
	}
	m.Refused(409, "job_paused", "POST", "/api/job/j/trigger", "")
	m.Refused(404, "job_not_found", "POST", "/api/job/none/pause", "")
	m.Kill()
	m.Start()
	if e := m.Execution(one); e.State != "RUNNING" {
		t.Errorf("the running execution: %+v", e)
	}
	release()
	if e := m.Await(one, "FINISHED"); e.Shards[0].Attempt != 1 {
		t.Errorf("the running execution: %+v", e)
	}
	if x := m.Explain("j"); x.State != "PAUSED" || len(x.Waiting) != 1 || x.Waiting[0].ExecutionID != two ||
		x.Waiting[0].Reason != "the job is paused: POST /api/job/j/resume" {
		t.Errorf("explain: %+v", x)
	}
	for range 2 {
		if got := send(m, "resume"); got != "ENABLED" {
			t.Errorf("after resume, the job is %q", got)
		}
	}
	m.Await(two, "FINISHED")
	m.Run("j", "FINISHED")
}

// TestShutdown is rule F11, with a kill -9 of the server in between: when a job is shut down, launched shards run to
// their end, waiting shards are killed, and then the job is disabled.
func TestShutdown(t *testing.T) {
	m, one, two, release := startBusy(t)
	for range 2 {
		if got := send(m, "shutdown"); got != "SHUTTING_DOWN" {
			t.Errorf("after shutdown, the job is %q", got)
		}
	}
	if e := m.Await(two, "KILLED"); e.Reason != "the job is shut down" {
		t.Errorf("the waiting execution: %+v", e)
	}
	m.Refused(409, "job_disabled", "POST", "/api/job/j/pause", "")
	m.Refused(409, "job_disabled", "POST", "/api/job/j/trigger", "")
	m.Kill()
	m.Start()
	if x := m.Explain("j"); x.State != "SHUTTING_DOWN" || len(x.Running) != 1 {
		t.Errorf("explain: %+v", x)
	}
	release()
	if e := m.Await(one, "FINISHED"); e.Shards[0].Attempt != 1 {
		t.Errorf("the running execution: %+v", e)
	}
	if got := send(m, "shutdown"); got != "DISABLED" {
		t.Errorf("after its last shard, the job is %q", got)
	}
	if got := send(m, "enable"); got != "ENABLED" {
		t.Errorf("after enable, the job is %q", got)
	}
	m.Run("j", "FINISHED")
}

// TestStopLeavesJobsTheirGrace: a server that stops waits for a job whose grace period is longer than its own (rule
// O4).
func TestStopLeavesJobsTheirGrace(t *testing.T) {
	m := start(t, "--kill-grace", "100ms")
	m.App("a", only(`trap 'sleep 2; echo saved >>"$LEDGER.saved"; exit 0' TERM; touch "$LEDGER.up"; while :; do sleep 0.1; done`), nil)
	m.Job("j", "a", system.Doc{"killGraceSeconds": 120})
	m.AwaitShards(m.Trigger("j"), "RUNNING")
	m.Until("the job's process has set its trap", func() string {
		if _, err := os.Stat(m.LedgerPath + ".up"); err != nil {
			return err.Error()
		}
		return ""
	})
	m.Stop()
	m.NothingRuns()
	if got, err := os.ReadFile(m.LedgerPath + ".saved"); string(got) != "saved\n" {
		t.Errorf("it wrote %q, %v", got, err)
	}
}

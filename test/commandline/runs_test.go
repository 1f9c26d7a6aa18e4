package commandline_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/buffer"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// greets writes to both streams. Depending on its parameter it fails, or waits for a file.
const greets = `echo "hello from $ELASTICJOB_SHARDING_ITEM"; echo "a warning" >&2
case "$ELASTICJOB_JOB_PARAMETER" in fail) exit 3;; /*) until [ -e "$ELASTICJOB_JOB_PARAMETER" ]; do read -r _ < "$PIPE" || true; done; echo done;; esac`

// gate is a file that runs of greets wait for, and a pipe on which they wait to look for the file again.
type gate struct{ path, pipe string }

// gate returns a closed gate.
func (u *user) gate() gate {
	u.Helper()
	g := gate{u.TempDir() + "/open", u.TempDir() + "/pipe"}
	if err := syscall.Mkfifo(g.pipe, 0o600); err != nil {
		u.Fatal(err)
	}
	return g
}

// open lets the runs end.
func (g gate) open(u *user) {
	u.Helper()
	if err := os.WriteFile(g.path, nil, 0o644); err != nil {
		u.Fatal(err)
	}
	// There are more lines than runs, so that each run reads one.
	pipe, err := os.OpenFile(g.pipe, os.O_RDWR, 0)
	if err == nil {
		_, err = pipe.WriteString(strings.Repeat("\n", 100))
		u.Cleanup(func() { _ = pipe.Close() })
	}
	if err != nil {
		u.Fatal(err)
	}
}

// TestTheStatusOfATriggerIsThatOfItsRun: the exit status of trigger --wait is that of the run.
func TestTheStatusOfATriggerIsThatOfItsRun(t *testing.T) {
	u := start(t)
	u.publishes(greets)
	u.has(u.does("job", "trigger", "nightly", "--wait"), "nightly@", "shard 0 FINISHED", "shard 1 FINISHED",
		"run FINISHED")
	s := u.runs("", "job", "trigger", "nightly", "--parameter", "fail", "--wait", "-o", "json")
	var run struct {
		ExecutionID, State string
		Overrides          struct{ JobParameter string }
	}
	if decode(u, s.out, &run); s.status != 3 || run.State != "FAILED" || run.Overrides.JobParameter != "fail" {
		t.Errorf("%+v: want status 3 and the run as it ended", s)
	}
	u.has(s.err, "shard 1 FAILED", "exit status 3", "is FAILED")
	u.has(u.does("run", "show", run.ExecutionID), "run ", run.ExecutionID, "FAILED", "with parameter  fail",
		"shard 0: exit status 3", "a warning")
	u.fails(3, []string{"is FAILED"}, "run", "wait", run.ExecutionID)
	u.has(u.does("run", "list", "nightly"), "RUN", "FINISHED", "trigger", "2 FAILED")
	if got := u.does("run", "list", "--state", "FAILED", "-o", "yaml"); strings.Count(got, "executionId:") != 1 ||
		!strings.Contains(got, run.ExecutionID) {
		t.Errorf("the runs that failed are %s", got)
	}

	// The same key returns the same run.
	once := u.does("job", "trigger", "nightly", "--key", "today")
	if again := u.does("job", "trigger", "nightly", "--key", "today"); again != once {
		t.Errorf("a second trigger with the same key returned the run %s, want %s", again, once)
	}
	u.fails(4, []string{`there is no execution "nightly@nope"; "elasticjob run list"`}, "run", "show", "nightly@nope")
	u.fails(4, []string{"did you mean nightly?"}, "job", "trigger", "nightli", "--wait")
}

// TestOutput reads the output of a job, a run and a task: of all shards and of one, both streams and one, the whole
// output and its end.
func TestOutput(t *testing.T) {
	u := start(t)
	u.publishes(greets)
	u.fails(4, []string{"has not run yet"}, "logs", "nightly")
	s := u.runs("", "job", "trigger", "nightly", "--logs")
	u.has(s.out, "0| hello from 0\n", "1| hello from 1\n")
	u.has(s.err, "0| a warning\n", "run FINISHED")
	if strings.Contains(s.out, "run ") {
		t.Errorf("standard output has more than the job's: %q", s.out)
	}
	all := u.runs("", "logs", "nightly")
	if all.out != "0| hello from 0\n1| hello from 1\n" || all.err != "0| a warning\n1| a warning\n" {
		t.Errorf("%+v: want the output of both shards, in their order", all)
	}
	var runs []struct{ ExecutionID string }
	decode(u, u.does("run", "list", "-o", "json", "--limit", "1"), &runs)
	id := runs[0].ExecutionID
	var run struct{ Shards []struct{ TaskID string } }
	decode(u, u.does("run", "show", id, "-o", "json"), &run)
	for name, args := range map[string][]string{
		"a shard":  {"logs", id, "--item", "1", "--stream", "stdout"},
		"a task":   {"logs", run.Shards[1].TaskID, "--stream", "stdout"},
		"the end":  {"logs", run.Shards[1].TaskID, "--stream", "stdout", "--tail", "1"},
		"followed": {"logs", "-f", id, "--item", "1", "--stream", "stdout"},
	} {
		if got := u.does(args...); got != "hello from 1\n" {
			t.Errorf("the output of %s is %q", name, got)
		}
	}
	u.fails(2, []string{"--stream"}, "logs", id, "--stream", "stdot")
}

// waiting starts a command and waits until its standard output contains a text. end waits for the command's end and
// returns its result.
func (u *user) waiting(text string, args ...string) (end func() result) {
	u.Helper()
	ctx, cancel := context.WithTimeout(u.Context(), system.Patience)
	u.Cleanup(cancel)
	cmd := u.command(ctx, args...)
	var out, err buffer.Locked
	cmd.Stdout, cmd.Stderr = &out, &err
	if err := cmd.Start(); err != nil {
		u.Fatal(err)
	}
	u.Until("elasticjob "+strings.Join(args, " ")+" says "+text, func() string {
		if strings.Contains(out.String(), text) {
			return ""
		}
		return "it says " + out.String() + err.String()
	})
	return func() result {
		_ = cmd.Wait() // the caller checks the status instead
		return result{cmd.ProcessState.ExitCode(), out.String(), err.String()}
	}
}

// TestAKilledServerIsWaitedFor: waiting and following continue after the server is restarted, and no line is lost or
// duplicated.
func TestAKilledServerIsWaitedFor(t *testing.T) {
	u := start(t)
	g := u.gate()
	u.publishes(greets, "--env", "PIPE="+g.pipe)
	// The server keeps its address, as those of users do.
	address := strings.TrimPrefix(u.URL(), "http://")
	waits := u.waiting("shard 1 RUNNING", "job", "trigger", "nightly", "--parameter", g.path, "--wait")
	follows := u.waiting("hello from 0", "logs", "-f", "nightly", "--stream", "stdout", "--item", "0")
	u.Kill()
	u.Start("--listen", address)
	g.open(u)
	if got := waits(); got.status != 0 || strings.Count(got.out, "shard 0 FINISHED") != 1 {
		t.Errorf("the wait ended with %+v", got)
	}
	if got := follows(); got.status != 0 || got.out != "hello from 0\ndone\n" {
		t.Errorf("the output was %+v", got)
	}
}

// TestARunIsKilled: a run can be killed, and one of its tasks alone.
func TestARunIsKilled(t *testing.T) {
	u := start(t)
	g := u.gate()
	u.publishes(greets, "--env", "PIPE="+g.pipe)
	waits := u.waiting("shard 1 RUNNING", "job", "trigger", "nightly", "--parameter", g.path, "--wait")
	var runs []struct{ ExecutionID string }
	decode(u, u.does("run", "list", "--state", "RUNNING", "-o", "json"), &runs)
	if len(runs) != 1 {
		t.Fatalf("%d runs are running: %s", len(runs), u.does("run", "list", "-o", "json"))
	}
	var run struct{ Shards []struct{ TaskID string } }
	decode(u, u.does("run", "show", runs[0].ExecutionID, "-o", "json"), &run)
	u.has(u.does("job", "list"), "RUNNING", "2")
	u.has(u.does("job", "explain", "nightly"), "running:", runs[0].ExecutionID+" shard 0: RUNNING")
	u.has(u.does("run", "kill", run.Shards[0].TaskID), "task ", "is being killed")
	u.has(u.does("run", "kill", runs[0].ExecutionID), "run ", "is being killed")
	if got := waits(); got.status != 3 || !strings.Contains(got.out, "run KILLED") {
		t.Errorf("the wait ended with %+v", got)
	}
	u.fails(6, nil, "run", "kill", runs[0].ExecutionID)
}

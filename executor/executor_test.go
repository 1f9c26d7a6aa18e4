package executor_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// script writes a package of one shell script and returns its URL.
func script(t testing.TB, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

func taskOf(id, url string) wire.Task {
	return wire.Task{
		TaskID: id, ExecutionID: "e-1", JobName: "job", Item: 1, Total: 3, JobParameter: "all",
		ShardingParameter: "<one>",
		Source:            "NORMAL_TRIGGER", FireTime: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
		Attempt: 1,
		Package: wire.Package{URL: url, Cache: true}, Command: []string{"job.sh"}, KillGraceMillis: 60_000,
	}
}

func TestVersionAndByHand(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(binary, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "executor ") {
		t.Errorf("--version: %q, %v", out, err)
	}
	command := exec.Command(binary)
	command.Env = []string{"PATH=/bin"}
	out, _ = command.CombinedOutput()
	if command.ProcessState.ExitCode() != 2 || strings.Count(string(out), "\n") != 3 ||
		!strings.Contains(string(out), "scheduler --local") {
		t.Errorf("by hand: status %d, %q", command.ProcessState.ExitCode(), out)
	}
	command = exec.Command(binary)
	command.Env = []string{"MESOS_AGENT_ENDPOINT=127.0.0.1:1", "MESOS_RECOVERY_TIMEOUT=soon", "MESOS_SANDBOX=/tmp"}
	out, _ = command.CombinedOutput()
	for _, part := range []string{"MESOS_FRAMEWORK_ID is missing", "MESOS_EXECUTOR_ID is missing",
		`MESOS_RECOVERY_TIMEOUT is "soon"`} {
		if !strings.Contains(string(out), part) {
			t.Errorf("no %q in %q", part, out)
		}
	}
}

func TestFinishedTask(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := taskOf("t1", script(t, `echo "$# $1"; echo err >&2; cat; env >env.out`))
	task.Env = map[string]string{"OWN": "yes", "LANG": "de_DE.UTF-8", "ELASTICJOB_TASK_ID": "forged"}
	task.Package.Cache = false
	task.Command = []string{"sh", "-c",
		`echo "$# $0"; echo err >&2; cat; pwd; ls; env >env.out; cat env.out; sleep 0.2`}
	a.launch(task) // runs long enough to be reported as running
	_, status := a.await("t1", mesos.TASK_FINISHED)
	if got := a.states("t1"); got != "STARTING STARTING RUNNING FINISHED" {
		t.Errorf("states: %s", got)
	}
	if status.Dir != "tasks/1" || status.Sandbox != a.sandbox || status.ExitStatus == nil || *status.ExitStatus != 0 ||
		status.StartTime.IsZero() || status.CompleteTime.Before(status.StartTime) {
		t.Errorf("status: %+v", status)
	}
	context := `{"taskId":"t1","jobName":"job","shardingTotalCount":3,"jobParameter":"all","shardingItem":1,"shardingParameter":"<one>"}`
	out := a.read("tasks/1/stdout")
	head, _, _ := strings.Cut(out, "\n")
	if head != "0 "+context {
		t.Errorf("argument: %q", head)
	}
	if !json.Valid([]byte(context)) || a.read("tasks/1/stderr") != "err\n" {
		t.Errorf("stderr: %q", a.read("tasks/1/stderr"))
	}
	variables := map[string]string{}
	for line := range strings.SplitSeq(out, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			variables[name] = value
		}
	}
	for _, name := range []string{"USER", "LOGNAME", "SHELL"} { // of the user that runs this test
		if variables[name] == "" {
			t.Errorf("no %s", name)
		}
		delete(variables, name)
	}
	home, dir := variables["HOME"], variables["PWD"]
	delete(variables, "HOME")
	for _, name := range []string{"PWD", "_", "SHLVL", "OLDPWD"} { // the shell sets these
		delete(variables, name)
	}
	want := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "de_DE.UTF-8", "TZ": "UTC",
		"TMPDIR": a.sandbox + "/tmp/1", "OWN": "yes",
		"ELASTICJOB_SHARDING_CONTEXT": context, "ELASTICJOB_JOB_NAME": "job", "ELASTICJOB_TASK_ID": "t1",
		"ELASTICJOB_SHARDING_ITEM": "1", "ELASTICJOB_SHARDING_PARAMETER": "<one>",
		"ELASTICJOB_SHARDING_TOTAL_COUNT": "3",
		"ELASTICJOB_JOB_PARAMETER":        "all", "ELASTICJOB_PROPS": "{}", "ELASTICJOB_PIPE": "3,4",
		"ELASTICJOB_EXECUTION_SOURCE": "NORMAL_TRIGGER",
		"ELASTICJOB_WORK_DIR":         dir, "ELASTICJOB_PACKAGE_DIR": a.sandbox + "/packages/1/package",
		"PYTHONDONTWRITEBYTECODE": "1",
		"ELASTICJOB_FIRE_TIME":    "2026-01-02T03:04:05.678Z", "ELASTICJOB_EXECUTION_ID": "e-1",
		"ELASTICJOB_ATTEMPT": "1",
	}
	if diff := cmp.Diff(want, variables); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if home == "" || dir != a.sandbox+"/work/1" {
		t.Errorf("HOME %q, working folder %q", home, dir)
	}
	waitGone(t, dir)
	waitGone(t, a.sandbox+"/packages/1")
}

// TestArguments: a command gets its own arguments and, if the task says so, the sharding context after them.
func TestArguments(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	long := strings.Repeat("x", 200_000)
	for id, test := range map[string]struct {
		plain     bool
		command   string
		parameter string
		want      string
	}{
		"none":  {true, `printf '%s|\n' "$@"`, "all", "a b|\n"},
		"last":  {false, `printf '%s|\n' "$1" "${2##*Item}" $#`, "all", "a b|\n\":1,\"shardingParameter\":\"<one>\"}|\n2|\n"},
		"large": {true, `cat "$ELASTICJOB_JOB_PARAMETER_FILE"; tail -c 4 "$ELASTICJOB_SHARDING_CONTEXT_FILE"; env | grep -c '^ELASTICJOB.*_FILE=\|xxxx\|CONTEXT='`, long, long + `e>"}2` + "\n"},
	} {
		task := taskOf(id, script(t, ":"))
		task.Command, task.PlainCommand, task.JobParameter = []string{"sh", "-c", test.command, "sh", "a b"},
			test.plain, test.parameter
		a.launch(task)
		_, status := a.await(id, mesos.TASK_FINISHED)
		if got := a.read(status.Dir + "/stdout"); got != test.want {
			t.Errorf("%s: got %.200q, want %.200q", id, got, test.want)
		}
	}
}

func waitGone(t testing.TB, path string) {
	t.Helper()
	for end := time.Now().Add(deadline); ; <-time.After(time.Millisecond) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", path)
		}
	}
}

func TestCachedPackageIsFetchedOnce(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, "#!/bin/sh\necho $ELASTICJOB_PACKAGE_DIR\n")
	}))
	defer server.Close()
	a := newAgent(t)
	for i := range 20 {
		task := taskOf(fmt.Sprint("t", i), server.URL+"/job.sh")
		a.launch(task)
	}
	for i := range 20 {
		a.await(fmt.Sprint("t", i), mesos.TASK_FINISHED)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	a.launch(taskOf("later", server.URL+"/job.sh"))
	a.await("later", mesos.TASK_FINISHED)
	if got := a.states("later"); strings.Contains(got, "STARTING") {
		t.Errorf("states without a fetch: %s", got)
	}
	if out := a.read("tasks/21/stdout"); !strings.Contains(out, "/"+cacheName()+"/content/") ||
		strings.HasPrefix(out, a.sandbox) {
		t.Errorf("ran in %s", out)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	plain := script(t, "exit 0")
	for _, test := range []struct {
		name   string
		change func(*wire.Task)
		phase  string
		cause  []string
	}{
		{"status", func(w *wire.Task) { w.Package.URL = script(t, `printf '\033[31mno\033[0m luck\a\n' >&2; exit 7`) }, "RUN", []string{"exit status 7; end of stderr:\nno luck"}},
		{"stdout", func(w *wire.Task) { w.Package.URL = script(t, `echo told; exit 1`) }, "RUN", []string{"end of stdout:\ntold"}},
		{"silent", func(w *wire.Task) { w.Package.URL = script(t, `exit 1`) }, "RUN", []string{"it wrote nothing"}},
		{"long", func(w *wire.Task) { w.Package.URL = script(t, `seq 1 100000 >&2; exit 1`) }, "RUN", []string{"99999\n100000", "…"}},
		{"signal", func(w *wire.Task) { w.Package.URL = script(t, `kill -9 $$`) }, "RUN", []string{"signal 9 (killed)", "out of memory"}},
		{"missing", func(w *wire.Task) { w.Command = []string{"bin/jbo.sh"} }, "START", []string{`bin/jbo.sh is not in the package, which holds job.sh: name one of its files`}},
		{"nowhere", func(w *wire.Task) { w.Command = []string{"no-such-program"} }, "START", []string{"no-such-program is neither in the PATH of this agent (/usr/local/sbin"}},
		{"up", func(w *wire.Task) { w.Command = []string{"../job.sh"} }, "START", []string{"leads out of the package"}},
		{"empty", func(w *wire.Task) { w.Command = nil }, "START", []string{"no command"}},
		{"interpreter", func(w *wire.Task) { w.Package.URL = file(t, "#!/no/such/shell\n") }, "START", []string{`the first line of job.sh names "/no/such/shell", which is not on this agent: install it, or name another interpreter`}},
		{"a marked script", func(w *wire.Task) { w.Package.URL = file(t, "\ufeff#!/bin/sh\necho\n") }, "START", []string{"byte order mark"}},
		{"dos", func(w *wire.Task) { w.Package.URL = file(t, "#!/bin/sh\r\necho\r\n") }, "START", []string{"the first line of job.sh ends with a carriage return: save the script with Unix line ends"}},
		{"dos for env", func(w *wire.Task) { w.Package.URL = file(t, "#!/usr/bin/env sh\r\necho\r\n") }, "RUN", []string{"exit status 127; the first line of job.sh ends with a carriage return: save the script with Unix line ends; end of stderr:"}},
		{"no such program for env", func(w *wire.Task) { w.Package.URL = file(t, "#!/usr/bin/env nosuchpython\n") }, "RUN", []string{`exit status 127; the first line of job.sh names "nosuchpython", which is not in the PATH of this agent (`}},
		{"wrong argument", func(w *wire.Task) { w.Command = []string{"sh", "jb.sh"} }, "RUN", []string{"; jb.sh is not in the package; did you mean job.sh?; end of stderr:"}},
		{"text", func(w *wire.Task) { w.Package.URL = file(t, "echo no first line\n") }, "START", []string{"neither a program"}},
		{"dead", func(w *wire.Task) { w.Package.URL = "http://127.0.0.1:1/p.tar" }, "FETCH", []string{"http://127.0.0.1:1/p.tar", "connection refused"}},
		{"no file", func(w *wire.Task) { w.Package.URL = "file:///no/such" }, "FETCH", []string{"no such file"}},
		{"scheme", func(w *wire.Task) { w.Package.URL = "ftp://h/p.tar" }, "FETCH", []string{`scheme "ftp" isn't supported`}},
		{"sum", func(w *wire.Task) { w.Package.SHA256 = strings.Repeat("0", 64) }, "FETCH", []string{"but the app's is 0000"}},
		{"page", func(w *wire.Task) { w.Package.URL = file(t, "<!DOCTYPE html><html>") }, "UNPACK", []string{"web page"}},
		{"long argument", func(w *wire.Task) { w.JobParameter = strings.Repeat("x", 200_000) }, "START", []string{"too long", "script.context.argument"}},
	} {
		for _, cache := range []bool{true, false} {
			task := taskOf(fmt.Sprint(test.name, " ", cache), plain)
			test.change(&task)
			task.Package.Cache = cache
			a.launch(task)
			update, status := a.await(task.TaskID, mesos.TASK_FAILED)
			for _, part := range test.cause {
				if !strings.Contains(status.Cause, part) {
					t.Errorf("%s: no %q in %q", task.TaskID, part, status.Cause)
				}
			}
			if status.Phase != test.phase || len([]rune(status.Cause)) > 4300 || len(update.GetMessage()) > 1000 {
				t.Errorf("%s: phase %s, message %q", task.TaskID, status.Phase, update.GetMessage())
			}
		}
	}
	a.launch(taskOf("after all that", plain))
	a.await("after all that", mesos.TASK_FINISHED)
}

func file(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

func TestBadTaskData(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.event(mesosexec.Event{Type: mesosexec.Event_LAUNCH, Launch: &mesosexec.Event_Launch{Task: mesos.TaskInfo{
		TaskID: mesos.TaskID{Value: "x"}, AgentID: mesos.AgentID{Value: "S0"}, Data: []byte(`{"v":99}`),
	}}})
	if _, status := a.await("x", mesos.TASK_FAILED); !strings.Contains(status.Cause, "update the executor") {
		t.Errorf("cause: %q", status.Cause)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	task := taskOf("gentle", script(t,
		`trap 'echo bye; echo why >&2; exit 0' TERM; echo up; while :; do sleep 0.01; done`))
	a.launch(task)
	_, status := a.await("gentle", mesos.TASK_RUNNING)
	a.read(status.Dir + "/stdout")
	a.kill("gentle")
	a.kill("gentle")
	if _, status = a.await("gentle", mesos.TASK_KILLED); !strings.Contains(a.read(status.Dir+"/stdout"), "bye") ||
		!strings.HasPrefix(status.Cause, "killed; end of stderr:\n") || !strings.HasSuffix(status.Cause, "why") ||
		status.Forced {
		t.Errorf("unexpected status %+v", status)
	}
	task = taskOf("deaf", script(t,
		`trap '' TERM; setsid sh -c 'trap "" TERM; echo $$; exec sleep 1000' & while :; do sleep 0.01; done`))
	task.KillGraceMillis = 50
	a.launch(task)
	_, status = a.await("deaf", mesos.TASK_RUNNING)
	child := strings.TrimSpace(a.read(status.Dir + "/stdout"))
	a.kill("deaf")
	if _, status = a.await("deaf", mesos.TASK_KILLED); status.Signal != "killed" || status.ExitStatus != nil ||
		!status.Forced {
		t.Errorf("unexpected status %+v", status)
	}
	waitGone(t, "/proc/"+child)
	a.kill("never heard of")
}

func TestKillWhileFetching(t *testing.T) {
	t.Parallel()
	requested := make(chan struct{}, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requested <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	a := newAgent(t)
	for _, cache := range []bool{true, false} {
		task := taskOf(fmt.Sprint(cache), server.URL)
		task.Package.Cache = cache
		a.launch(task)
		<-requested
		a.kill(task.TaskID)
		a.await(task.TaskID, mesos.TASK_KILLED)
		if got := a.states(task.TaskID); got != "STARTING KILLED" {
			t.Errorf("states: %s", got)
		}
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fakeAgent){
		"SHUTDOWN": func(a *fakeAgent) { a.event(mesosexec.Event{Type: mesosexec.Event_SHUTDOWN}) },
		"SIGTERM":  func(a *fakeAgent) { _ = a.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, env("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", "3secs"))
			a.launch(taskOf("gentle", script(t,
				`trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`)))
			a.launch(taskOf("deaf", script(t, `trap '' TERM; echo up; while :; do sleep 0.01; done`)))
			for _, id := range []string{"gentle", "deaf"} {
				_, status := a.await(id, mesos.TASK_RUNNING)
				a.read(status.Dir + "/stdout")
			}
			begun := time.Now()
			end(a)
			if status := a.exit(); status != 0 || time.Since(begun) > 3*time.Second {
				t.Errorf("exit status %d after %v", status, time.Since(begun))
			}
			a.await("deaf", mesos.TASK_KILLED)
			if _, status := a.await("gentle", mesos.TASK_KILLED); !strings.Contains(status.Cause, "shut down") {
				t.Errorf("unexpected cause %q", status.Cause)
			}
		})
	}
}

func TestIdleEndsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.event(mesosexec.Event{Type: mesosexec.Event_SHUTDOWN})
	if status := a.exit(); status != 0 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
}

// TestMemory: an executor and its supervisor use little memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	url := script(t, "exit 0")
	for i := range 200 {
		a.launch(taskOf(fmt.Sprint(i), url))
	}
	for i := range 200 {
		a.await(fmt.Sprint(i), mesos.TASK_FINISHED)
	}
	for _, pid := range inSession(a.cmd.Process.Pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), "VmRSS:")
		var kilobytes int
		if _, err := fmt.Sscan(after, &kilobytes); err != nil || kilobytes > 30<<10 {
			t.Errorf("process %d: %d kB (%v)", pid, kilobytes, err)
		} else {
			t.Logf("process %d: %d kB", pid, kilobytes)
		}
	}
}

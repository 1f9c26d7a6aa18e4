package executor_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TestPod checks the exit status of a container, its output, and its termination message.
func TestPod(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(target.Close)
	for name, tt := range map[string]struct {
		script         string
		change         func(*wire.Task)
		status         int
		stdout, stderr string // stderr is a part of it
		phase, cause   string // in the message; cause is a part of it
	}{
		"finished":        {"echo out; echo err >&2", nil, 0, "out\n", "err\n", "", ""},
		"exit status":     {"echo out; echo why >&2; exit 3", nil, 3, "out\n", "why\n", wire.PhaseRun, "exit status 3; end of stderr:\nwhy"},
		"silent":          {"echo out; exit 4", nil, 4, "out\n", "", wire.PhaseRun, "exit status 4; it wrote nothing to stderr"},
		"signal":          {"kill -SEGV $$", nil, 139, "", "", wire.PhaseRun, "ended by signal 11 (segmentation fault)"},
		"shot":            {"kill -KILL $$", nil, 137, "", "", wire.PhaseRun, "the pod may have reached its memory limit, which is the job's memoryMB"},
		"in a line":       {"printf begun; printf ' and ended'", nil, 0, "begun and ended", "", "", ""},
		"much":            {"head -c 3000000 /dev/zero | tr '\\0' x", nil, 0, strings.Repeat("x", 3_000_000), "", "", ""},
		"much of errors":  {"head -c 300000 /dev/zero | tr '\\0' x >&2; printf '\\n<last>' >&2; exit 1", nil, 1, "", strings.Repeat("x", 300_000) + "\n<last>", wire.PhaseRun, "xxx\n<last>"},
		"opened again":    {"echo out >/dev/stdout; echo err >/dev/stderr; exit 1", nil, 1, "out\n", "err\n", wire.PhaseRun, "err"},
		"no command":      {":", func(task *wire.Task) { task.Command = []string{"jib.sh"} }, 125, "", "executor pod: jib.sh", wire.PhaseStart, "jib.sh is neither in the PATH of this container ("},
		"no interpreter":  {":", func(task *wire.Task) { task.Command = []string{"/nonexistent"} }, 125, "", "executor pod: there", wire.PhaseStart, "there is no file /nonexistent in this container"},
		"no package":      {":", func(task *wire.Task) { task.Package.URL = "file:///nonexistent" }, 125, "", "executor pod: ", wire.PhaseFetch, "nonexistent"},
		"broken package":  {":", func(task *wire.Task) { task.Package.URL = file(t, "\x1f\x8bno") }, 125, "", "executor pod: ", wire.PhaseUnpack, ""},
		"wrong package":   {":", func(task *wire.Task) { task.Package.SHA256 = strings.Repeat("0", 64) }, 125, "", "executor pod: ", wire.PhaseFetch, "but the app's is 000"},
		"a request":       {":", func(task *wire.Task) { onlyRequest(task, target.URL, http.MethodGet) }, 0, "HTTP/1.1 200 OK\n", "", "", ""},
		"refused request": {":", func(task *wire.Task) { onlyRequest(task, target.URL, http.MethodPut) }, 1, "HTTP/1.1 418 I'm a teapot\n", "", wire.PhaseRun, "answered 418"},
		"secret": {`echo "$PASSWORD"; echo "$PASSWORD" >&2; exit 1`, func(task *wire.Task) { task.Env = map[string]string{"PASSWORD": "hunter22hunter22"} },
			1, "hunter22hunter22\n", "hunter22hunter22\n", wire.PhaseRun, "end of stderr:\n***"},
		"a variable of the container": {`echo "$OWN"`, func(task *wire.Task) { task.EnvVariables = map[string]string{"OWN": "HOME"} }, 0, "/home/of-image\n", "", "", ""},
		"no such variable": {":", func(task *wire.Task) { task.EnvVariables = map[string]string{"OWN": "NOWHERE"} },
			125, "", "executor pod: env.OWN", wire.PhaseStart,
			"env.OWN: the container's environment has no NOWHERE"},
		"a mounted file": {`echo "$OWN"`, func(task *wire.Task) {
			task.EnvFiles = map[string]string{"OWN": strings.TrimPrefix(file(t, "mounted"), "file://")}
		}, 0, "mounted\n", "", "", ""},
		"failed by an answer": {`echo '{"type":"hello","version":1}' >&4; read -r run <&3; echo '{"type":"done","run":"1","error":"no luck"}' >&4`, nil, 1, "", "", wire.PhaseRun, "no luck"},
		"left behind":         {"(setsid sleep 1000 &) ; (sleep 1000 &); echo out", nil, 0, "out\n", "", "", "it left 2 processes running, which were killed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := taskOf("t", script(t, tt.script))
			if tt.change != nil {
				tt.change(&task)
			}
			p := startPod(t, podDir(t), task, nil)
			status, left := p.end()
			text, stderr := p.text.String(), p.stderr.String()
			if status != tt.status || text != tt.stdout || !strings.Contains(stderr, tt.stderr) ||
				tt.stderr == "" && stderr != "" {
				t.Errorf("status %d, stdout %.300q, stderr %.300q; want %d, %.300q, %.300q", status, text, stderr,
					tt.status, tt.stdout, tt.stderr)
			}
			if left.Phase != tt.phase || !strings.Contains(left.Cause, tt.cause) ||
				tt.cause == "" && tt.status == 0 && left.Cause != "" || left.Dir != "" {
				t.Errorf("termination message %+v", left)
			}
			if begun := status != 125; left.StartTime.IsZero() == begun || left.CompleteTime.IsZero() == begun {
				t.Errorf("began %s, ended %s", left.StartTime, left.CompleteTime)
			}
		})
	}
}

func onlyRequest(task *wire.Task, url, method string) {
	task.Package, task.Command = wire.Package{}, nil
	task.HTTP = &wire.HTTP{URL: url, Method: method, ConnectTimeoutMillis: 60_000, ReadTimeoutMillis: 60_000}
}

// TestPodFetches: a fetch in the container itself is reported at its beginning and at its end. Without a fetch there is
// no such record.
func TestPodFetches(t *testing.T) {
	t.Parallel()
	p := startPod(t, podDir(t), taskOf("t", script(t, `cat "$ELASTICJOB_PACKAGE_DIR"/job.sh >/dev/null && pwd`)), nil)
	if status, left := p.end(); status != 0 || len(left.PackageSHA256) != 64 {
		t.Errorf("exit status %d, termination message %+v", status, left)
	}
	if len(p.records) != 2 || p.records[0].Status.Phase != wire.PhaseFetch || p.records[1].Status.Phase != "" {
		t.Errorf("unexpected output: %v", &unwanted{"", p.records})
	}
	task := taskOf("t", "")
	task.Command = []string{"sh", "-c", "pwd; echo $ELASTICJOB_WORK_DIR$ELASTICJOB_PACKAGE_DIR"}
	p = startPod(t, podDir(t), task, nil)
	if status, _ := p.end(); status != 0 || len(p.records) != 0 {
		t.Errorf("status %d, %v", status, &unwanted{"", p.records})
	}
	if lines := strings.Fields(p.text.String()); len(lines) != 2 || lines[0] != lines[1] ||
		!strings.HasPrefix(lines[0], p.dir+"/") {
		t.Errorf("worked in %q", lines)
	}
}

// TestPodPrepared: an init container leaves the program and the package for a container of another image, which
// fetches nothing.
func TestPodPrepared(t *testing.T) {
	t.Parallel()
	dir := podDir(t)
	url := script(t, `echo "$0 $*" | cut -c -500; cat job.sh >/dev/null`)
	first := startPod(t, dir, taskOf("t", url), nil, "--prepare")
	status, prepared := first.end()
	if status != 0 || len(prepared.PackageSHA256) != 64 || first.text.String()+first.stderr.String() != "" ||
		len(first.records) != 0 {
		t.Fatalf("status %d, %+v, %q, %q", status, prepared, first.text.String(), first.stderr.String())
	}
	if err := os.Remove(strings.TrimPrefix(url, "file://")); err != nil {
		t.Fatal(err)
	}
	p := startPod(t, dir, taskOf("t", url), func(c *exec.Cmd) { c.Path = filepath.Join(dir, "executor") })
	status, left := p.end()
	if status != 0 || left.PackageSHA256 != prepared.PackageSHA256 || len(p.records) != 0 ||
		!strings.Contains(p.text.String(), "/job.sh {") {
		t.Errorf("status %d, %+v, %q, %v", status, left, p.stderr.String(), &unwanted{p.text.String(), p.records})
	}
	broken := startPod(t, podDir(t), taskOf("t", "http://127.0.0.1:1/job.sh"),
		func(c *exec.Cmd) { c.Env = append(c.Env, "ELASTICJOB_PACKAGE_TRIES=1") }, "--prepare")
	if status, left := broken.end(); status != 125 || left.Phase != wire.PhaseFetch ||
		left.Unreachable != "127.0.0.1:1" || !strings.Contains(broken.stderr.String(), "127.0.0.1:1") {
		t.Errorf("status %d, %+v, %q", status, left, broken.stderr.String())
	}
}

// TestPodImage: without a package a process starts in the image's working folder, and finds its command there.
func TestPodImage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "own.sh"),
		[]byte("#!/bin/sh\npwd; echo $FROM_IMAGE $ELASTICJOB_TASK$ELASTICJOB_POD_DIR; touch $ELASTICJOB_WORK_DIR/x $TMPDIR/x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	task := taskOf("t", "")
	task.Command = []string{"./own.sh"}
	p := startPod(t, podDir(t), task, func(c *exec.Cmd) {
		c.Dir, c.Env = folder, append(c.Env, "FROM_IMAGE=yes")
	})
	if status, left := p.end(); status != 0 || p.text.String() != folder+"\nyes\n" {
		t.Errorf("status %d, %+v, %q, %q", status, left, p.text.String(), p.stderr.String())
	}
}

// TestPodTaskInAFile: a container can read the description of its task, which has secrets, from a file.
func TestPodTaskInAFile(t *testing.T) {
	t.Parallel()
	task := taskOf("t", script(t, `echo "${#BIG} $ELASTICJOB_TASK_FILE"`))
	task.Env = map[string]string{"BIG": strings.Repeat("x", 100_000)}
	data, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(file(t, string(data)), "file://")
	in := func(path string) func(*exec.Cmd) {
		return func(c *exec.Cmd) {
			c.Env = append(c.Env[:2:2], c.Env[3:]...) // without ELASTICJOB_TASK
			c.Env = append(c.Env, "ELASTICJOB_TASK_FILE="+path)
		}
	}
	p := startPod(t, podDir(t), wire.Task{}, in(path))
	if status, left := p.end(); status != 0 || p.text.String() != "100000 \n" {
		t.Errorf("status %d, %+v, %q", status, left, p.text.String())
	}
	p = startPod(t, podDir(t), wire.Task{}, in("/nonexistent"))
	if status, left := p.end(); status != 125 ||
		!strings.Contains(left.Cause, "read the task's description: open /nonexistent") {
		t.Errorf("exit status %d, termination message %+v", status, left)
	}
	p = startPod(t, podDir(t), wire.Task{},
		func(c *exec.Cmd) { c.Env = append(c.Env, "ELASTICJOB_TASK={}", "ELASTICJOB_PACKAGE_BYTES=many") },
		"--package-files=0")
	if status, left := p.end(); status != 125 || !strings.Contains(left.Cause, "version 0") ||
		!strings.Contains(left.Cause, "ELASTICJOB_PACKAGE_BYTES") ||
		!strings.Contains(left.Cause, "--package-files=0") {
		t.Errorf("exit status %d, termination message %+v", status, left)
	}
	byHand := exec.Command(binary, "pod")
	byHand.Env = []string{}
	if out, _ := byHand.CombinedOutput(); byHand.ProcessState.ExitCode() != 2 ||
		!strings.HasPrefix(string(out), "usage: executor pod ") {
		t.Errorf("by hand: %d %q", byHand.ProcessState.ExitCode(), out)
	}
}

// TestPodProgress: progress is in the output as records, whatever the job writes between them.
func TestPodProgress(t *testing.T) {
	t.Parallel()
	task := taskOf("t", script(t, `printf 'in a line'
echo '{"type":"progress","fraction":0.5,"message":"half"}' >&4
while [ ! -e $MARK ]; do sleep 0.02; done; echo " and on"`))
	mark := filepath.Join(t.TempDir(), "mark")
	task.Env = map[string]string{"MARK": mark}
	p := startPod(t, podDir(t), task, nil)
	p.until("progress", func(_ string, records []wire.PodRecord) bool {
		for _, r := range records {
			if r.Report != nil && len(r.Report.Tasks) == 1 && r.Report.Tasks[0].TaskID == "t" &&
				r.Report.Tasks[0].Progress.Fraction == 0.5 {
				return true
			}
		}
		return false
	})
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _ := p.end(); status != 0 || p.text.String() != "in a line and on\n" {
		t.Errorf("status %d, %q", status, p.text.String())
	}
}

// TestPodDaemon: each run of a daemon's shard is reported in the output at once. The termination message has the last
// run and the counts.
func TestPodDaemon(t *testing.T) {
	t.Parallel()
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	for name, tt := range map[string]struct {
		task  wire.Task
		state string
		cause string
	}{
		"one run":  {daemonOf("d", script(t, "echo ran; echo trouble >&2; exit 3")), wire.RunFailed, "exit status 3; end of stderr:\ntrouble"},
		"resident": {daemonOf("d", residentScript(t, `echo ran`)), wire.RunFinished, ""},
		"request": {func() wire.Task {
			task := daemonOf("d", "")
			onlyRequest(&task, target.URL, http.MethodGet)
			return task
		}(), wire.RunFinished, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPod(t, podDir(t), tt.task, nil)
			ended := func(records []wire.PodRecord) (runs []wire.Run) {
				for _, r := range ofRuns(records) {
					if r.State == tt.state {
						runs = append(runs, r)
					}
				}
				return runs
			}
			p.until("two runs", func(_ string, records []wire.PodRecord) bool { return len(ended(records)) >= 2 })
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			status, left := p.end()
			runs := ofRuns(p.records)
			last := runs[len(runs)-1]
			if status != 143 || left.Totals == nil || left.Totals.Runs < 2 || left.Run == nil ||
				left.Run.Number < last.Number || left.StartTime.IsZero() {
				t.Errorf("exit status %d, termination message %+v", status, left)
			}
			for _, r := range ended(p.records) {
				if r.Cause != tt.cause {
					t.Errorf("run %d: %q", r.Number, r.Cause)
				}
			}
			for _, r := range p.records {
				if r.Report != nil {
					t.Errorf("a report of a daemon without progress: %+v", r.Report)
				}
			}
		})
	}
}

// TestPodMemory: an executor uses little of its job's memory.
func TestPodMemory(t *testing.T) {
	t.Parallel()
	task := taskOf("t", "")
	task.Command = []string{"sh", "-c", "sed -n 's/^RssAnon:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status"}
	p := startPod(t, podDir(t), task, nil)
	if status, left := p.end(); status != 0 {
		t.Fatalf("status %d, %+v", status, left)
	}
	const limit = 10_000
	if used, err := strconv.Atoi(strings.TrimSpace(p.text.String())); err != nil || used <= 0 || used > limit {
		t.Errorf("the executor uses %d kB, want at most %d: %v", used, limit, err)
	}
}

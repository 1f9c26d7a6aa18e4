package executor_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// eventually waits until condition returns true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !condition(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in %v: %s", deadline, what)
		}
	}
}

// victim is a folder with a file that tasks must not reach.
type victim struct{ dir, file string }

func newVictim(t testing.TB) victim {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "victim")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	v := victim{dir, filepath.Join(dir, "file")}
	if err := os.WriteFile(v.file, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v victim) mustBeWhole(t testing.TB) {
	t.Helper()
	entries, _ := os.ReadDir(v.dir)
	if text, err := os.ReadFile(v.file); err != nil || string(text) != "precious" || len(entries) != 1 {
		t.Errorf("the victim contains %v, its file %.100q (%v)", entries, text, err)
	}
}

// mustEnd waits until every process whose pid is in the file is gone.
func mustEnd(t testing.TB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	for pid := range strings.FieldsSeq(string(text)) {
		eventually(t, "end of process "+pid, func() bool { return !alive(pid) })
	}
}

func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}

// diskUse returns how many bytes the files in a folder use on the disk.
func diskUse(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return bytes
}

// filesIn counts all entries below a folder except for its direct subfolders.
func filesIn(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir && (err != nil || !d.IsDir() || filepath.Dir(path) != dir) {
			n++
		}
		return nil
	})
	return n
}

// own is a shell function that finds the file of one of the script's streams.
const own = `own() { readlink /proc/$$/fd/$1; }; `

// hostileScripts are tasks that may harm only themselves. Those whose state is TASK_KILLED never end by themselves.
var hostileScripts = []struct {
	name, script string
	state        mesos.TaskState
	cause        string
}{
	{"leaves children", `for i in 1 2 3 4 5; do sleep 1000 & echo $! >>$PIDS; done`, mesos.TASK_FINISHED, ""},
	{"leaves children in sessions of their own",
		`for i in 1 2 3; do setsid sh -c 'trap "" TERM HUP; echo $$ >>$PIDS; sleep 1000; sleep 1000' & done
		while [ "$(wc -l <$PIDS)" -lt 3 ]; do sleep 0.01; done`, mesos.TASK_FINISHED, ""},
	{"leaves a child without its environment", `setsid env -i /bin/sh -c 'echo $$ >>$0; exec /bin/sleep 1000' $PIDS & while [ ! -s $PIDS ]; do sleep 0.01; done`, mesos.TASK_FINISHED, ""},
	{"leaves a daemon", `setsid env -i /bin/sh -c 'cd /; (exec </dev/null >/dev/null 2>&1; echo $(exec sh -c "echo \$PPID") >>$0; sleep 1000; sleep 1000) &' $PIDS
		while [ ! -s $PIDS ]; do sleep 0.01; done`, mesos.TASK_FINISHED, ""},
	// Each part is larger than what is kept; the next one waits until the executor has cut the file, however busy
	// the machine is.
	{"prints much", own + `f=$(own 1); for i in $(seq 1 32); do head -c 33554432 /dev/zero; while [ $(($(stat -c %b "$f") * 512)) -gt 16908288 ]; do sleep 0.01; done; done`, mesos.TASK_FINISHED, ""},
	{"prints much without a line end", `head -c 100000000 /dev/zero | tr '\0' x >&2; exit 1`, mesos.TASK_FAILED, "exit status 1; end of stderr:\n…xxxxx"},
	{"closes its output", `exec >&- 2>&-; exit 3`, mesos.TASK_FAILED, "exit status 3; it wrote nothing"},
	{"prints what is no text", `head -c 100000 /dev/urandom >&2; printf '\377\376\200 real reason\n' >&2; exit 1`, mesos.TASK_FAILED, " real reason"},
	{"puts a pipe in the place of its output", own + `for i in 1 2; do f=$(own $i); rm $f; mkfifo $f; done; exit 1`, mesos.TASK_FAILED, "exit status 1; it wrote nothing"},
	{"puts a folder in the place of its output", own + `for i in 1 2; do f=$(own $i); rm $f; mkdir $f $f.1; touch $f.1/x; done; exit 1`, mesos.TASK_FAILED, "exit status 1; it wrote nothing"},
	{"puts links in the place of its output", own + `for i in 1 2; do f=$(own $i); ln -sf $VICTIM $f; done`, mesos.TASK_FINISHED, ""},
	{"puts hard links in the place of its output", own + `for i in 1 2; do f=$(own $i); ln -f $VICTIM $f; done`, mesos.TASK_FINISHED, ""},
	{"puts a link beside its output", own + `ln -s $VICTIM $(own 1).1; ln -s $VICTIM $(own 1).new; head -c 100000000 /dev/zero`, mesos.TASK_FINISHED, ""},
	{"cuts its output again and again", `for i in 1 2 3 4 5 6 7 8 9; do head -c 20000000 /dev/zero >/dev/stdout; done`, mesos.TASK_FINISHED, ""},
	{"kills its group", `sleep 1000 & kill -9 0`, mesos.TASK_FAILED, "ended by signal 9"},
	{"asks the supervisor to end", `for s in TERM INT HUP QUIT USR1; do kill -$s $PPID 2>/dev/null; done`, mesos.TASK_FINISHED, ""},
	{"stops the supervisor", `kill -STOP $PPID`, mesos.TASK_FINISHED, ""},
	{"writes too large a file", `ulimit -f 100; head -c 10000000 /dev/zero >$TMPDIR/x`, mesos.TASK_FAILED, ""},
	{"writes to a full disk", `cat /proc/version >/dev/full`, mesos.TASK_FAILED, "No space left on device"},
	{"forks like mad", `n() { echo x; [ $1 -gt 0 ] && { n $(($1-1)) & n $(($1-1)) & }; sleep 1000; }; n 7 & while [ "$(wc -l <$(readlink /proc/$$/fd/1))" -lt 255 ]; do sleep 0.01; done`, mesos.TASK_FINISHED, ""},
	{"forks sessions like mad", `echo $$ >>$PIDS; D=${D:-6}; if [ $D -gt 0 ]; then for i in 1 2; do D=$((D-1)) setsid "$0" & done; fi; exec sleep 1000`, mesos.TASK_KILLED, ""},
	{"is deaf", `trap '' TERM INT HUP; for i in 1 2 3; do setsid sh -c 'trap "" TERM; echo $$ >>$PIDS; sleep 1000; sleep 1000' & done; while :; do sleep 1; done`, mesos.TASK_KILLED, ""},
	{"makes many files", `cd $TMPDIR; seq 1 10000 | xargs touch`, mesos.TASK_FINISHED, ""},
	{"closes its folders", own + `mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 000 $TMPDIR/a/b $TMPDIR/a $TMPDIR; chmod 000 $(own 1)`, mesos.TASK_FINISHED, ""},
	{"puts a link in the place of its folder", `rm -rf $TMPDIR; ln -s $(dirname $VICTIM) $TMPDIR`, mesos.TASK_FINISHED, ""},
	{"puts a file in the place of its folder", `rm -rf $TMPDIR; echo x >$TMPDIR`, mesos.TASK_FINISHED, ""},
	{"makes a long way down", `cd $TMPDIR; d=$(printf 'n%.0s' $(seq 1 200)); i=0; while [ $i -lt 50 ]; do mkdir $d; cd -P $d 2>/dev/null || exit 0; i=$((i+1)); done`, mesos.TASK_FINISHED, ""},
}

// TestHostileProcesses: whatever tasks do, each ends with its reason, the executor and the other tasks are not
// affected, no process is left, and the disk space is freed. As root, the test also runs for another user
// (TestAsRoot…).
func TestHostileProcesses(t *testing.T) {
	t.Parallel()
	hostileProcesses(t, uint32(os.Geteuid()))
}

func hostileProcesses(t *testing.T, user uint32) {
	work, victims, pids := t.TempDir(), newVictim(t), t.TempDir()
	a := newAgentIn(t, work, as(t, user, work, pids, victims.dir, victims.file),
		env("ELASTICJOB_OUTPUT_FILE", "8MiB"), env("ELASTICJOB_OUTPUT_TASKS", "5"),
		env("ELASTICJOB_OUTPUT_BYTES", "64MiB"))
	a.launch(taskOf("neighbour", script(t, `echo $$; echo mine >$TMPDIR/file; exec sleep 1000`)))
	_, neighbour := a.await("neighbour", mesos.TASK_RUNNING)
	neighbourPID := strings.TrimSpace(a.read(neighbour.Dir + "/stdout"))

	// Files that one task writes into folders of other tasks are removed with those folders.
	a.launch(taskOf("scribbler", script(t,
		own+`d=$(dirname $(dirname $(own 1))); for x in $d/* $TMPDIR/../*; do echo spam >$x/spam; mkdir -p $x/more/and/more; done`)))
	a.await("scribbler", mesos.TASK_FINISHED)

	var peak int64
	stop, measured := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(measured)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				peak = max(peak, diskUse(a.sandbox))
			}
		}
	}()
	for i, hostile := range hostileScripts {
		file := filepath.Join(pids, strconv.Itoa(i))
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o666); err != nil {
			t.Fatal(err)
		}
		task := taskOf(hostile.name, script(t, hostile.script))
		task.Env = map[string]string{"PIDS": file, "VICTIM": victims.file}
		task.KillGraceMillis = 50
		a.launch(task)
		if hostile.state == mesos.TASK_KILLED {
			a.await(hostile.name, mesos.TASK_RUNNING)
			eventually(t, "processes of "+hostile.name, func() bool {
				text, _ := os.ReadFile(file)
				return len(strings.Fields(string(text))) >= 3
			})
			a.kill(hostile.name)
		}
	}
	for i, hostile := range hostileScripts {
		_, status := a.await(hostile.name, hostile.state)
		if hostile.state == mesos.TASK_FAILED && !strings.Contains(status.Cause, hostile.cause) {
			t.Errorf("%s: no %q in %.300q", hostile.name, hostile.cause, status.Cause)
		}
		if !utf8.ValidString(status.Cause) || strings.Contains(status.Cause, "\ufffd\ufffd") ||
			len(status.Cause) > 2000 {
			t.Errorf("%s: cause %q", hostile.name, status.Cause)
		}
		mustEnd(t, filepath.Join(pids, strconv.Itoa(i)))
	}
	close(stop)
	<-measured
	t.Logf("at most %d MB on the disk", peak>>20)
	if peak > 512<<20 {
		t.Errorf("%d MB were on the disk at once", peak>>20)
	}
	victims.mustBeWhole(t)
	eventually(t, "only the executor, its supervisor and the neighbour run",
		func() bool { return len(inSession(a.cmd.Process.Pid)) == 3 })
	if !alive(neighbourPID) {
		t.Error("another task was killed")
	}
	// Later tasks find their folders as they should be.
	for i := range 20 {
		a.launch(taskOf(fmt.Sprint("after ", i),
			script(t, `set -e; test -d $TMPDIR; test ! -L $TMPDIR; test -z "$(ls -A $TMPDIR)"; echo x >$TMPDIR/x; test ! -e $TMPDIR/../../tasks/$$; echo fine`)))
	}
	for i := range 20 {
		a.await(fmt.Sprint("after ", i), mesos.TASK_FINISHED)
	}
	a.kill("neighbour")
	a.await("neighbour", mesos.TASK_KILLED)
	victims.mustBeWhole(t)
	eventually(t, "the temporary folders are empty",
		func() bool { return filesIn(filepath.Join(a.sandbox, "tmp")) == 0 })
	eventually(t, "little is kept", func() bool { return diskUse(a.sandbox) < 80<<20 })
}

// as makes the executor run as a user, and makes the user the owner of the folders.
func as(t testing.TB, user uint32, folders ...string) option {
	return func(c *exec.Cmd) {
		if user == uint32(os.Geteuid()) {
			return
		}
		c.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
		for _, folder := range folders {
			if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
				t.Fatal(err)
			}
			err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				return os.Lchown(path, int(user), int(user))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTaskPutsPipesAhead: a task that creates pipes in the place of the output of later tasks does not affect these,
// and can be killed.
func TestTaskPutsPipesAhead(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	hostile := taskOf("hostile", script(t,
		own+`cd "$(own 1)/.."; for n in 2 3; do mkdir $n; mkfifo $n/stdout $n/stderr; done; echo ready; exec sleep 1000`))
	hostile.KillGraceMillis = 50
	a.launch(hostile)
	a.await("hostile", mesos.TASK_RUNNING)
	a.read("tasks/1/stdout")
	for i := range 3 {
		id := fmt.Sprint("after ", i)
		a.launch(taskOf(id, script(t, `echo fine`)))
		_, status := a.await(id, mesos.TASK_FINISHED)
		if text := a.read(status.Dir + "/stdout"); text != "fine\n" {
			t.Errorf("%s wrote %q", id, text)
		}
	}
	a.kill("hostile")
	a.await("hostile", mesos.TASK_KILLED)
}

// TestTaskKillsTheSupervisor: all tasks fail with that reason, and processes that left the session end too.
func TestTaskKillsTheSupervisor(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	pids := filepath.Join(t.TempDir(), "pids")
	a.launch(taskOf("other", script(t, fmt.Sprintf(`setsid env -i /bin/sh -c 'trap "" TERM; echo $$ >>%s; sleep 1000; sleep 1000' & echo $$ >>%[1]s; exec sleep 1000`, pids))))
	a.await("other", mesos.TASK_RUNNING)
	eventually(t, "two processes", func() bool {
		text, _ := os.ReadFile(pids)
		return len(strings.Fields(string(text))) == 2
	})
	a.launch(taskOf("killer", script(t, `kill -9 $PPID; exec sleep 1000`)))
	for _, id := range []string{"other", "killer"} {
		if _, status := a.await(id, mesos.TASK_FAILED); !strings.Contains(status.Cause,
			"supervises the executor's tasks was killed") {
			t.Errorf("%s: unexpected cause %q", id, status.Cause)
		}
	}
	if status := a.exit(); status != 1 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
	mustEnd(t, pids)
}

// TestAsRootForkChainsWithoutSupervisor: forty chains of processes that fork and end forever, each in its own session,
// outlive the supervisor that their task kills. The task's end is reported when none of them is left. A subshell
// begins the chains, because a shell ends when the user's process limit keeps it from beginning all of them. The chains
// belong to a user of their own: on a busy machine thousands of their processes wait to be reaped, and other tests of
// the same user could not fork meanwhile.
func TestAsRootForkChainsWithoutSupervisor(t *testing.T) {
	needsRoot(t)
	a := newAgentIn(t, openFolder(t), asUserOfItsOwn(t, uint32(1<<22+os.Getpid()), false))
	chain := "chain-" + t.TempDir()
	a.launch(taskOf("chains", script(t, fmt.Sprintf(`(i=0; while [ $i -lt 40 ]; do setsid sh -c 'f() { f & }; f' %s & i=$((i+1)); done); kill -9 $PPID; exec sleep 1000`, chain))))
	if _, status := a.await("chains", mesos.TASK_FAILED); !status.SupervisorLost ||
		strings.Contains(status.Cause, "left") {
		t.Errorf("unexpected status %+v", status)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), chain) {
			t.Errorf("%s is left: %q", file, line)
		}
	}
	if status := a.exit(); status != 1 {
		t.Errorf("the executor ended with the unexpected status %d", status)
	}
}

// TestTaskKillsItsSession: a task that kills every process of its session kills the executor, the supervisor and
// the other tasks. The agent sees that the executor has ended; no process is left.
func TestTaskKillsItsSession(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	pids := filepath.Join(t.TempDir(), "pids")
	a.launch(taskOf("other", script(t, fmt.Sprintf(`sleep 1000 & echo $! $$ >>%s; wait`, pids))))
	a.await("other", mesos.TASK_RUNNING)
	eventually(t, "two processes", func() bool {
		text, _ := os.ReadFile(pids)
		return len(strings.Fields(string(text))) == 2
	})
	// The script kills the processes of this session, which is the executor's.
	a.launch(taskOf("killer", script(t,
		fmt.Sprintf(`for p in $(ps -o pid= --sid %d); do [ $p = $$ ] || kill -9 $p; done; kill -9 $$`,
			a.cmd.Process.Pid))))
	a.exit()
	for _, pid := range inSession(a.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // an agent does this after an executor's end
	}
	mustEnd(t, pids)
}

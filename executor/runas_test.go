package executor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

const nobody = 65534

// runAs starts an agent that runs as root, and whose executor runs tasks as a user.
func runAs(t testing.TB, user string, options ...option) *fakeAgent {
	t.Helper()
	return newAgentIn(t, openFolder(t), append(options, env("ELASTICJOB_RUN_AS", user))...)
}

// openFolder returns a work folder that other users can reach.
func openFolder(t testing.TB) string {
	t.Helper()
	work := t.TempDir()
	for _, folder := range []string{work, filepath.Dir(work)} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return work
}

// asNobody makes root start an executor as an ordinary user.
func asNobody(t testing.TB) option {
	return func(cmd *exec.Cmd) {
		if os.Geteuid() != 0 {
			return
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(cmd.Dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAsRootTasksRunAsAnotherUser checks the user and groups of tasks, and their rights in each folder.
func TestAsRootTasksRunAsAnotherUser(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	for _, user := range []string{"nobody", "65534"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			a := runAs(t, user)
			said, _ := a.ran(taskOf("who", script(t, `id -u; id -g; id -G
echo "home $HOME"
cd "$ELASTICJOB_WORK_DIR" && echo mine >here && cat here
echo mine >"$TMPDIR/there" && cat "$TMPDIR/there"
echo again >>/dev/stdout
head -c 0 </proc/self/fd/3 && printf '' >/dev/fd/4 && echo "its pipes are opened"
stat -Lc '%u %a' /dev/stdout
chmod 777 /dev/stdout 2>/dev/null || echo "no output is its own"
(echo no >"$ELASTICJOB_PACKAGE_DIR/planted") 2>/dev/null || echo "no package is written to"
(ls /proc/$PPID/fd /proc/$PPID/root) >/dev/null 2>&1 || echo "no supervisor is looked into"
ls "$ELASTICJOB_WORK_DIR/../.." >/dev/null 2>&1 || echo "no sandbox is listed"
kill -9 $PPID 2>/dev/null || echo "no supervisor is killed"`)))
			want := "65534\n65534\n65534\nhome /nonexistent\nmine\nmine\nagain\nits pipes are opened\n0 660\nno output is its own\nno package is written to\nno supervisor is looked into\nno sandbox is listed\nno supervisor is killed\n"
			if said != want {
				t.Errorf("it wrote\n%s, want\n%s", said, want)
			}
		})
	}
}

// TestAsRootOtherUsersLinksAreNotFollowed: whatever a task leaves in its folders, root neither follows a link nor
// removes its target.
func TestAsRootOtherUsersLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	precious := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(precious, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(precious, "file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := runAs(t, "nobody", env("ELASTICJOB_KEEP_FAILED", "1"))
	// While this task forever swaps a folder of its own and a link to root's, other tasks end, and their folders
	// are restored and removed.
	racer := script(t, `cd "$TMPDIR/.." && mkdir -p own && while :; do for f in */; do ln -sfn `+precious+
		` "$f/link" 2>/dev/null; mv own away 2>/dev/null && ln -s `+precious+
		` own; rm -f own; mv away own 2>/dev/null; done; done`)
	a.launch(taskOf("racer", racer))
	a.await("racer", mesos.TASK_RUNNING)
	leavesLinks := script(t, `mkdir -p a/b "$TMPDIR/c"; ln -s `+precious+` a/b/link; ln -s `+precious+
		` "$TMPDIR/c/link"; ln `+"/etc/passwd"+
		` hard 2>/dev/null; mkdir closed && touch closed/file && chmod 0 closed; exit $((ELASTICJOB_SHARDING_ITEM % 2))`)
	for i := range 10 {
		task := taskOf(fmt.Sprint("t", i), leavesLinks)
		task.Item = i
		a.launch(task)
		a.await(task.TaskID, []mesos.TaskState{mesos.TASK_FINISHED, mesos.TASK_FAILED}[i%2])
	}
	a.kill("racer")
	a.await("racer", mesos.TASK_KILLED)
	info, err := os.Stat(precious)
	text, readErr := os.ReadFile(filepath.Join(precious, "file"))
	if err != nil || readErr != nil || string(text) != "precious" || info.Mode().Perm() != 0o700 {
		t.Errorf("the targets of the links: %v, %q, %v, %v", info.Mode(), text, err, readErr)
	}
	entries, err := os.ReadDir(precious)
	if err != nil || len(entries) != 1 {
		t.Errorf("root's folder has %v, %v", entries, err)
	}
	a.event(mesosexec.Event{Type: mesosexec.Event_SHUTDOWN})
	a.exit()
	kept, err := os.ReadDir(filepath.Join(a.sandbox, "kept"))
	if err != nil || len(kept) != 1 {
		t.Errorf("kept are %v, %v, want one failed task's folder", kept, err)
	}
	if _, err := os.Stat(filepath.Join(a.sandbox, "work")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("working folders are left: %v", err)
	}
}

// TestAsRootProcessesOfAnotherUserAreBounded: the limit is that of the user that tasks run as. The kernel counts
// all threads of a user, so this user must have none elsewhere: one that ended during the test would make room for
// the task.
func TestAsRootProcessesOfAnotherUserAreBounded(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	user := 3<<20 + os.Getpid()
	a := runAs(t, fmt.Sprintf("%d:%d", user, user), env("ELASTICJOB_PROCESSES", "20"))
	a.launch(taskOf("many", script(t, forkTooMuch)))
	if _, status := a.await("many", mesos.TASK_FAILED); !strings.Contains(strings.ToLower(status.Cause), "fork") {
		t.Errorf("unexpected cause %q", status.Cause)
	}
}

// TestAsRootPipesAndKillsOfAnotherUser: a task of another user uses the pipes that root has created. A kill ends its
// process even if the process ignores SIGTERM.
func TestAsRootPipesAndKillsOfAnotherUser(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	a := runAs(t, "nobody")
	said, _ := a.ran(taskOf("pipes", script(t,
		`echo '{"type":"progress","fraction":0.5,"message":"half"}' >&4; echo "$ELASTICJOB_PIPE"; setsid sleep 1000 >/dev/null 2>&1 & sleep 0.1`)))
	if said != "3,4\n" {
		t.Errorf("it wrote %q", said)
	}
	a.launch(taskOf("stubborn", script(t, `trap '' TERM; while :; do sleep 0.1; done`)))
	a.await("stubborn", mesos.TASK_RUNNING)
	a.killWithin("stubborn", 200*time.Millisecond)
	a.await("stubborn", mesos.TASK_KILLED)
}

// TestWhoTasksCannotRunAs: an executor that can't run tasks as the right user fails each task with that reason, and
// runs none.
func TestWhoTasksCannotRunAs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asRoot bool
		user   string
		want   string
	}{
		"root, not asked for":   {true, "", "--run-as root"},
		"an unknown user":       {true, "no-such-user", `user "no-such-user" is not known`},
		"an unknown number":     {true, "4294967290", "is not known"},
		"another one, not root": {false, "root", "only root can run processes as another user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.asRoot && os.Geteuid() != 0 {
				return // .ci/run also runs the test as root
			}
			mustRefuseTasks(t, c.asRoot, c.user, c.want)
		})
	}
}

// TestAsRootAFolderThatTheUserCannotEnterIsNamed: if the user of tasks can't enter a folder of the executor, each task
// fails, and the cause names the folder (isolation.Account.CheckEntry).
func TestAsRootAFolderThatTheUserCannotEnterIsNamed(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	work := t.TempDir() // only root can enter it
	a := newAgentIn(t, work, env("ELASTICJOB_RUN_AS", "nobody"))
	a.launch(taskOf("t", script(t, "exit 0")))
	if _, status := a.await("t", mesos.TASK_FAILED); !strings.Contains(status.Cause,
		"user nobody can't enter "+filepath.Dir(work)) {
		t.Errorf("unexpected cause %q", status.Cause)
	}
}

// mustRefuseTasks checks that an executor that must run tasks as the user fails a task with the cause want, and starts
// no process. The executor runs as root or, unless asRoot is set, as an ordinary user.
func mustRefuseTasks(t *testing.T, asRoot bool, user, want string) {
	a := newAgentIn(t, openFolder(t), env("ELASTICJOB_RUN_AS", user), func(cmd *exec.Cmd) {
		if !asRoot {
			asNobody(t)(cmd)
		}
	})
	mark := filepath.Join(t.TempDir(), "mark")
	a.launch(taskOf("t", script(t, "touch "+mark)))
	if _, status := a.await("t", mesos.TASK_FAILED); !strings.Contains(status.Cause, want) || status.Phase != "START" {
		t.Errorf("phase %s, cause %q, want %q", status.Phase, status.Cause, want)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the task's process was started")
	}
}

// TestNothingRunsThatSeesTooMuch: an executor that must hide something, but still sees it, does not subscribe, and
// says why.
func TestNothingRunsThatSeesTooMuch(t *testing.T) {
	t.Parallel()
	work := openFolder(t)
	cmd := exec.Command(binary)
	cmd.Dir, cmd.SysProcAttr = work, &syscall.SysProcAttr{}
	cmd.Env = []string{
		"MESOS_AGENT_ENDPOINT=127.0.0.1:1", "MESOS_FRAMEWORK_ID=F", "MESOS_EXECUTOR_ID=E",
		"MESOS_SANDBOX=" + work, "MESOS_DIRECTORY=" + work,
		`ELASTICJOB_HIDE={"folder":"/some/folder"}`,
	}
	asNobody(t)(cmd)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(said), "hide /some/folder from tasks") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestAnotherFolderIsNotHidden: if another folder is in the place of the one to hide, no task is run, because it
// would see the hidden folder elsewhere.
func TestAnotherFolderIsNotHidden(t *testing.T) {
	t.Parallel()
	work := openFolder(t)
	folder, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	is, err := isolation.IdentityOf(folder)
	if err != nil {
		t.Fatal(err)
	}
	other := is
	other.Inode++
	for want, is := range map[string]isolation.Identity{"": is, "another folder has its path": other} {
		places, err := json.Marshal(isolation.Places{Folder: work, FolderID: is})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, "can-hide")
		cmd.Dir, cmd.SysProcAttr, cmd.Env = work, &syscall.SysProcAttr{}, []string{"ELASTICJOB_HIDE=" + string(places)}
		asNobody(t)(cmd)
		said, err := cmd.CombinedOutput()
		if (err == nil) != (want == "") || !strings.Contains(string(said), want) {
			t.Errorf("%v: %s, want %q", err, said, want)
		}
	}
}

// TestPackagesAreWhatTheirUserCanRead: a task can't have a package file that is hidden from the task, neither by the
// file's name nor by a link to it.
func TestPackagesAreWhatTheirUserCanRead(t *testing.T) {
	t.Parallel()
	work := openFolder(t)
	hidden := filepath.Join(work, "data")
	secret, link := filepath.Join(hidden, "secret"), filepath.Join(work, "link")
	if err := errors.Join(os.Mkdir(hidden, 0o755), os.WriteFile(secret, []byte("#!/bin/sh\n"), 0o755),
		os.Symlink(secret, link)); err != nil {
		t.Fatal(err)
	}
	a := newAgentIn(t, work, asNobody(t),
		env("ELASTICJOB_HIDE", fmt.Sprintf(`{"folder":%q}`, hidden)), env("ELASTICJOB_ENTERED", hidden))
	for id, path := range map[string]string{"named": secret, "linked": link} {
		a.launch(taskOf(id, "file://"+path))
		if _, status := a.await(id, mesos.TASK_FAILED); !strings.Contains(status.Cause, "hidden from jobs") {
			t.Errorf("%s: cause %q", id, status.Cause)
		}
	}
}

// TestAsRootPackagesAreWhatTheirUserCanRead: nor can a task have a package file that only root can read.
func TestAsRootPackagesAreWhatTheirUserCanRead(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	a := runAs(t, "nobody")
	url := script(t, "exit 0")
	if err := os.Chmod(strings.TrimPrefix(url, "file://"), 0o700); err != nil {
		t.Fatal(err)
	}
	a.launch(taskOf("t", url))
	if _, status := a.await("t", mesos.TASK_FAILED); !strings.Contains(status.Cause,
		"permission denied: jobs run as user nobody,") {
		t.Errorf("unexpected cause %q", status.Cause)
	}
}

// TestAsRootNothingOfAnotherUsersTaskIsLeft: processes that have left their task's session and dropped its environment
// end with the task, even while other tasks run.
func TestAsRootNothingOfAnotherUsersTaskIsLeft(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	a := runAs(t, "nobody")
	a.launch(taskOf("neighbour", script(t, "exec sleep 1000")))
	a.await("neighbour", mesos.TASK_RUNNING)
	said, _ := a.ran(taskOf("t", script(t,
		`cd "$TMPDIR"; setsid env -i /bin/sh -c 'echo $$ >pid; exec /bin/sleep 1000' >/dev/null 2>&1 & while [ ! -s "$TMPDIR/pid" ]; do sleep 0.01; done; cat "$TMPDIR/pid"`)))
	if pid := strings.TrimSpace(said); pid == "" || alive(pid) {
		t.Errorf("process %q is left", pid)
	}
}

package executor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// forkToLimit is a task that starts as many processes as it may, reports that, and keeps them: its subshell ends
// with the first fork that fails.
const forkToLimit = `(while :; do sleep 1000 & done) 2>&-
echo '{"type":"progress","fraction":0.5,"message":"reached"}' >&4
exec sleep 1000`

// forkTooMuch is a task that starts more processes than it may have: sh ends at the first fork that fails.
const forkTooMuch = `i=0; while [ $i -lt 400 ]; do sleep 1000 & i=$((i+1)); done; echo all`

// asUserOfItsOwn makes root start an executor as an ordinary user whose processes all belong to this executor. hide
// hides a folder from tasks.
func asUserOfItsOwn(t testing.TB, user uint32, hide bool) option {
	folder := filepath.Join(openFolder(t), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return func(cmd *exec.Cmd) {
		if os.Geteuid() == 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
			for _, path := range []string{cmd.Dir, folder} {
				if err := os.Chown(path, int(user), int(user)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if hide {
			hideFrom(t, cmd, isolation.Places{Folder: folder})
		}
	}
}

// hideFrom prepares an executor's command so that the folder is hidden from the executor, as the agent does it.
func hideFrom(t testing.TB, cmd *exec.Cmd, places isolation.Places) {
	cmd.Env = append(cmd.Env, fmt.Sprintf(`ELASTICJOB_HIDE={"folder":%q}`, places.Folder))
	attr := cmd.SysProcAttr
	if err := places.Start(attr, &cmd.Env, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if as := attr.Credential; as != nil { // this user can't map its own groups
		as.NoSetGroups = true
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(as.Uid), HostID: int(as.Uid), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(as.Gid), HostID: int(as.Gid), Size: 1}}
	}
}

// TestProcessesAreBounded: a task may have only its number of processes, unless it runs as root, for whom the kernel
// has no such limit. Other tasks of the executor continue, and new ones can be started.
func TestProcessesAreBounded(t *testing.T) {
	for name, hide := range map[string]bool{"as its user": false, "in a namespace": true} {
		t.Run(name, func(t *testing.T) {
			user := uint32(1<<20 + os.Getpid())
			a := newAgentIn(t, openFolder(t), env("ELASTICJOB_PROCESSES", "20"), asUserOfItsOwn(t, user, hide))
			a.launch(taskOf("other", script(t, `exec sleep 1000`)))
			a.await("other", mesos.TASK_RUNNING)
			a.launch(taskOf("many", script(t, forkTooMuch)))
			_, status := a.await("many", mesos.TASK_FAILED)
			if !strings.Contains(strings.ToLower(status.Cause), "fork") {
				t.Errorf("unexpected cause %q", status.Cause)
			}
			a.launch(taskOf("few", script(t, `sleep 0 & wait`)))
			a.await("few", mesos.TASK_FINISHED)
			a.kill("other")
			a.await("other", mesos.TASK_KILLED)
		})
	}
}

// TestAsRootTasksLeaveTheExecutorItsThreads: a part of the user's limit is reserved for the executor and its
// supervisor. If they can't create a thread, their runtime ends them, and with them all tasks.
func TestAsRootTasksLeaveTheExecutorItsThreads(t *testing.T) {
	needsRoot(t)
	for name, hide := range map[string]bool{"as its user": false, "in a namespace": true} {
		t.Run(name, func(t *testing.T) {
			const limit, kept = 200, 200 / 8
			user := uint32(1<<21 + os.Getpid())
			a := newAgentIn(t, openFolder(t), asUserOfItsOwn(t, user, hide), func(cmd *exec.Cmd) {
				bounding, err := exec.LookPath("prlimit")
				if err != nil {
					t.Fatal(err)
				}
				cmd.Args = []string{bounding, fmt.Sprintf("--nproc=%d:%d", limit, limit), cmd.Path}
				cmd.Path = bounding
			})
			a.launch(taskOf("many", script(t, forkToLimit)))
			a.until("progress", func() bool { return len(a.reports) > 0 })
			// The executor may have started some threads since the limit was computed.
			if all := threadsOf(t, user); all < limit/2 || all > limit-kept/2 {
				t.Errorf("the user has %d threads of %d", all, limit)
			}
			a.kill("many")
			a.await("many", mesos.TASK_KILLED)
			a.launch(taskOf("few", script(t, `sleep 0 & wait`)))
			a.await("few", mesos.TASK_FINISHED)
		})
	}
}

// threadsOf counts the threads of a user.
func threadsOf(t testing.TB, user uint32) (n int) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, process := range all {
		info, err := os.Stat(process)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != user {
			continue
		}
		status, err := os.ReadFile(filepath.Join(process, "status"))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(status), "\nThreads:")
		count, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
		threads, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		n += threads
	}
	return n
}

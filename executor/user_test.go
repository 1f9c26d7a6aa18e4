package executor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// TestExecutorOfAUser is for the user that runs the tests, unless that is root (TestAsRootExecutorOfAnotherUser).
func TestExecutorOfAUser(t *testing.T) {
	t.Parallel()
	if user := uint32(os.Geteuid()); user != 0 {
		executorOf(t, user)
	}
}

// executorOf checks where a user's executor has its cache. An agent's work folder usually belongs to root, and each
// sandbox to its executor's user. Executors of several users share no cache. An executor that can't create a cache in
// the work folder has one in its sandbox.
func executorOf(t *testing.T, user uint32) {
	of := fmt.Sprint("elasticjob-cache-", user)
	for name, c := range map[string]struct {
		prepare func(work string) error
		cache   func(work, sandbox string) string
		warned  string
	}{
		"the work folder is root's": {
			func(work string) error { return os.Chmod(work, 0o555) }, // the same for a user who owns the folder
			func(_, sandbox string) string { return filepath.Join(sandbox, "cache") }, "permission denied",
		},
		"every user can write to the work folder": {
			func(work string) error {
				return os.Chmod(work, 0o1777)
			},
			func(work, _ string) string { return filepath.Join(work, of) }, "",
		},
		"root was here before": {
			func(work string) error {
				if err := os.MkdirAll(filepath.Join(work, "elasticjob-cache/locks"), 0o755); err != nil {
					return err
				}
				return os.Chmod(work, 0o777)
			},
			func(work, _ string) string { return filepath.Join(work, of) }, "",
		},
		"others can write to its folder": {
			func(work string) error {
				if err := os.Mkdir(filepath.Join(work, of), 0o755); err != nil {
					return err
				}
				return os.Chmod(filepath.Join(work, of), 0o777)
			},
			func(_, sandbox string) string { return filepath.Join(sandbox, "cache") }, of,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			if err := os.Chmod(filepath.Dir(work), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(work, 0o755) })
			a := newAgentIn(t, work, func(cmd *exec.Cmd) {
				if err := c.prepare(work); err != nil {
					t.Fatal(err)
				}
				if os.Geteuid() == 0 {
					cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
					if err := os.Chown(cmd.Dir, int(user), int(user)); err != nil {
						t.Fatal(err)
					}
				}
			})
			for _, id := range []string{"t1", "t2"} {
				a.launch(taskOf(id, script(t, "exit 0")))
				a.await(id, mesos.TASK_FINISHED)
			}
			kept, err := os.ReadDir(filepath.Join(c.cache(work, a.sandbox), "content"))
			if err != nil || len(kept) == 0 {
				t.Errorf("nothing is cached: %v, %v", kept, err)
			}
			text, _ := os.ReadFile(a.log.Name())
			if warned := strings.Contains(string(text), "cached in the sandbox"); warned != (c.warned != "") ||
				!strings.Contains(string(text), c.warned) {
				t.Errorf("want a warning with %q:\n%s", c.warned, text)
			}
		})
	}
}

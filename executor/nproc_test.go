package executor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// TestProcessesAreBounded: a task may have so many processes and no more, unless it runs as root, for whom the kernel has no
// such limit.
func TestProcessesAreBounded(t *testing.T) {
	work := t.TempDir()
	if err := os.Chmod(filepath.Dir(work), 0o755); err != nil {
		t.Fatal(err)
	}
	a := newAgentIn(t, work, env("ELASTICJOB_PROCESSES", "20"), func(cmd *exec.Cmd) {
		if os.Geteuid() == 0 {
			const nobody = 65534
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
			if err := os.Chown(cmd.Dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	})
	// sh gives up at the first fork that fails.
	a.launch(taskOf("many", script(t, `i=0; while [ $i -lt 400 ]; do sleep 1000 & i=$((i+1)); done; echo all`)))
	if _, status := a.await("many", mesos.TASK_FAILED); !strings.Contains(strings.ToLower(status.Cause), "fork") {
		t.Errorf("cause %q", status.Cause)
	}
	a.launch(taskOf("few", script(t, `sleep 0 & wait`)))
	a.await("few", mesos.TASK_FINISHED)
}

package executor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// BenchmarkTasks runs tasks as the executor's user (own). If root runs it, it also runs tasks of root's executor as
// another user (another), and the executor itself as an ordinary user, without and with a hidden folder (nobody,
// hidden).
func BenchmarkTasks(b *testing.B) {
	b.Run("own", func(b *testing.B) { benchmarkTasks(b, newAgent(b)) })
	if os.Geteuid() != 0 {
		return
	}
	b.Run("another", func(b *testing.B) { benchmarkTasks(b, runAs(b, "nobody")) })
	for name, hide := range map[string]string{"nobody": "", "hidden": "{\"folder\":%q}"} {
		b.Run(name, func(b *testing.B) {
			folder := b.TempDir()
			benchmarkTasks(b, newAgentIn(b, openFolder(b), asNobody(b), func(cmd *exec.Cmd) {
				if hide != "" {
					_ = os.Chown(folder, nobody, nobody)
					_ = os.Chmod(filepath.Dir(folder), 0o755)
					cmd.Env = append(cmd.Env, "ELASTICJOB_HIDE="+fmt.Sprintf(hide, folder))
				}
			}))
		})
	}
}

func benchmarkTasks(b *testing.B, a *fakeAgent) {
	url := script(b, "exit 0")
	n := 0
	for b.Loop() {
		n++
		task := taskOf(strconv.Itoa(n), url)
		task.Command = []string{"true"}
		a.launch(task)
		if n%64 == 0 {
			a.await(strconv.Itoa(n), mesos.TASK_FINISHED)
		}
	}
	a.await(strconv.Itoa(n), mesos.TASK_FINISHED)
}

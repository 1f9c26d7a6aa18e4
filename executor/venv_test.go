package executor_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// A virtual environment runs from the package as python -m venv has made it, with links to the machine's Python.
func TestAVirtualEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	build := exec.Command("/bin/sh", "-ec", `python3 -m venv --without-pip venv
echo 'where = __file__' >"$(echo venv/lib/python*/site-packages)/own.py"
echo 'import own, sys; print(own.where.startswith(sys.prefix), sys.prefix != sys.base_prefix)' >job.py
tar -czf app.tar.gz venv job.py`)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := newAgent(t)
	task := taskOf("t", "file://"+filepath.Join(dir, "app.tar.gz"))
	task.Command, task.PlainCommand = []string{"venv/bin/python", "job.py"}, true
	a.launch(task)
	_, status := a.await("t", mesos.TASK_FINISHED)
	if got := a.read(status.Dir + "/stdout"); got != "True True\n" {
		t.Errorf("it printed %q", got)
	}
}

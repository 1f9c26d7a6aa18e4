package executor_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// hostilePipes are scripts that misuse their pipe in a run, with and without a hello before. resident is the state in
// which the run of a resident process must end.
var hostilePipes = []struct{ name, script, resident string }{
	{"100 MB in a line", `head -c 100000000 /dev/zero >&4; echo >&4`, wire.RunFinished},
	{"arbitrary bytes", `head -c 3000000 /dev/urandom >&4; echo >&4`, wire.RunFinished},
	{"a line without an end", `printf '{"type":"done","run":"%s"' $run >&4; exit 0`, wire.RunFailed},
	{"closes its pipes", `exec 3<&- 4>&-; exit 0`, wire.RunFailed},
	{"closes one and hangs", `exec 4>&-; [ -n "$run" ] && sleep 1000`, wire.RunFailed},
	{"leaves a child with its pipes", `setsid sleep 1000 & exit 0`, wire.RunFailed},
	{"a flood of messages", `yes '{"type":"done","run":"none","error":"x"}' | head -n 200000 >&4`, wire.RunFinished},
	{"a flood of progress", `yes '{"type":"progress","fraction":0.5,"message":"\u0000\u001b[2J"}' | head -n 100000 >&4`, wire.RunFinished},
	{"says hello again", `i=0; while [ $i -lt 100 ]; do echo '{"type":"hello","version":9}' >&4; i=$((i+1)); done`, wire.RunFinished},
	{"JSON that is very deep", `head -c 60000 /dev/zero | tr '\0' '[' >&4; echo >&4`, wire.RunFinished},
}

// No use of a pipe harms another task or the executor; each run ends with its own result.
func TestHostilePipes(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.launch(daemonOf("neighbour", residentScript(t, `:`)))
	a.awaitRuns("neighbour", wire.RunFinished, 1)
	for _, hostile := range hostilePipes {
		if !strings.Contains(hostile.script, "hello") {
			a.launch(taskOf(hostile.name, script(t, hostile.script+"; exit 0")))
		}
		task := daemonOf("resident: "+hostile.name, residentScript(t, hostile.script))
		task.KillGraceMillis, task.Daemon.TimeoutMillis = 100, 15_000
		a.launch(task)
		a.awaitRuns(task.TaskID, hostile.resident, 1)
		a.kill(task.TaskID)
		a.await(task.TaskID, mesos.TASK_KILLED)
	}
	for _, hostile := range hostilePipes {
		if !strings.Contains(hostile.script, "hello") {
			a.await(hostile.name, mesos.TASK_FINISHED)
		}
	}
	a.mu.Lock()
	for _, r := range a.runs("neighbour") {
		if r.State != wire.RunFinished && r.State != wire.RunRunning {
			t.Errorf("the neighbour's run: %+v", r)
		}
	}
	a.mu.Unlock()
	if held := memoryOf(t, a.cmd.Process.Pid, "VmHWM"); held > 100<<20 {
		t.Errorf("the executor used %d MB", held>>20)
	}
}

// memoryOf returns a value of a process's memory in bytes, by the kernel's name: VmRSS is the current value, VmHWM
// the maximum.
func memoryOf(t testing.TB, pid int, name string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name+":" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("no %s of process %d", name, pid)
	return 0
}

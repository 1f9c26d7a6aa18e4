package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

// serverOrder configures the server process of TestKill9.
type serverOrder struct {
	DataDir, WorkDir string
	Port             int
	Tasks            []mesos.TaskInfo
}

// launcher is a master that launches tasks as soon as the agent has registered, and prints the reported states. It
// acknowledges none.
type launcher struct {
	tasks    []mesos.TaskInfo
	launched bool
}

func (l *launcher) Register(context.Context, link.Registration) (link.Session, error) { return l, nil }
func (l *launcher) Close()                                                            {}

func (l *launcher) Orders() ([]link.Order, error) {
	if l.launched {
		select {} // until it is killed
	}
	l.launched = true
	run := link.Run{Framework: proto(testFramework())}
	for _, t := range l.tasks {
		run.Tasks = append(run.Tasks, proto(t))
	}
	return []link.Order{{Run: &run}}, nil
}

func (l *launcher) Report(n link.News) error {
	if n.Update != nil {
		fmt.Println(n.Update.Status.Of.TaskID.Value, n.Update.Status.Of.GetState())
	}
	return nil
}

// runServer is a server process with an agent. It waits to be killed.
func runServer() {
	var order serverOrder
	if err := json.Unmarshal([]byte(os.Getenv("TEST_ORDER")), &order); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", order.Port))
	if err != nil {
		panic(err)
	}
	a, err := Start(context.Background(),
		Options{DataDir: order.DataDir, WorkDir: order.WorkDir, IP: "127.0.0.1", Port: order.Port,
			Logger: slog.New(slog.DiscardHandler)}, &launcher{tasks: order.Tasks})
	if err != nil {
		panic(err)
	}
	panic(http.Serve(listener, a.Handler()))
}

// Rule O4: after kill -9 of the server everything continues and is recovered: the executor with its tasks, the
// unacknowledged updates, and the process that it started.
func TestKill9(t *testing.T) {
	t.Parallel()
	// A first run chooses a port and creates the agent's id.
	first := startBench(t).ready()
	options := first.options
	info := testExecutorInfo("ex1")
	order, err := json.Marshal(serverOrder{
		DataDir: options.DataDir, WorkDir: options.WorkDir, Port: options.Port,
		Tasks: []mesos.TaskInfo{first.task("t1", "run", info), first.task("t2", "finish", info)},
	})
	if err != nil {
		t.Fatal(err)
	}
	first.stop()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), self)
	server.Env = append(os.Environ(), "TEST_ROLE=server", "TEST_ORDER="+string(order))
	var out, complaints bytes.Buffer
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = &complaints
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1024)
	for strings.Count(out.String(), "RUNNING") < 2 {
		n, err := stdout.Read(buffer)
		if err != nil {
			t.Fatalf("server said %q, %q, %v", out.String(), complaints.String(), err)
		}
		out.Write(buffer[:n])
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err == nil {
		t.Fatal("server was not killed")
	}

	b := first.again().ready()
	still := b.master.registration(t)
	if len(still.Executors) != 1 || len(still.Tasks) != 2 || len(still.Frameworks) != 1 {
		t.Fatalf("the agent still has %v", still)
	}
	for _, task := range still.Tasks {
		if task.Status == nil || task.Status.Of.GetState() != mesos.TASK_RUNNING {
			t.Errorf("last reported of %s is %v", task.Task.Of.TaskID.Value, task.Status)
		}
	}
	b.master.waitState(t, "t1", mesos.TASK_RUNNING)
	b.master.waitState(t, "t2", mesos.TASK_FINISHED)
	b.run(b.task("t3", "finish", info))
	b.master.waitState(t, "t3", mesos.TASK_FINISHED)
	b.shutdownExecutor("ex1")
	// The wait status of another process's child is not available.
	if status := b.master.waitEnded(t, "ex1"); status != unknownStatus {
		t.Errorf("wait status %d", status)
	}
}

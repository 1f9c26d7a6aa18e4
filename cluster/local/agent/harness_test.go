package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/link"
)

const patience = 15 * time.Second

// bench is an agent under test with its server and its master.
type bench struct {
	*Agent
	t       *testing.T
	master  *fakeMaster
	options Options
	server  *http.Server
	serving sync.WaitGroup
	closed  bool
}

func testOptions(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	return Options{
		DataDir: filepath.Join(dir, "data"), WorkDir: filepath.Join(dir, "work"), IP: "127.0.0.1", CPUs: 8,
		MemMB:                 8192,
		ReregistrationTimeout: 5 * time.Second, ShutdownGrace: patience,
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func startBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	options := testOptions(t)
	for _, c := range change {
		c(&options)
	}
	b := begin(t, options)
	t.Cleanup(b.cleanUp)
	return b
}

// begin starts an agent on the port in options, or on a free one if that is 0.
func begin(t *testing.T, options Options) *bench {
	t.Helper()
	var listener net.Listener
	var err error
	// A process that another test is just starting may still hold the old listener.
	eventually(t, "the port", func() bool {
		listener, err = listen(options.Port)
		return err == nil
	})
	options.Port = listener.Addr().(*net.TCPAddr).Port
	b := &bench{t: t, master: newFakeMaster(), options: options}
	if b.Agent, err = Start(t.Context(), options, b.master); err != nil {
		t.Fatal(err)
	}
	b.server = &http.Server{Handler: b.Handler()}
	b.serving.Go(func() { _ = b.server.Serve(listener) })
	return b
}

// listen chooses a port that no outgoing connection uses before the next start (rule O1).
func listen(port int) (net.Listener, error) {
	if port != 0 {
		return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	for {
		if l, err := listen(20000 + rand.IntN(12000)); err == nil {
			return l, nil
		}
	}
}

func (b *bench) ready() *bench {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Registered(ctx); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// stop stops the agent and leaves its executors running.
func (b *bench) stop() {
	b.t.Helper()
	if b.closed {
		return
	}
	b.closed = true
	if err := b.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
	_ = b.server.Close()
	b.serving.Wait()
}

// again stops the agent and starts another one with the same directories and port.
func (b *bench) again(change ...func(*Options)) *bench {
	b.t.Helper()
	b.stop()
	options := b.options
	for _, c := range change {
		c(&options)
	}
	next := begin(b.t, options)
	b.t.Cleanup(next.cleanUp)
	return next
}

func (b *bench) cleanUp() {
	if b.closed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b.mu.Lock()
	b.eachExecutor(func(ex *executorRun) {
		a := b.Agent
		a.shutdown(ex)
		ex.kill()
	})
	b.mu.Unlock()
	if err := b.EndAll(ctx); err != nil {
		b.t.Error(err)
	}
	b.stop()
}

func testFramework() mesos.FrameworkInfo {
	checkpoint := true
	timeout := 604800.0
	return mesos.FrameworkInfo{User: "root", Name: "recorder-executors", ID: &mesos.FrameworkID{Value: "fw-0002"},
		Checkpoint: &checkpoint, FailoverTimeout: &timeout,
		Capabilities: []mesos.FrameworkInfo_Capability{{Type: mesos.FrameworkInfo_Capability_PARTITION_AWARE}}}
}

func testResources() []mesos.Resource {
	role := "*"
	scalar := func(name string, value float64) mesos.Resource {
		return mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Scalar: &mesos.Value_Scalar{Value: value},
			AllocationInfo: &mesos.Resource_AllocationInfo{Role: &role}}
	}
	return []mesos.Resource{scalar("cpus", 0.1), scalar("mem", 32)}
}

func testExecutorInfo(id string, args ...string) *mesos.ExecutorInfo {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	shell, role := false, "executor"
	return &mesos.ExecutorInfo{
		Type: mesos.ExecutorInfo_CUSTOM, ExecutorID: mesos.ExecutorID{Value: id},
		FrameworkID: &mesos.FrameworkID{Value: "fw-0002"}, Name: &id,
		Resources: testResources(),
		Command: &mesos.CommandInfo{Shell: &shell, Value: &self, Arguments: append([]string{"test-executor"}, args...),
			Environment: &mesos.Environment{Variables: []mesos.Environment_Variable{{Name: "TEST_ROLE",
				Value: &role}}}},
	}
}

func (b *bench) task(id, data string, ex *mesos.ExecutorInfo) mesos.TaskInfo {
	return mesos.TaskInfo{Name: id, TaskID: mesos.TaskID{Value: id}, AgentID: *b.info.ID, Resources: testResources(),
		Executor: ex, Data: []byte(data)}
}

func (b *bench) run(tasks ...mesos.TaskInfo) { b.Agent.run(tasks...) }

// These call the agent as its master would, order by order.

func (a *Agent) run(tasks ...mesos.TaskInfo) {
	order := link.Run{Framework: proto(testFramework())}
	for _, t := range tasks {
		order.Tasks = append(order.Tasks, proto(t))
	}
	a.handleOrder(&link.Order{Run: &order})
}

func (a *Agent) kill(task string) {
	a.handleOrder(&link.Order{Kill: &link.Kill{Framework: "fw-0002", Task: task}})
}

func (a *Agent) shutdownExecutor(id string) {
	a.handleOrder(&link.Order{ShutdownExecutor: &link.Executor{Framework: "fw-0002", Executor: id}})
}

func (a *Agent) acknowledged(task string, uuid []byte) {
	a.handleOrder(&link.Order{Acknowledge: &link.Acknowledgement{Framework: "fw-0002", Task: task, UUID: uuid}})
}

// sandbox returns the sandbox of the executor's only run so far.
func (b *bench) sandbox(executor string) string {
	b.t.Helper()
	runs, err := filepath.Glob(b.sandboxOf("fw-0002", executor, "*"))
	if err != nil || len(runs) != 1 {
		b.t.Fatalf("the runs of %s are %v, %v", executor, runs, err)
	}
	return runs[0]
}

func (b *bench) waitForked(id string) {
	b.t.Helper()
	eventually(b.t, "the start of "+id, func() bool {
		ex := b.executor(id)
		b.mu.Lock()
		defer b.mu.Unlock()
		return ex.proc != nil
	})
}

// eventually waits until fits returns true, and checks every few milliseconds.
func eventually(t *testing.T, what string, fits func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !fits() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited for %s", what)
		}
	}
}

// alive reports whether a process exists and has not ended.
func alive(pid int) bool {
	s, err := readStat(pid)
	return err == nil && !s.ended()
}

package executor_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
	mesosexec "github.com/mesos/mesos-go/api/v1/lib/executor"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

var binary string

// TestMain builds the program that all tests run.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "executor-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := os.Chmod(dir, 0o755); err != nil { // some tests run it as another user
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		binary = filepath.Join(dir, "executor")
		build := exec.Command("go", "build", "-o", binary, "github.com/elasticjob-go/elasticjob/cmd/executor")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		status := m.Run()
		if err := goleak.Find(); err != nil && status == 0 {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return status
	}())
}

// deadline is how long a test waits for anything. It is long, because all packages are tested at once on a busy
// machine.
const deadline = time.Minute

// fakeAgent implements the agent's executor API, with protobuf only, and starts the real executor.
type fakeAgent struct {
	t       testing.TB
	secure  *tls.Config // nil for plain HTTP
	address string
	sandbox string
	cmd     *exec.Cmd
	ended   chan struct{}
	log     *os.File

	mu         sync.Mutex
	server     *http.Server
	stream     chan []byte // to the current subscriber
	subscribed []mesosexec.Call_Subscribe
	updates    []mesos.TaskStatus
	acked      map[string]bool
	reports    []wire.Report
	connected  bool          // the executor has subscribed since the agent's last start
	changed    chan struct{} // closed and replaced at each change of these fields

	silent          bool // the agent acknowledges nothing
	subscribeStatus int  // the status with which the agent rejects SUBSCRIBE; 0 to accept
	refusesUpdates  bool
	refusesReports  bool
	refusals        int // the number of rejected updates and reports
}

type option func(*exec.Cmd)

func env(name, value string) option {
	return func(c *exec.Cmd) { c.Env = append(c.Env, name+"="+value) }
}

// newAgent starts an agent and its executor, and waits until the executor has subscribed.
func newAgent(t testing.TB, options ...option) *fakeAgent {
	t.Helper()
	return newAgentIn(t, t.TempDir(), options...)
}

// newAgentIn is newAgent in the given work folder.
func newAgentIn(t testing.TB, work string, options ...option) *fakeAgent {
	t.Helper()
	return newAgentOver(t, nil, work, options...)
}

// newAgentOver is newAgentIn with TLS, if secure is not nil.
func newAgentOver(t testing.TB, secure *tls.Config, work string, options ...option) *fakeAgent {
	t.Helper()
	a := &fakeAgent{
		t: t, secure: secure, acked: map[string]bool{}, changed: make(chan struct{}), ended: make(chan struct{}),
		sandbox: filepath.Join(work, "slaves/S0/frameworks/F/executors/E/runs/R"),
	}
	if err := os.MkdirAll(a.sandbox, 0o755); err != nil {
		t.Fatal(err)
	}
	host := "127.0.0.1" // the certificates are for this address
	if secure == nil {
		host = ownHost()
	}
	a.listen(host + ":0")
	var err error
	if a.log, err = os.Create(filepath.Join(a.sandbox, "stderr")); err != nil {
		t.Fatal(err)
	}
	a.cmd = exec.Command(binary)
	a.cmd.Dir, a.cmd.Stderr = a.sandbox, a.log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	a.cmd.Env = []string{
		"MESOS_AGENT_ENDPOINT=" + a.address, "MESOS_FRAMEWORK_ID=F", "MESOS_EXECUTOR_ID=E", "MESOS_SLAVE_ID=S0",
		"MESOS_SANDBOX=" + a.sandbox, "MESOS_DIRECTORY=" + a.sandbox, "MESOS_CHECKPOINT=1",
		"MESOS_RECOVERY_TIMEOUT=15mins",
		"MESOS_SUBSCRIPTION_BACKOFF_MAX=200ms", "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD=5secs", "SECRET=executor's own",
	}
	for _, o := range options {
		o(a.cmd)
	}
	chosen := slices.ContainsFunc(a.cmd.Env, func(v string) bool { return strings.HasPrefix(v, "ELASTICJOB_RUN_AS=") })
	if os.Geteuid() == 0 && a.cmd.SysProcAttr.Credential == nil && !chosen {
		a.cmd.Env = append(a.cmd.Env, "ELASTICJOB_RUN_AS=root")
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait()
		close(a.ended)
	}()
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		<-a.ended
		a.stop()
		_ = a.log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(a.log.Name())
			t.Logf("executor's log ends:\n%s", text[max(0, len(text)-6000):])
		}
		mustBeEmpty(t, a.cmd.Process.Pid)
		if err := pack.RemoveTree(a.sandbox); err != nil { // removes folders without permissions too
			t.Error(err)
		}
	})
	a.until("subscription", func() bool { return len(a.subscribed) > 0 })
	return a
}

// mustBeEmpty waits until no process of the session is left.
func mustBeEmpty(t testing.TB, session int) {
	for end := time.Now().Add(deadline); ; <-time.After(5 * time.Millisecond) {
		left := inSession(session)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("processes are left: %v", left)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
}

// inSession returns the processes of a session that have not ended.
func inSession(session int) []int {
	var left []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var pid, ppid, group, sid int
		var state string
		_, _ = fmt.Sscan(string(text), &pid)
		_, _ = fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &ppid, &group, &sid)
		if sid == session && state != "Z" {
			left = append(left, pid)
		}
	}
	return left
}

var hosts atomic.Uint32

// ownHost returns an address of this machine that no other test of this process uses. So an agent that goes away
// and returns finds its port free: neither another listener nor the local end of a connection can have taken it.
func ownHost() string {
	n := hosts.Add(1)
	return fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%200, 1+n/250, 1+n%250)
}

func (a *fakeAgent) listen(address string) {
	a.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.secure != nil {
		listener = tls.NewListener(listener, a.secure)
	}
	server := &http.Server{Handler: a}
	a.mu.Lock()
	a.address, a.server = listener.Addr().String(), server
	a.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
}

// stop breaks all connections to the agent, and refuses new ones until listen is called again.
func (a *fakeAgent) stop() {
	a.mu.Lock()
	server := a.server
	a.connected = false
	a.mu.Unlock()
	_ = server.Close()
}

func (a *fakeAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var call mesosexec.Call
	if err != nil || r.URL.Path != "/api/v1/executor" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		call.Unmarshal(body) != nil {
		http.Error(w, "bad call", http.StatusNotAcceptable)
		return
	}
	switch call.Type {
	case mesosexec.Call_SUBSCRIBE:
		a.serveSubscribe(w, r, call.Subscribe)
	case mesosexec.Call_UPDATE:
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case a.refusesUpdates:
			a.refusals++
			a.wake()
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		case !a.connected: // the executor repeats the update when it subscribes
			http.Error(w, "Executor is not subscribed", http.StatusForbidden)
			return
		}
		a.take(call.Update.Status)
		w.WriteHeader(http.StatusAccepted)
	case mesosexec.Call_MESSAGE:
		report, ok := wire.DecodeReport(call.Message.Data)
		if !ok {
			a.t.Errorf("message %q", call.Message.Data)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		defer a.wake()
		if a.refusesReports {
			a.refusals++
			http.Error(w, "no messages here", http.StatusNotImplemented)
			return
		}
		if !wire.IsHeartbeat(call.Message.Data) {
			a.reports = append(a.reports, report)
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

func (a *fakeAgent) serveSubscribe(w http.ResponseWriter, r *http.Request, s *mesosexec.Call_Subscribe) {
	a.mu.Lock()
	a.subscribed = append(a.subscribed, *s)
	a.wake()
	if a.subscribeStatus != 0 {
		defer a.mu.Unlock()
		http.Error(w, "Executor cannot be found", a.subscribeStatus)
		return
	}
	stream := make(chan []byte, 10_000)
	a.stream, a.connected = stream, true
	a.emit(mesosexec.Event{Type: mesosexec.Event_SUBSCRIBED, Subscribed: &mesosexec.Event_Subscribed{
		ExecutorInfo:  mesos.ExecutorInfo{ExecutorID: mesos.ExecutorID{Value: "E"}},
		FrameworkInfo: mesos.FrameworkInfo{}, AgentInfo: mesos.AgentInfo{},
	}})
	for _, u := range s.UnacknowledgedUpdates {
		a.take(u.Status)
	}
	a.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	for {
		select {
		case frame := <-stream:
			_, _ = fmt.Fprintf(w, "%d\n%s", len(frame), frame)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// take keeps an update and acknowledges it. The caller holds mu.
func (a *fakeAgent) take(s mesos.TaskStatus) {
	if !a.acked[string(s.UUID)] {
		a.updates = append(a.updates, s)
	}
	if !a.silent && a.stream != nil {
		a.acked[string(s.UUID)] = true
		a.emit(mesosexec.Event{Type: mesosexec.Event_ACKNOWLEDGED,
			Acknowledged: &mesosexec.Event_Acknowledged{TaskID: s.TaskID, UUID: s.UUID}})
	}
	a.wake()
}

// emit sends an event. The caller holds mu.
func (a *fakeAgent) emit(e mesosexec.Event) {
	frame, err := e.Marshal()
	if err != nil {
		a.t.Error(err)
	}
	a.stream <- frame
}

func (a *fakeAgent) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

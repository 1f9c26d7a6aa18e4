package system

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// Patience is the timeout of all waits. It is much longer than anything takes on an idle machine, because many
// packages are tested concurrently on a busy one.
const Patience = 2 * time.Minute

// Machine is one data folder with its server and everything that the server starts. Its methods fail the test if they
// cannot do what they promise. All but Try must be called from the test's goroutine.
type Machine struct {
	testing.TB
	// Dir is the data folder. Packages serves the apps' packages.
	Dir      string
	Packages *Packages
	// Canary is the value of a variable in the server's environment that must not reach any task.
	Canary string
	// CPUs and MemoryMB are the resources that the server offers.
	CPUs, MemoryMB float64

	// LedgerPath is the file that [Ledger] writes to.
	LedgerPath string

	bin    Binaries
	args   []string
	client *http.Client
	server *server
	url    atomic.Pointer[string] // of the running server, for requests from other goroutines
	logs   []*output              // the stderr of all processes that spawn started, to check for races and panics
}

// New returns a machine with 16 CPUs and 8 GB, without a server. args are flags for every server.
func New(t testing.TB, bin Binaries, args ...string) *Machine {
	t.Helper()
	m := &Machine{
		TB: t, Dir: t.TempDir(), Packages: newPackages(t), Canary: "canary-" + filepath.Base(t.TempDir()),
		CPUs: 16, MemoryMB: 8192, bin: bin, args: args,
		client:     &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}, Timeout: Patience},
		LedgerPath: filepath.Join(t.TempDir(), "ledger"),
	}
	t.Cleanup(m.end)
	return m
}

// Trust makes requests accept the certificates of an authority, and use HTTP/2 over TLS.
func (m *Machine) Trust(roots *x509.CertPool) {
	m.client.Transport = &http.Transport{MaxIdleConnsPerHost: 4, TLSClientConfig: &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true}
}

// server is one server process.
type server struct {
	cmd   *exec.Cmd
	url   string
	out   *output
	log   *output
	ended chan struct{}
	err   error // valid once ended is closed
}

// Start starts a server on the data folder and waits until it is ready.
func (m *Machine) Start(args ...string) {
	m.Helper()
	m.Launch(args...)
	m.Ready()
}

// Launch starts a server and waits until it listens.
func (m *Machine) Launch(args ...string) {
	m.Helper()
	m.LaunchCommand(m.Command(args...))
}

// LaunchCommand starts a server with this command line and waits until it listens.
func (m *Machine) LaunchCommand(cmd *exec.Cmd) {
	m.Helper()
	if m.server != nil {
		m.Fatal("a server runs already")
	}
	m.reservePort(filepath.Join(m.Dir, "cluster"))
	m.use(m.spawn("the server", cmd, listening))
}

// reservePort makes an agent listen on a port that no other test takes while the agent is down. dir is the agent's data
// folder. If it exists, the agent was started before and keeps its port, so reservePort does nothing.
func (m *Machine) reservePort(dir string) {
	m.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := writePort(dir); err != nil {
		m.Fatalf("reserve a port for the agent: %v", err)
	}
}

// writePort creates an agent's data folder with a free port in it. They belong to the owner of the folder above, who
// may be another user than the test's.
func writePort(dir string) error {
	ports, err := child.FreePorts(1)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o711); err != nil { // the jobs' user must be able to pass through it
		return err
	}
	path := filepath.Join(dir, "ports.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"agents":[%d]}`, ports[0]), 0o600); err != nil {
		return err
	}
	var parent syscall.Stat_t
	if err := syscall.Stat(filepath.Dir(dir), &parent); err != nil {
		return err
	}
	return errors.Join(os.Chown(dir, int(parent.Uid), int(parent.Gid)),
		os.Chown(path, int(parent.Uid), int(parent.Gid)))
}

// use sends requests to a server from now on. With nil, requests fail.
func (m *Machine) use(s *server) {
	m.server = s
	if m.url.Store(nil); s != nil {
		m.url.Store(&s.url)
	}
}

// spawn starts a process and waits until its stdout matches a pattern, whose first group is the process's URL.
func (m *Machine) spawn(what string, cmd *exec.Cmd, pattern *regexp.Regexp) *server {
	m.Helper()
	s := &server{cmd: cmd, out: &output{}, log: &output{}, ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.log
	// A process must not pass its output on to the processes that it starts: they would block readers of the output
	// (rule O2). If one of them still holds it open WaitDelay after the process has ended, await reports an error.
	s.cmd.WaitDelay = 10 * time.Second
	if err := s.cmd.Start(); err != nil {
		m.Fatalf("start %s: %v", what, err)
	}
	m.logs = append(m.logs, s.log)
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	m.Until(what+" listens", func() string {
		select {
		case <-s.ended:
			m.Fatalf("%s ended at its start: %v\n%s", what, s.err, s.log.tail())
		default:
		}
		found := pattern.FindStringSubmatch(s.out.String())
		if found == nil {
			return "its output: " + s.out.String() + s.log.tail()
		}
		s.url = found[1]
		return ""
	})
	return s
}

var listening = regexp.MustCompile(`elasticjob listens on (https?://127\.[0-9.]+:\d+) `)

// Ready waits until the server is ready.
func (m *Machine) Ready() {
	m.Helper()
	m.Until("the server is ready", func() string {
		if a, err := m.Try("GET", "/readyz", ""); err != nil {
			return err.Error()
		} else if a.Status != http.StatusOK {
			return a.Body
		}
		return ""
	})
}

// Unready waits until the server is not ready and its answer contains all these words.
func (m *Machine) Unready(words ...string) {
	m.Helper()
	m.Until("the server is not ready and says why: "+strings.Join(words, ", "), func() string {
		a, err := m.Try("GET", "/readyz", "")
		if err != nil {
			return err.Error()
		}
		for _, word := range words {
			if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, word) {
				return a.Body
			}
		}
		return ""
	})
}

// Command returns a server's command line without starting it, for servers that are expected to fail.
func (m *Machine) Command(args ...string) *exec.Cmd {
	all := slices.Concat([]string{"--local", "--data-dir", m.Dir, "--listen", "127.0.0.1:0", "--time-zone", "UTC",
		"--local-cpus", fmt.Sprint(m.CPUs), "--local-memory", fmt.Sprint(m.MemoryMB)}, m.args, args)
	cmd := exec.Command(m.bin.Scheduler(), all...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.Dir, "SECRET_OF_THE_SERVER=" + m.Canary,
		"MESOS_CANARY=" + m.Canary}
	cmd.Env = append(cmd.Env, runAsRoot(all)...)
	return cmd
}

// Fails runs a server that ends by itself, and returns its exit status and output. It kills a server that does not end
// in time; the status is then -1.
func (m *Machine) Fails(cmd *exec.Cmd) (status int, said string) {
	m.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	timer := time.AfterFunc(Patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		m.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// URL returns the base URL of the running server.
func (m *Machine) URL() string { return m.server.url }

// Said returns what the running server has printed for its user.
func (m *Machine) Said() string { return m.server.out.String() }

// ServerPID returns the process id of the running server.
func (m *Machine) ServerPID() int { return m.server.cmd.Process.Pid }

// Kill kills the server with SIGKILL; its executors keep running.
func (m *Machine) Kill() {
	m.Helper()
	m.Signal(syscall.SIGKILL)
	m.AwaitEnd()
}

// StartAndKill starts a server and kills it after a time, even while it is still starting. The server must not have
// ended by itself.
func (m *Machine) StartAndKill(after time.Duration) {
	m.Helper()
	cmd, log := m.Command(), &output{}
	cmd.Stderr = log
	m.logs = append(m.logs, log)
	if err := cmd.Start(); err != nil {
		m.Fatalf("start the server: %v", err)
	}
	<-time.After(after)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if cmd.ProcessState.Exited() {
		m.Fatalf("the server ended by itself: %v\n%s", cmd.ProcessState, log.tail())
	}
}

// Signal sends a signal to the server.
func (m *Machine) Signal(sig syscall.Signal) {
	m.Helper()
	if err := m.server.cmd.Process.Signal(sig); err != nil {
		m.Fatalf("signal the server: %v", err)
	}
}

// AwaitEnd waits until the server has ended and returns its exit status, -1 after a signal.
func (m *Machine) AwaitEnd() int {
	m.Helper()
	s := m.server
	m.use(nil)
	return m.await("the server", s)
}

// await waits until a process has ended and returns its exit status, -1 after a signal.
func (m *Machine) await(what string, s *server) int {
	m.Helper()
	select {
	case <-s.ended:
	case <-time.After(Patience):
		m.Fatalf("%s doesn't end\n%s", what, s.log.tail())
	}
	m.client.CloseIdleConnections()
	if errors.Is(s.err, exec.ErrWaitDelay) {
		m.Errorf("a process that %s started holds its output open (rule O2)", what)
	}
	return s.cmd.ProcessState.ExitCode()
}

// ServerLog returns the log of the server since its start.
func (m *Machine) ServerLog() string { return m.server.log.String() }

// Logged returns the logs of all servers since the test began.
func (m *Machine) Logged() string {
	var all strings.Builder
	for _, log := range m.logs {
		all.WriteString(log.String())
	}
	return all.String()
}

// Stop ends the server as a user does, and checks that it succeeds and leaves no process running (rule O4).
func (m *Machine) Stop() {
	m.Helper()
	m.Signal(syscall.SIGTERM)
	log := m.server.log
	if status := m.AwaitEnd(); status != 0 {
		m.Errorf("after SIGTERM the server ended with status %d\n%s", status, log.tail())
	}
	m.NothingRuns()
}

// NothingRuns checks that no process of this data folder is left.
func (m *Machine) NothingRuns() {
	m.Helper()
	for _, p := range m.Processes() {
		m.Errorf("left running: %s", p)
	}
}

// end stops the server and all processes that the test has left running, and checks that the logs contain no error, no
// data race and no secret.
func (m *Machine) end() {
	if m.server != nil && m.Failed() {
		m.Logf("the server's log ends:\n%s", m.server.log.tail())
	}
	if m.server != nil {
		m.Stop()
	}
	for _, p := range m.Processes() {
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			m.Errorf("end %s: %v", p, err)
		}
	}
	m.client.CloseIdleConnections()
	m.checkLogs()
}

// Until calls check repeatedly until it returns "". After [Patience] it fails the test with the last result of check.
func (m *Machine) Until(what string, check func() (missing string)) {
	m.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		missing := check()
		if missing == "" {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			m.Fatalf("waited %v until %s: %s", Patience, what, missing)
		}
	}
}

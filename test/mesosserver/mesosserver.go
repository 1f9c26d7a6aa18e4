// Package mesosserver starts real Mesos masters and agents for tests, from the folder that MESOS_HOME names. They
// listen on the loopback interface or in a network namespace, and have ports and folders of their own. They end with
// the test that started them, even if it is killed.
//
// Masters and agents detect failures quickly: see [MasterOptions]. When an agent is killed, its executors keep running,
// as with any Mesos agent. They end with the test; if the test is killed, two minutes later.
package mesosserver

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

const (
	// patience is how long a server may take until it answers.
	patience = 60 * time.Second
	// tries is how often a server is started, because another process may take its port at any time.
	tries = 5
)

// Home returns MESOS_HOME, the folder of the Mesos for tests, with bin, libexec and webui. It returns "" if MESOS_HOME
// is not set or "none".
func Home() string {
	if home := os.Getenv("MESOS_HOME"); home != "none" {
		return home
	}
	return ""
}

// Require skips a test that needs a Mesos if Home is "". In CI it fails the test instead if MESOS_HOME is not set, so
// that no test is skipped by mistake. It also fails the test if there is no Mesos in Home.
func Require(t testing.TB) {
	t.Helper()
	const how = "set MESOS_HOME to a folder with Mesos' bin, libexec and webui (make ci ONLY=mesos)"
	switch {
	case Home() != "":
		if _, err := os.Stat(binary("mesos-master")); err != nil {
			t.Fatalf("mesosserver: MESOS_HOME holds no Mesos: %v", err)
		}
	case os.Getenv("CI") != "" && os.Getenv("MESOS_HOME") == "":
		t.Fatal("mesosserver: tests on Mesos must run in CI: " + how)
	default:
		t.Skip("mesosserver: NOT RUN on a real Mesos: " + how)
	}
}

func binary(name string) string { return filepath.Join(Home(), "bin", name) }

// Credentials are a principal and its secret.
type Credentials struct{ Principal, Secret string }

// file writes the credentials in Mesos' format and returns the path.
func (c *Credentials) file(dir string) (string, error) {
	path := filepath.Join(dir, "credentials.json")
	text := fmt.Sprintf(`{"credentials":[{"principal":%q,"secret":%q}]}`, c.Principal, c.Secret)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// server is shared by masters and agents.
type server struct {
	t           testing.TB
	what        string // master or agent
	dir         string
	ip          string
	namespace   string // a network namespace, "" for that of the test
	port        int
	credentials *Credentials
	process     *child.Process // nil after a kill
	args        func() []string
	env         []string
	client      *http.Client
}

// Address returns the address of the server, as HOST:PORT. It stays the same after a restart.
func (s *server) Address() string { return fmt.Sprintf("%s:%d", s.ip, s.port) }

// PID returns the process id of the running server.
func (s *server) PID() int {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("mesosserver: %s is not running", s)
	}
	return s.process.PID()
}

// Runs reports whether the server has neither been killed nor ended by itself.
func (s *server) Runs() bool {
	if s.process == nil {
		return false
	}
	select {
	case <-s.process.Done():
		return false
	default:
		return true
	}
}

// Kill kills the server with SIGKILL and waits until it has ended. It does nothing if the server was killed or has
// ended by itself.
func (s *server) Kill() {
	s.process.Kill()
	s.process = nil
	s.client.CloseIdleConnections()
}

// Restart restarts a server that was killed or has ended by itself, with its folder and port. It returns when the
// server answers.
func (s *server) Restart() {
	s.t.Helper()
	if s.Runs() {
		s.t.Fatalf("mesosserver: %s is running", s)
	}
	var err error
	for range tries {
		if err = s.launch(); err == nil {
			return
		}
		s.Kill()
	}
	s.t.Fatalf("mesosserver: %s did not restart in %d tries: %v", s, tries, err)
}

// Pause stops the server with SIGSTOP: connections stay open and nothing is answered.
func (s *server) Pause() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (s *server) Resume() { s.t.Helper(); s.signal(syscall.SIGCONT) }

func (s *server) signal(which syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.PID(), which); err != nil {
		s.t.Fatalf("mesosserver: %v to %s: %v", which, s, err)
	}
}

// LastWords returns the end of the server's log.
func (s *server) LastWords() string { return child.LastWords(s.log()) }

func (s *server) log() string { return filepath.Join(s.dir, "log") }

func (s *server) String() string { return "the " + s.what + " " + s.Address() }

// start starts the server on a free port, and makes the end of the test kill it.
func (s *server) start() {
	s.t.Helper()
	Require(s.t)
	if s.dir == "" {
		s.dir = s.t.TempDir()
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.client = &http.Client{
		Transport:     &http.Transport{},
		Timeout:       5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.t.Cleanup(s.end)
	var err error
	for range tries {
		var ports []int
		if ports, err = child.FreePorts(1); err != nil {
			break
		}
		s.port = ports[0]
		if err = s.launch(); err == nil {
			return
		}
		s.Kill()
	}
	s.t.Fatalf("mesosserver: %s did not start in %d tries: %v", s, tries, err)
}

// end ends the server and the processes that it started. If the test failed, it logs the end of the server's log.
func (s *server) end() {
	s.Kill()
	if err := child.EndAll(s.dir); err != nil {
		s.t.Errorf("mesosserver: %v", err)
	}
	if s.t.Failed() {
		s.t.Logf("the log of %s ends:\n%s", s, s.LastWords())
	}
}

func (s *server) url(path string) string { return "http://" + s.Address() + path }

// Package zkserver starts real ZooKeeper servers for tests, from Debian's package zookeeper: on the loopback
// interface, with ports and a folder of their own. They end with the test that started them, even if it is killed.
//
// Ticks are 500 ms, so that sessions of 1 to 10 s are allowed and end at most half a second late.
package zkserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

const (
	// patience is how long a server may take until it answers; an ensemble must elect a leader first.
	patience = 60 * time.Second
	// tries is how often a start is tried. StartEnsemble takes other ports for each try, because another process may
	// have taken one in the meantime.
	tries = 5
)

// Server is one ZooKeeper server, alone or of an ensemble. Its methods must be called from the test's goroutine, and
// fail the test on errors.
type Server struct {
	t       testing.TB
	folder  string
	port    int
	process *child.Process // nil after a kill
}

// Start starts a single server, which answers when Start returns. settings are additional lines of its zoo.cfg. Its
// tick is 500 ms, so that it grants sessions of 1 to 10 s unless the settings say otherwise.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return StartEnsemble(t, 1, settings...)[0]
}

// StartEnsemble starts an ensemble of n servers, all of which answer when it returns.
func StartEnsemble(t testing.TB, n int, settings ...string) []*Server {
	t.Helper()
	requirePackage(t)
	var err error
	for range tries {
		var servers []*Server
		if servers, err = startOnce(t, n, settings); err == nil {
			return servers
		}
	}
	t.Fatalf("zkserver: %d servers did not start in %d tries: %v", n, tries, err)
	return nil
}

// Connect returns the servers' addresses in the form for clients, joined by commas.
func Connect(servers ...*Server) string {
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.Address())
	}
	return strings.Join(addresses, ",")
}

// Address returns the address for clients, as HOST:PORT. It stays the same after a restart.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Kill kills the server with SIGKILL and waits until it has ended. It does nothing to a killed server.
func (s *Server) Kill() {
	s.process.Kill()
	s.process = nil
}

// Restart restarts a killed server with its data and port. It returns when the server answers, which a server of an
// ensemble without a majority never does.
func (s *Server) Restart() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatalf("zkserver: %s is running", s.Address())
	}
	var err error
	for range tries {
		if s.process, err = launch(s.folder); err == nil {
			err = s.ready()
		}
		if err == nil {
			return
		}
		s.Kill()
	}
	s.t.Fatalf("zkserver: %s did not start again: %v", s.Address(), err)
}

// Pause stops the server with SIGSTOP: connections stay open, and nothing is answered. A server that is alone ends no
// session while it is paused; in an ensemble, the others end the sessions of its clients.
func (s *Server) Pause() {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("zkserver: %s is not running", s.Address())
	}
	if err := s.process.Pause(patience); err != nil {
		s.t.Fatalf("zkserver: pause %s: %v", s.Address(), err)
	}
}

// Resume continues a paused server.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(which syscall.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("zkserver: %s is not running", s.Address())
	}
	if err := syscall.Kill(s.process.PID(), which); err != nil {
		s.t.Fatalf("zkserver: send signal %d to %s: %v", which, s.Address(), err)
	}
}

// Client returns a connected client of this server alone, for tests that read nodes. It is closed at the end of the
// test.
func (s *Server) Client(t testing.TB) *zk.Conn {
	t.Helper()
	session := make(chan struct{})
	var once sync.Once
	conn, _, err := zk.Connect([]string{s.Address()}, 10*time.Second, zk.WithLogger(silent{}),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				once.Do(func() { close(session) })
			}
		}))
	if err != nil {
		t.Fatalf("zkserver: connect to %s: %v", s.Address(), err)
	}
	t.Cleanup(conn.Close)
	select {
	case <-session:
	case <-time.After(patience):
		t.Fatalf("zkserver: %s gives no session", s.Address())
	}
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// startOnce starts n servers on free ports.
func startOnce(t testing.TB, n int, settings []string) (servers []*Server, err error) {
	ports, err := child.FreePorts(3 * n)
	if err != nil {
		return nil, err
	}
	var more strings.Builder
	for _, line := range settings {
		fmt.Fprintln(&more, line)
	}
	for i := range n {
		if n > 1 {
			fmt.Fprintf(&more, "server.%d=127.0.0.1:%d:%d\n", i+1, ports[3*i+1], ports[3*i+2])
		}
	}
	for i := range n {
		s := &Server{t: t, folder: t.TempDir(), port: ports[3*i]}
		servers = append(servers, s)
		if err := s.configure(i+1, more.String()); err != nil {
			t.Fatalf("zkserver: %v", err)
		}
		t.Cleanup(s.Kill)
		if s.process, err = launch(s.folder); err != nil {
			t.Fatalf("zkserver: %v", err)
		}
	}
	for _, s := range servers {
		if err := s.ready(); err != nil {
			for _, s := range servers {
				s.Kill()
			}
			return nil, err
		}
	}
	return servers, nil
}

func (s *Server) configure(id int, more string) error {
	data := filepath.Join(s.folder, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, id), 0o600); err != nil {
		return err
	}
	config := fmt.Sprintf("tickTime=500\ninitLimit=20\nsyncLimit=10\ndataDir=%s\n"+
		"clientPort=%d\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n%s",
		data, s.port, more)
	return os.WriteFile(filepath.Join(s.folder, "zoo.cfg"), []byte(config), 0o600)
}

// ready waits until the server accepts sessions.
func (s *Server) ready() error {
	deadline := time.After(patience)
	poll := time.NewTicker(30 * time.Millisecond)
	defer poll.Stop()
	for {
		// Another server might answer on a port that this one failed to get.
		if s.process.ListensAt(s.port) && givesSession(s.Address()) {
			return nil
		}
		select {
		case <-s.process.Done():
			return fmt.Errorf("the server for %s ended: %s", s.Address(), child.LastWords(logFile(s.folder)))
		case <-deadline:
			return fmt.Errorf("the server at %s does not answer after %v: %s", s.Address(), patience,
				child.LastWords(logFile(s.folder)))
		case <-poll.C:
		}
	}
}

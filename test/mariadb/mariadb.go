// Package mariadb starts real MariaDB servers for tests, from Debian's packages mariadb-server-core and
// mariadb-client-core: on the loopback interface, with a port and folder of their own, and as the user who runs the
// test. They end even if the test is killed.
//
// A server takes seconds to start, so the tests of a package share one (Shared), each with its own databases. A test
// that kills or freezes the server starts its own (Start). Servers sync each commit to disk, like those of users.
package mariadb

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

const (
	// patience is how long a server may take until it answers.
	patience = 90 * time.Second
	// tries is how often other ports are tried if a free one was taken in the meantime.
	tries = 5
)

// Server is one MariaDB server.
type Server struct {
	folder  string
	flags   []string
	port    int
	process *child.Process // nil after a kill
	made    atomic.Int64   // number of databases created
}

// Start starts a server, which answers when Start returns, and ends with the test. flags are those of mariadbd, such
// as --read-only.
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	s, err := start(t.TempDir(), flags)
	if err != nil {
		t.Fatalf("mariadb: %v", err)
	}
	t.Cleanup(s.process.Kill)
	return s
}

func start(folder string, flags []string) (*Server, error) {
	err := install(folder)
	for range tries {
		if err != nil {
			break
		}
		var ports []int
		if ports, err = child.FreePorts(1); err != nil {
			break
		}
		s := &Server{folder: folder, port: ports[0], flags: flags}
		if err = s.launch(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// launch starts the server and waits until it answers.
func (s *Server) launch() (err error) {
	if s.process, err = launch(s.folder, s.port, s.flags); err != nil {
		return err
	}
	if err = s.ready(); err != nil {
		s.process.Kill()
		s.process = nil
	}
	return err
}

// Address returns the address for clients, as HOST:PORT. It stays the same after a restart.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Kill kills the server with SIGKILL and waits until it has ended. It does nothing to a killed server.
func (s *Server) Kill() {
	s.process.Kill()
	s.process = nil
}

// Restart restarts a killed server with its data and port. It returns when the server answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if s.process != nil {
		t.Fatalf("mariadb: %s is running", s.Address())
	}
	var err error
	for range tries {
		if err = s.launch(); err == nil {
			t.Cleanup(s.process.Kill)
			return
		}
	}
	t.Fatalf("mariadb: %s did not start again: %v", s.Address(), err)
}

// Pause stops the server with SIGSTOP. Once it returns, connections stay open and nothing is answered.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	if s.process == nil {
		t.Fatalf("mariadb: %s is not running", s.Address())
	}
	if err := s.process.Pause(patience); err != nil {
		t.Fatalf("mariadb: pause %s: %v", s.Address(), err)
	}
}

// Resume continues a paused server.
func (s *Server) Resume(t testing.TB) { t.Helper(); s.signal(t, syscall.SIGCONT) }

func (s *Server) signal(t testing.TB, which syscall.Signal) {
	t.Helper()
	if s.process == nil {
		t.Fatalf("mariadb: %s is not running", s.Address())
	}
	if err := syscall.Kill(s.process.PID(), which); err != nil {
		t.Fatalf("mariadb: %v to %s: %v", which, s.Address(), err)
	}
}

// Root returns a connection pool of the user root, who has all permissions. It accepts several statements at once,
// and is closed at the end of the test.
func (s *Server) Root(t testing.TB) *sql.DB {
	t.Helper()
	db, err := s.open()
	if err != nil {
		t.Fatalf("mariadb: connect to %s: %v", s.Address(), err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Database creates an empty database and returns its DSN, in the form of --db, with a user who has a password and all
// permissions in it. The database is not removed before the server ends.
func (s *Server) Database(t testing.TB) (dsn string) {
	t.Helper()
	name := fmt.Sprintf("history%d", s.made.Add(1))
	password := "secret-of-" + name
	if _, err := s.Root(t).Exec(fmt.Sprintf(
		"CREATE DATABASE %s; CREATE USER %s IDENTIFIED BY '%s'; GRANT ALL ON %s.* TO %s",
		name, name, password, name, name)); err != nil {
		t.Fatalf("mariadb: make a database: %v", err)
	}
	return s.DSN(name, password, name)
}

// DSN returns the DSN of a database of the server for a user.
func (s *Server) DSN(user, password, database string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", user, password, s.Address(), database)
}

// Shared is a server that the tests of a package share. The first test that needs it starts it, and Main ends it.
type Shared struct{ child.Shared[*Server] }

// Server returns the shared server, which answers.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	return s.Get(t, func() (*Server, func() error, error) {
		folder, err := os.MkdirTemp("", "mariadb-")
		if err != nil {
			return nil, nil, err
		}
		server, err := start(folder, nil)
		if err != nil {
			return nil, nil, errors.Join(err, os.RemoveAll(folder))
		}
		return server, func() error {
			server.Kill()
			return os.RemoveAll(folder)
		}, nil
	})
}

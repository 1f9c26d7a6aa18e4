package zkserver

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// Shared is the server of a package's tests that do it no harm. It starts when the first of them wants it, and TestMain
// ends it, by Main. The zero value is ready for use.
type Shared struct {
	once   sync.Once
	server *Server
	err    error
	made   atomic.Int64 // chroots
}

// Chroot makes a node that is the test's own, and returns it and its server, which answers.
func (s *Shared) Chroot(t testing.TB) (server *Server, path string) {
	t.Helper()
	requirePackage(t)
	s.once.Do(func() { s.server, s.err = startShared() })
	if s.err != nil {
		t.Fatalf("zkserver: %v", s.err)
	}
	path = fmt.Sprint("/test-", s.made.Add(1))
	if _, err := s.server.Client(t).Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("zkserver: make %s: %v", path, err)
	}
	return s.server, path
}

// Main is a package's tests with the end of their server.
func (s *Shared) Main(m *testing.M) Main { return Main{m, s} }

// Main runs tests and then ends the server that they shared.
type Main struct {
	tests  *testing.M
	shared *Shared
}

// Run returns the exit status of the tests.
func (m Main) Run() int {
	status := m.tests.Run()
	if s := m.shared.server; s != nil {
		s.process.Kill()
		if err := os.RemoveAll(s.folder); err != nil {
			fmt.Fprintln(os.Stderr, "zkserver:", err)
			status = max(status, 1)
		}
	}
	return status
}

// startShared starts a server that outlives the test that wants it first.
func startShared() (*Server, error) {
	var failed error
	for range tries {
		s, err := startAlone()
		if err == nil {
			return s, nil
		}
		failed = errors.Join(err, os.RemoveAll(s.folder))
	}
	return nil, fmt.Errorf("no server started in %d tries: %w", tries, failed)
}

func startAlone() (s *Server, err error) {
	s = &Server{}
	ports, err := child.FreePorts(1)
	if err != nil {
		return s, err
	}
	s.port = ports[0]
	if s.folder, err = os.MkdirTemp("", "zookeeper-"); err != nil {
		return s, err
	}
	if err := s.configure(1, ""); err != nil {
		return s, err
	}
	if s.process, err = launch(s.folder); err != nil {
		return s, err
	}
	if err := s.ready(); err != nil {
		s.process.Kill()
		return s, err
	}
	return s, nil
}

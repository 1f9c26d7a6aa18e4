package zkserver

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
)

// Shared is the server of a package's tests that do it no harm. It starts when the first of them wants it, and
// TestMain ends it, by Main. The zero value is ready for use.
type Shared struct {
	child.Shared[*Server]
	made atomic.Int64 // chroots
}

// Chroot makes a node that is the test's own, and returns it and its server, which answers.
func (s *Shared) Chroot(t testing.TB) (server *Server, path string) {
	t.Helper()
	requirePackage(t)
	server = s.Get(t, func() (*Server, func() error, error) {
		server, err := startShared()
		return server, func() error {
			server.process.Kill()
			return os.RemoveAll(server.folder)
		}, err
	})
	path = fmt.Sprint("/test-", s.made.Add(1))
	if _, err := server.Client(t).Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("zkserver: make %s: %v", path, err)
	}
	return server, path
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

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

// Shared is a server for the tests of a package that do not break it. The first test that needs it starts it, and
// Main ends it. The zero value is ready for use.
type Shared struct {
	child.Shared[*Server]
	made atomic.Int64 // number of chroots
}

// Chroot creates a node for the test, and returns it with its server, which answers.
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

// startShared starts a server that outlives the test that starts it.
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

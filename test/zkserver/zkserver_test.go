package zkserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerKeepsItsDataAndPort(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	if !strings.HasPrefix(s.Address(), "127.0.0.1:") {
		t.Fatalf("the server is at %s", s.Address())
	}
	before := s.Address()
	client := s.Client(t)
	if _, err := client.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Kill()
	s.Restart()
	if s.Address() != before {
		t.Errorf("the server moved from %s to %s", before, s.Address())
	}
	if got, _, err := s.Client(t).Get("/a"); err != nil || string(got) != "x" {
		t.Errorf("got %q and error %v, want x", got, err)
	}
}

func TestPausedServerAnswersNothing(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	client := s.Client(t)
	s.Pause()
	answered := make(chan error, 1)
	go func() {
		_, _, err := client.Exists("/")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a paused server answered: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	s.Resume()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

func TestEnsembleOutlivesOneServer(t *testing.T) {
	t.Parallel()
	servers := zkserver.StartEnsemble(t, 3)
	if got := strings.Count(zkserver.Connect(servers...), ","); got != 2 {
		t.Fatalf("%s does not name three servers", zkserver.Connect(servers...))
	}
	servers[2].Kill()
	client := servers[0].Client(t)
	eventually.Works(t, "write to two of three", func() error {
		_, err := client.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll))
		return err
	})
	servers[2].Restart()
	other := servers[2].Client(t)
	eventually.Works(t, "read from the third", func() error {
		_, _, err := other.Get("/a")
		return err
	})
}

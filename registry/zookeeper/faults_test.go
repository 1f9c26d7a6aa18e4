package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// T2: a leader whose session was ended, and who does not know it yet, writes nothing.
func testDeposedLeaderWritesNothing(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	for round := range 10 {
		cable := newCable()
		with := o
		with.Dial = cable.dial
		_, old := lead(t, with)
		commit(t, old, put("/s/mark", fmt.Sprintf("old %d", round)))
		next := open(t, o)
		resume := cable.freeze()
		defer resume()
		for _, session := range cable.sessions() {
			expire(t, server.Address(), session)
		}
		term := campaign(t, next, "127.0.0.1:2")
		if err := old.Err(); err != nil {
			t.Fatalf("the frozen leader knows already: %v", err)
		}
		done := make(chan error)
		go func() {
			done <- old.Commit(t.Context(), []registry.Write{put("/s/mark", "deposed"), put("/s/bad", "deposed")})
		}()
		resume()
		if err := <-done; !errors.Is(err, registry.ErrTermEnded) {
			t.Fatalf("a deposed leader's commit: got %v, want %v", err, registry.ErrTermEnded)
		}
		<-old.Done()
		commit(t, term)
		if e, err := term.Get(t.Context(), "/s/mark"); err != nil || string(e.Value) != fmt.Sprintf("old %d", round) {
			t.Errorf("round %d: the mark is %q (%v)", round, e.Value, err)
		}
		if got := paths(t, term, "/"); got != "/s/mark" {
			t.Errorf("round %d: there are %s", round, got)
		}
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// T3: a commit whose answer got lost was done once; one that never arrived is sent again.
func testCommitWithoutAnAnswerIsFoundOut(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprintf("request arrives %v", arrives), func(t *testing.T) {
			t.Parallel()
			cable := newCable()
			o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
			r, term := lead(t, o)
			for n := range 5 {
				fence := "/" + o.Namespace + "/registry/fence"
				before, _, err := client.Get(fence)
				if err != nil {
					t.Fatal(err)
				}
				cable.onMulti(func(p *plug, packet []byte) (int, error) {
					resume := cable.freeze()
					if arrives {
						if _, err := p.Conn.Write(packet); err != nil {
							t.Error(err)
						}
						eventually(t, "the server's commit", func() bool {
							now, _, err := client.Get(fence)
							return err == nil && string(now) != string(before)
						})
					}
					_ = p.Conn.Close()
					resume()
					return 0, errCable
				})
				commit(t, term, put("/s/counter", fmt.Sprint(n)), put(fmt.Sprintf("/s/x/%d", n), ""))
				if e, err := term.Get(t.Context(), "/s/counter"); err != nil || e.Version != int64(n) || string(e.Value) != fmt.Sprint(n) {
					t.Errorf("commit %d: the counter is %q at version %d (%v)", n, e.Value, e.Version, err)
				}
			}
			commit(t, term, registry.Write{Path: "/s/counter", Value: []byte("x"), If: registry.AtVersion(4)})
			if err := term.Err(); err != nil {
				t.Errorf("the term ended: %v", err)
			}
			if l, ok := r.Leader(); !ok || l.Term != term.Number() {
				t.Errorf("the leader is %+v (%v)", l, ok)
			}
		})
	}
}

// T3: when the session goes with the answer, the outcome stays unknown and the term is over.
func testSessionThatEndsInACommit(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	cable := newCable()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
	_, term := lead(t, o)
	cable.onMulti(func(p *plug, _ []byte) (int, error) {
		for _, session := range cable.sessions() {
			expire(t, server.Address(), session)
		}
		_ = p.Conn.Close()
		return 0, errCable
	})
	err := term.Commit(t.Context(), []registry.Write{put("/a", "x")})
	if !errors.Is(err, registry.ErrTermEnded) || !errors.Is(err, registry.ErrOutcomeUnknown) {
		t.Errorf("got %v, want %v and %v", err, registry.ErrTermEnded, registry.ErrOutcomeUnknown)
	}
}

func TestSilenceEndsTheTerm(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: 2 * time.Second}
	r, term := lead(t, o)
	server.Pause()
	began := time.Now()
	select {
	case <-term.Done():
	case <-time.After(patience):
		t.Fatal("the term goes on without ZooKeeper")
	}
	if took := time.Since(began); took < time.Second || took > 4*time.Second {
		t.Errorf("the term ended after %v, want 2 s", took)
	}
	if l, ok := r.Leader(); ok {
		t.Errorf("%+v is known to lead", l)
	}
	server.Resume()
	next := campaign(t, r, "127.0.0.1:8899")
	if next.Number() <= term.Number() {
		t.Errorf("term %d came after %d", next.Number(), term.Number())
	}
}

// T1: servers may grant a shorter session than the one that is asked for, and end it then.
func TestSilenceCountsByTheSessionThatIsGranted(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t) // which grants 10 s at most
	_, term := lead(t, zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: 2 * patience})
	server.Pause()
	select {
	case <-term.Done():
	case <-time.After(patience):
		t.Fatal("the term goes on without ZooKeeper, whose session has ended")
	}
	server.Resume()
}

func testLostConnectionEndsNoTerm(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	cable := newCable()
	_, term := lead(t, zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial})
	for n := range 10 {
		cable.cut()
		commit(t, term, put("/s/mark", fmt.Sprint(n)))
		if got := paths(t, term, "/s"); got != "/s/mark" {
			t.Fatalf("there are %s", got)
		}
	}
}

func TestEnsembleLosesEachServer(t *testing.T) {
	t.Parallel()
	servers := zkserver.StartEnsemble(t, 3)
	o := zookeeper.Options{Servers: zkserver.Connect(servers...), Namespace: namespace(), SessionTimeout: 10 * time.Second}
	_, term := lead(t, o)
	n := 0
	write := func() {
		commit(t, term, put("/s/mark", fmt.Sprint(n)), put(fmt.Sprintf("/s/x/%03d", n), ""))
		n++
	}
	write()
	for _, s := range servers {
		s.Kill()
		for range 10 {
			write()
		}
		s.Restart()
		write()
	}
	found, err := term.List(t.Context(), "/s/x")
	if err != nil || len(found) != n {
		t.Errorf("%d of %d commits are there (%v)", len(found), n, err)
	}
	if e, err := term.Get(t.Context(), "/s/mark"); err != nil || e.Version != int64(n-1) {
		t.Errorf("the mark is at version %d after %d commits (%v)", e.Version, n, err)
	}
}

func testResignHandsOverAtOnce(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: 10 * time.Second}
	a, first := lead(t, o)
	b, c := open(t, o), open(t, o)
	shows := func(r *zookeeper.Registry, number int64, address string) {
		t.Helper()
		eventually(t, "to know the leader "+address, func() bool {
			l, ok := r.Leader()
			return ok && l.Term == number && l.Address == address && time.Since(l.Since) < patience
		})
	}
	shows(a, first.Number(), "127.0.0.1:8899")
	shows(b, first.Number(), "127.0.0.1:8899")
	next := make(chan registry.Term, 1)
	go func() {
		term, err := b.Campaign(t.Context(), "127.0.0.1:2")
		if err != nil {
			t.Error(err)
		}
		next <- term
	}()
	client := server.Client(t)
	eventually(t, "a second candidate", func() bool {
		names, _, err := client.Children("/" + o.Namespace + "/ha/election")
		return err == nil && len(names) == 2
	})
	shows(c, first.Number(), "127.0.0.1:8899")
	began := time.Now()
	if err := first.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := <-next
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the hand-over took %v", took)
	}
	for _, r := range []*zookeeper.Registry{a, b, c} {
		shows(r, second.Number(), "127.0.0.1:2")
	}
	if err := second.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody to lead", func() bool { _, ok := c.Leader(); return !ok })
}

func TestUnreachableServersAreTriedAndReported(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	server.Kill()
	log := &lines{}
	r := open(t, zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: time.Second,
		Digest: "user:secret-word", Logger: log.logger()})
	led := make(chan error, 1)
	go func() {
		_, err := r.Campaign(t.Context(), "x")
		led <- err
	}()
	eventually(t, "a log line with the address", func() bool {
		return strings.Contains(log.String(), "can't reach ZooKeeper") && strings.Contains(log.String(), server.Address())
	})
	select {
	case err := <-led:
		t.Fatalf("the campaign ended: %v", err)
	default:
	}
	server.Restart()
	if err := <-led; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "secret-word") {
		t.Error("the log has the digest's password")
	}
}

package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// testDeposedLeaderWritesNothing checks that a leader whose session has ended writes nothing, even if it does not know
// that yet (rule T2).
func testDeposedLeaderWritesNothing(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	client := server.Client(t)
	for round := range 10 {
		cable := newCable()
		with := o
		with.Dial = cable.dial
		_, old := lead(t, with)
		commit(t, old, put("/s/mark", fmt.Sprintf("old %d", round)))
		next := open(t, o)
		// The second server stands for election before the leader freezes: after the session timeout without an answer
		// the leader knows by itself, and this test is about the time before.
		var term registry.Term
		elected := make(chan error, 1)
		go func() {
			var err error
			term, err = next.Campaign(t.Context(), "127.0.0.1:2")
			elected <- err
		}()
		awaitCandidates(t, client, o, 2)
		resume := cable.freeze()
		defer resume()
		for _, session := range cable.sessions() {
			expire(t, server.Address(), session)
		}
		if err := <-elected; err != nil {
			t.Fatal(err)
		}
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

// awaitCandidates waits until n servers stand for election.
func awaitCandidates(t *testing.T, client *zk.Conn, o zookeeper.Options, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " candidates"), func() bool {
		names, _, err := client.Children("/" + o.Namespace + "/ha/election")
		return err == nil && len(names) == n
	})
}

// TestSilenceEndsTheTerm checks that a term ends when no server has answered for the session timeout (rule T1). The
// granted timeout counts, because servers may end the session after it.
func TestSilenceEndsTheTerm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ asked, earliest time.Duration }{
		"as it was asked for": {2 * time.Second, time.Second},
		"as it is granted":    {20 * time.Second, 5 * time.Second}, // 10 s at most
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := zkserver.Start(t)
			r, term := lead(t, zookeeper.Options{Servers: server.Address(), Namespace: namespace(),
				SessionTimeout: c.asked})
			server.Pause()
			began := time.Now()
			select {
			case <-term.Done():
			case <-time.After(eventTimeout):
				t.Fatal("the term goes on without ZooKeeper, whose session has ended")
			}
			if took := time.Since(began); took < c.earliest {
				t.Errorf("the term ended after %v", took)
			}
			if l, ok := r.Leader(); ok {
				t.Errorf("%+v is known to lead", l)
			}
			server.Resume()
			next := campaign(t, r, "127.0.0.1:8899")
			if next.Number() <= term.Number() {
				t.Errorf("term %d came after %d", next.Number(), term.Number())
			}
		})
	}
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
	o := zookeeper.Options{Servers: zkserver.Connect(servers...), Namespace: namespace(),
		SessionTimeout: 10 * time.Second}
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
			return ok && l.Term == number && l.Address == address && time.Since(l.Since) < eventTimeout
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
	awaitCandidates(t, server.Client(t), o, 2)
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
	eventually(t, "that no server leads", func() bool { _, ok := c.Leader(); return !ok })
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
		return strings.Contains(log.String(), "ZooKeeper unreachable") &&
			strings.Contains(log.String(), server.Address())
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

// testEndsOfTerms checks that every loss of the lead ends the term at once, not only at the next commit or the next
// term, because followers would keep sending requests to an idle former leader (rule T2). The next term has a higher
// number, and followers know it.
func testEndsOfTerms(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	for name, strike := range map[string]func(s *scene){
		"the election node goes":       func(s *scene) { dropCandidates(s, s.client, s.root[1:]) },
		"the fence is deleted":         func(s *scene) { s.drop("/registry/fence") },
		"the fence names no candidate": func(s *scene) { s.set("/registry/fence", fmt.Sprint(s.term.Number(), 7)) },
		"the fence is another's":       func(s *scene) { s.set("/registry/fence", fmt.Sprint(s.term.Number(), 7, "_c_x-lock-1")) },
		"the session expires":          (*scene).expire,
		"all is deleted recursively":   func(s *scene) { wipe(s, s.client, s.root) },
	} {
		for _, idle := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, idle %v", name, idle), func(t *testing.T) {
				t.Parallel()
				s := newScene(t, server, zookeeper.Options{SessionTimeout: 4 * time.Second})
				follower := open(t, zookeeper.Options{Servers: server.Address(), Namespace: s.root[1:]})
				strike(s)
				if !idle {
					if err := s.term.Commit(t.Context(), nil); !errors.Is(err, registry.ErrTermEnded) {
						t.Errorf("a commit: %v", err)
					}
				}
				select {
				case <-s.term.Done():
				case <-time.After(eventTimeout):
					t.Fatal("the term goes on")
				}
				if err := s.term.Err(); !errors.Is(err, registry.ErrTermEnded) {
					t.Errorf("the term's end: %v", err)
				}
				if l, ok := s.r.Leader(); ok {
					t.Errorf("%+v is known to lead", l)
				}
				next := campaign(t, s.r, "127.0.0.1:2")
				if next.Number() <= s.term.Number() {
					t.Errorf("term %d came after term %d", next.Number(), s.term.Number())
				}
				commit(t, next, put("/s/a", "x"))
				eventually(t, "a follower to know the leader", func() bool {
					l, ok := follower.Leader()
					return ok && l.Term == next.Number() && l.Address == "127.0.0.1:2" &&
						time.Since(l.Since) < eventTimeout
				})
			})
		}
	}
}

// testReadsEndWithTheSession checks that a term reads nothing more after the loss of its session (rule T1). The
// library continues with another session, perhaps at a lagging server, whose answers may be older than the commits of
// the term.
func testReadsEndWithTheSession(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	for range 5 {
		cable := newCable()
		o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
		_, term := lead(t, o)
		commit(t, term, put("/s/mark", "mine"))
		resume := cable.freeze()
		for _, session := range cable.sessions() {
			expire(t, server.Address(), session)
		}
		var reads sync.WaitGroup
		for range 50 {
			reads.Go(func() {
				if e, err := term.Get(t.Context(), "/s/mark"); !errors.Is(err, registry.ErrTermEnded) {
					t.Errorf("a read after the loss of the session: %q, %v", e.Value, err)
				}
			})
		}
		resume()
		reads.Wait()
	}
}

// testCandidateWithoutItsNodeDeposesNobody checks that a candidate that has lost its election node, as after a long
// pause, begins no term, because another may lead by then (rule T1).
func testCandidateWithoutItsNodeDeposesNobody(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client, cable := server.Client(t), newCable()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	var term registry.Term
	next := open(t, o)
	with := o
	with.Dial = cable.dial
	late := open(t, with)
	cable.onMulti(func(p *plug, packet []byte) (int, error) {
		dropCandidates(t, client, o.Namespace)
		term = campaign(t, next, "127.0.0.1:2")
		return p.Conn.Write(packet)
	})
	led := make(chan registry.Term, 1)
	go func() {
		term, err := late.Campaign(t.Context(), "127.0.0.1:1")
		if err != nil {
			t.Error(err)
		}
		led <- term
	}()
	eventually(t, "it to stand behind the one that leads", func() bool {
		names, _, err := client.Children("/" + o.Namespace + "/ha/election")
		return len(led) > 0 || err == nil && len(names) == 2
	})
	commit(t, term, put("/s/mark", "1"))
	if err := term.Err(); err != nil || len(led) > 0 {
		t.Fatalf("the leader was deposed: %v", err)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := <-led; after == nil || after.Number() <= term.Number() {
		t.Errorf("term %v came after %d", after, term.Number())
	}
}

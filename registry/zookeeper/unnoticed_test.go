package zookeeper_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// T2, T3: when the fence shows another's commit, ours was not done, whether its request got lost or was refused.
func testFenceOfAnotherEndsTheTerm(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("request lost %v", lost), func(t *testing.T) {
			t.Parallel()
			cable := newCable()
			o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
			_, term := lead(t, o)
			commit(t, term, put("/s/mark", "mine"))
			cable.onMulti(func(p *plug, packet []byte) (int, error) {
				// Another's commit comes before ours. The election node is there still, as after a restored copy.
				if _, err := client.Set("/"+o.Namespace+"/registry/fence", []byte("1 77"), -1); err != nil {
					t.Error(err)
				}
				if !lost {
					return p.Conn.Write(packet)
				}
				_ = p.Conn.Close()
				return 0, errCable
			})
			err := term.Commit(t.Context(), []registry.Write{put("/s/mark", "late")})
			if !errors.Is(err, registry.ErrTermEnded) {
				t.Errorf("got %v, want %v", err, registry.ErrTermEnded)
			}
			eventually(t, "the end of the term", func() bool { return term.Err() != nil })
			if value, _, err := client.Get(entryNode(o.Namespace, "/s/mark")); err != nil || string(value) != "mine" {
				t.Errorf("the mark is %q (%v)", value, err)
			}
		})
	}
}

// T4: a condition is ZooKeeper's to check, not only ours: somebody may edit a node after we looked at it and before the
// commit arrives.
func testConditionsHoldWhenTheCommitArrives(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	for name, c := range map[string]struct {
		before registry.Write
		late   func(node string) error // by hand, while the commit is on its way
		write  registry.Write
	}{
		"a version": {
			put("/config/job/a", "1"),
			func(node string) error { _, err := client.Set(node, []byte("by hand"), -1); return err },
			registry.Write{Path: "/config/job/a", Value: []byte("2"), If: registry.AtVersion(0)},
		},
		"a version, to delete": {
			put("/config/job/a", "1"),
			func(node string) error { _, err := client.Set(node, []byte("by hand"), -1); return err },
			registry.Write{Path: "/config/job/a", Delete: true, If: registry.AtVersion(0)},
		},
		"that it is there": {
			put("/config/job/a", "1"),
			func(node string) error { return client.Delete(node, -1) },
			registry.Write{Path: "/config/job/a", Value: []byte("2"), If: registry.AtVersion(0)},
		},
		"that it is not there": {
			put("/config/job/b", "1"),
			func(node string) error { create(t, client, node, "by hand"); return nil },
			registry.Write{Path: "/config/job/a", Value: []byte("2"), If: registry.Absent()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cable := newCable()
			o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
			_, term := lead(t, o)
			commit(t, term, c.before)
			if _, err := term.List(t.Context(), "/"); err != nil { // all of it is known now
				t.Fatal(err)
			}
			node := "/" + o.Namespace + "/config/job/a"
			cable.onMulti(func(p *plug, packet []byte) (int, error) {
				if err := c.late(node); err != nil {
					t.Error(err)
				}
				return p.Conn.Write(packet)
			})
			err := term.Commit(t.Context(), []registry.Write{c.write, put("/s/with", "it")})
			var conflict *registry.Conflict
			if !errors.As(err, &conflict) || conflict.Path != "/config/job/a" {
				t.Errorf("got %v, want a conflict at /config/job/a", err)
			}
			if value, _, err := client.Get(node); err == nil && string(value) != "by hand" {
				t.Errorf("the edit was overwritten: %q", value)
			}
			if got := paths(t, term, "/s"); got != "" {
				t.Errorf("there is %s of a commit that was refused", got)
			}
			commit(t, term, put("/s/mark", "1"))
		})
	}
}

// T2: the loss of the election node is noticed by itself, not only by the next commit or by another's term: an idle
// leader would be taken for one for ever, and requests sent to it.
func testLostElectionNodeEndsAnIdleTerm(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	r, term := lead(t, o)
	dropCandidates(t, server.Client(t), o.Namespace)
	eventually(t, "the end of the term", func() bool { return errors.Is(term.Err(), registry.ErrTermEnded) })
	<-term.Done()
	if l, ok := r.Leader(); ok {
		t.Errorf("%+v is known to lead", l)
	}
}

// T1: after the loss of its session a term reads nothing any more: the library goes on with another session, perhaps at
// a server that lags, and what it shows may be older than what the term has committed.
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

// T1: a candidate that has lost its election node, as after a long pause, begins no term: another leads by then.
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

package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// scene is a term whose connections go through a cable, and a second client that may change its nodes.
type scene struct {
	*testing.T
	server *zkserver.Server
	client *zk.Conn
	cable  *cable
	root   string // the namespace's node
	r      *zookeeper.Registry
	term   registry.Term
}

func newScene(t *testing.T, server *zkserver.Server, o zookeeper.Options) *scene {
	t.Helper()
	s := &scene{T: t, server: server, client: server.Client(t), cable: newCable()}
	o.Servers, o.Namespace, o.Dial = server.Address(), namespace(), s.cable.dial
	s.root = "/" + o.Namespace
	s.r, s.term = lead(t, o)
	return s
}

// set changes a node as an external edit does.
func (s *scene) set(path, value string) {
	if _, err := s.client.Set(s.root+path, []byte(value), -1); err != nil {
		s.Errorf("set %s: %v", path, err)
	}
}

// drop deletes a node as an external edit does.
func (s *scene) drop(path string) {
	if err := s.client.Delete(s.root+path, -1); err != nil {
		s.Errorf("delete %s: %v", path, err)
	}
}

// fence returns the value of the fence.
func (s *scene) fence() string {
	value, _, err := s.client.Get(s.root + "/registry/fence")
	if err != nil {
		s.Errorf("get the fence: %v", err)
	}
	return string(value)
}

// expire ends the registry's sessions without notifying it.
func (s *scene) expire() {
	for _, session := range s.cable.sessions() {
		expire(s, s.server.Address(), session)
	}
}

// requestHandler decides what happens to a request: it passes the request on, loses it, or passes it on and loses the
// answer.
type requestHandler func(s *scene, p *plug, packet []byte) (int, error)

func pass(_ *scene, p *plug, packet []byte) (int, error) { return p.Conn.Write(packet) }

// lost breaks the connection under a request.
func lost(_ *scene, p *plug, _ []byte) (int, error) {
	_ = p.Conn.Close()
	return 0, errCable
}

// first calls do while the request is on its way.
func first(do func(s *scene), then requestHandler) requestHandler {
	return func(s *scene, p *plug, packet []byte) (int, error) {
		do(s)
		return then(s, p, packet)
	}
}

// answerLost passes the request on and drops its answer.
func answerLost(s *scene, p *plug, packet []byte) (int, error) {
	resume := s.cable.freeze()
	defer resume()
	before := s.fence()
	if _, err := p.Conn.Write(packet); err != nil {
		s.Error(err)
	}
	eventually(s, "the server's commit", func() bool { return s.fence() != before })
	return lost(s, p, packet)
}

// hang behaves like a server whose disk hangs: it keeps the session alive and answers no write.
func hang(s *scene, p *plug, packet []byte) (int, error) {
	s.cable.onMulti(func(p *plug, packet []byte) (int, error) { return hang(s, p, packet) })
	time.AfterFunc(1200*time.Millisecond, func() { _ = p.Conn.Close() })
	return len(packet), nil
}

// quota limits the namespace to its present number of nodes.
func quota(s *scene) {
	folder := "/zookeeper/quota" + s.root
	create(s, s.client, "/zookeeper/quota/tests", "")
	create(s, s.client, folder, "")
	create(s, s.client, folder+"/zookeeper_limits", "count=-1,bytes=-1;countHardLimit=1;byteHardLimit=-1")
	create(s, s.client, folder+"/zookeeper_stats", "count=20,bytes=200")
}

// testCommitFaults checks that a commit is made once or not at all, whatever happens to its request, and that Commit
// reports which (rules T2, T3, T4).
func testCommitFaults(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	// Each commit puts /s/mark and this write, whose path is /config/job/a by default.
	ours := registry.Write{Value: []byte("ours")}
	atVersion, absent, deleted := ours, ours, registry.Write{Delete: true, If: registry.AtVersion(0)}
	atVersion.If, absent.If = registry.AtVersion(0), registry.Absent()
	edited := first(func(s *scene) { s.set("/config/job/a", "by hand") }, pass)
	other := func(s *scene) {
		s.set("/registry/fence",
			"1 77")
	} // as after a copy was restored: the election node still exists
	for name, c := range map[string]struct {
		session  time.Duration
		before   func(s *scene)
		way      requestHandler
		write    registry.Write
		done     bool
		ends     bool // whether the term ends
		unknown  bool // whether the outcome of the commit is unknown
		conflict bool // at write's path
		says     []string
	}{
		"its answer is lost":                    {way: answerLost, write: ours, done: true},
		"it is lost":                            {way: lost, write: ours, done: true},
		"the session ends":                      {way: first((*scene).expire, lost), write: ours, ends: true, unknown: true},
		"another commits first":                 {way: first(other, pass), write: ours, ends: true},
		"another commits first, and it is lost": {way: first(other, lost), write: ours, ends: true, unknown: true},
		"a disk hangs":                          {session: 2 * time.Second, way: hang, write: ours, ends: true, unknown: true, says: []string{"a disk of ZooKeeper may hang"}},

		// T4: ZooKeeper checks conditions as well, because a node may be edited externally before the commit arrives.
		"another version":               {way: edited, write: atVersion, conflict: true},
		"another version, to delete":    {way: edited, write: deleted, conflict: true},
		"a node with a version is gone": {way: first(func(s *scene) { s.drop("/config/job/a") }, pass), write: atVersion, conflict: true},
		"a node that must be absent exists": {
			before: func(s *scene) { commit(s, s.term, registry.Write{Path: "/config/job/a", Delete: true}) },
			way:    first(func(s *scene) { create(s, s.client, s.root+"/config/job/a", "by hand") }, pass),
			write:  absent, conflict: true,
		},

		// Any refusal changes nothing, says what to do, and ends no term.
		"a quota is exceeded": {before: quota, write: put("/config/job/new", "ours"),
			says: []string{"/config/job/new", "-125", "listquota /tests/", "setquota"}},
		"a node belongs to another user": {before: func(s *scene) {
			if _, err := s.client.SetACL(s.root+"/config/job/a", zk.WorldACL(zk.PermRead), -1); err != nil {
				s.Error(err)
			}
		}, write: ours, says: []string{"/config/job/a", "getAcl"}},
		"a folder is gone": {before: func(s *scene) { s.drop("/config/app") }, write: put("/config/app/a", "ours"),
			says: []string{"/config/app/a", "the next leader creates it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, server, zookeeper.Options{SessionTimeout: c.session})
			commit(t, s.term, put("/s/mark", "0"), put("/config/job/a", "1"))
			paths(t, s.term, "/") // as a new leader does: everything is known now
			if c.before != nil {
				c.before(s)
			}
			if c.write.Path == "" {
				c.write.Path = "/config/job/a"
			}
			rounds := 1
			if c.done {
				rounds = 5
			}
			for n := range rounds {
				if c.way != nil {
					s.cable.onMulti(func(p *plug, packet []byte) (int, error) { return c.way(s, p, packet) })
				}
				err := s.term.Commit(t.Context(), []registry.Write{put("/s/mark", fmt.Sprint(n+1)), c.write})
				var conflict *registry.Conflict
				if (err == nil) != c.done || errors.Is(err, registry.ErrTermEnded) != c.ends ||
					errors.Is(err, registry.ErrOutcomeUnknown) != c.unknown ||
					errors.As(err, &conflict) != c.conflict || c.conflict && conflict.Path != c.write.Path {
					t.Fatalf("commit %d: %v", n, err)
				}
				for _, part := range c.says {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the error does not say %q: %v", part, err)
					}
				}
			}
			want := 0
			if c.done {
				want = rounds
			}
			if value, stat, err := s.client.Get(entryNode(s.root[1:], "/s/mark")); err != nil ||
				string(value) != fmt.Sprint(want) || int(stat.Version) != want {
				t.Errorf("the mark is %q at version %d (%v), want %d", value, stat.Version, err, want)
			}
			if value, _, err := s.client.Get(s.root + c.write.Path); string(value) == "ours" != c.done {
				t.Errorf("the other write of the commit left %q (%v)", value, err)
			}
			if c.ends {
				eventually(t, "the end of the term", func() bool { return s.term.Err() != nil })
				return
			}
			if c.conflict && c.before == nil {
				if value, _, err := s.client.Get(s.root + c.write.Path); err == nil && string(value) != "by hand" {
					t.Errorf("the edit was overwritten: %q", value)
				}
			}
			commit(t, s.term, registry.Write{Path: "/s/mark", Value: []byte("after"),
				If: registry.AtVersion(int64(want))})
			if l, ok := s.r.Leader(); !ok || l.Term != s.term.Number() {
				t.Errorf("the leader is %+v (%v)", l, ok)
			}
		})
	}
}

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

// testLargeCommits checks commits of any size, including those just at the limit of one request (rule T5).
func testLargeCommits(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace() + "/" + strings.Repeat("n", 200)}
	_, term := lead(t, o)
	paths(t, term, "/") // as a new leader does: everything is known then
	each := func(n int, write func(i int) registry.Write) (writes []registry.Write) {
		for i := range n {
			writes = append(writes, write(i))
		}
		return writes
	}
	const jobs = 10_000
	long := strings.Repeat("j", 90)
	job := func(i int) string { return fmt.Sprintf("%s-%05d", long, i) }
	register := each(jobs, func(i int) registry.Write {
		return registry.Write{Path: "/config/job/" + job(i), Value: []byte(strings.Repeat("d", 300)),
			If: registry.Absent()}
	})
	register = append(register, each(jobs,
		func(i int) registry.Write { return put("/state/disable/job/"+job(i), job(i)) })...)
	register = append(register, each(jobs,
		func(i int) registry.Write { return put("/s/job/"+job(i), strings.Repeat("s", 100)) })...)
	deregister := each(jobs, func(i int) registry.Write {
		return registry.Write{Path: "/config/job/" + job(i), Delete: true, If: registry.AtVersion(0)}
	})
	deregister = append(deregister, each(jobs, func(i int) registry.Write {
		return registry.Write{Path: "/state/disable/job/" + job(i), Delete: true}
	})...)
	deregister = append(deregister, each(jobs,
		func(i int) registry.Write { return put("/s/job/"+job(i), "removed") })...)
	for _, c := range []struct {
		name   string
		writes []registry.Write
		edited *registry.Write // a write whose document was edited externally; the commit point does not check it
		left   int             // entries
	}{
		{"10,000 jobs are registered", register, nil, 3 * jobs},
		{"an app is deleted with 10,000 jobs", deregister, &deregister[jobs-1], jobs},
		{"their states are deleted", each(jobs, func(i int) registry.Write { return registry.Write{Path: "/s/job/" + job(i), Delete: true} }), nil, 0},
		{"an execution of 10,000 shards", append(each(100, func(i int) registry.Write {
			return put(fmt.Sprintf("/s/shards/e/%d", i), strings.Repeat("c", 100*2_000))
		}), put("/s/execution/e", "header")), nil, 101},
		{"the execution is deleted", append(each(100, func(i int) registry.Write {
			return registry.Write{Path: fmt.Sprintf("/s/shards/e/%d", i), Delete: true}
		}), registry.Write{Path: "/s/execution/e", Delete: true}), nil, 0},
	} {
		if c.edited != nil {
			if _, err := client.Set("/"+o.Namespace+c.edited.Path, []byte("by hand"), -1); err != nil {
				t.Fatal(err)
			}
			var conflict *registry.Conflict
			if err := term.Commit(t.Context(), c.writes); !errors.As(err, &conflict) ||
				conflict.Path != c.edited.Path {
				t.Errorf("%s: got %v, want a conflict at %s", c.name, err, c.edited.Path)
			}
			c.edited.If = registry.AtVersion(1)
		}
		began := time.Now()
		commit(t, term, c.writes...)
		t.Logf("%s: %d writes in %v", c.name, len(c.writes), time.Since(began).Round(time.Millisecond))
		found, err := term.List(t.Context(), "/")
		if err != nil || len(found) != c.left {
			t.Fatalf("%s: %d entries are there, want %d (%v)", c.name, len(found), c.left, err)
		}
	}
	// All sizes around the limit of one request.
	for size := 1_000_000; size <= registry.MaxValue+registry.MaxValue/20; size += 3_331 {
		commit(t, term, put("/s/a", strings.Repeat("x", size-500_000)), put("/s/b", strings.Repeat("y", 500_000)))
	}
	if names, _, err := client.Children("/" + o.Namespace + "/registry/staged"); err != nil || len(names) > 0 {
		t.Errorf("staged parts are left: %v (%v)", names, err)
	}
}

// testEditsInALargeCommit checks an external edit during a large commit that changes the same document (rules T4, T5).
func testEditsInALargeCommit(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	var writes []registry.Write
	for i := range 40 {
		writes = append(writes, put(fmt.Sprintf("/s/%02d", i), strings.Repeat("v", 90_000)))
	}
	const parts = 4
	for name, c := range map[string]struct {
		at       int // the edit comes before this request
		write    registry.Write
		conflict bool
		left     string // the final document
	}{
		"while parts are staged":                {2, registry.Write{Value: []byte("ours"), If: registry.AtVersion(0)}, true, "by hand"},
		"just before the commit point":          {parts + 1, registry.Write{Value: []byte("ours"), If: registry.AtVersion(0)}, true, "by hand"},
		"just after it":                         {parts + 2, registry.Write{Value: []byte("ours"), If: registry.AtVersion(0)}, false, "by hand"},
		"while parts are staged, unconditional": {2, registry.Write{Value: []byte("ours")}, false, "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cable := newCable()
			o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
			_, term := lead(t, o)
			commit(t, term, put("/config/job/a", "first"))
			n := 0
			var count func(p *plug, packet []byte) (int, error)
			count = func(p *plug, packet []byte) (int, error) {
				if n++; n == c.at {
					if _, err := client.Set("/"+o.Namespace+"/config/job/a", []byte("by hand"), -1); err != nil {
						t.Error(err)
					}
				} else {
					cable.onMulti(count)
				}
				return p.Conn.Write(packet)
			}
			cable.onMulti(count)
			c.write.Path = "/config/job/a"
			err := term.Commit(t.Context(), append([]registry.Write{c.write}, writes...))
			var conflict *registry.Conflict
			if c.conflict != errors.As(err, &conflict) || !c.conflict && err != nil {
				t.Errorf("got %v, want a conflict: %v", err, c.conflict)
			}
			found, err := term.List(t.Context(), "/s")
			if err != nil || len(found) != 0 && len(found) != len(writes) || (len(found) == 0) != c.conflict {
				t.Errorf("%d entries are there, of a commit of %d (%v)", len(found), len(writes), err)
			}
			if e, err := term.Get(t.Context(), "/config/job/a"); err != nil || string(e.Value) != c.left {
				t.Errorf("the document is %q (%v), want %q", e.Value, err, c.left)
			}
			if names, _, err := client.Children("/" + o.Namespace + "/registry/staged"); err != nil || len(names) > 0 {
				t.Errorf("staged parts are left: %v (%v)", names, err)
			}
			commit(t, term, put("/s/last", "x"))
		})
	}
}

// testNamedCommitWithoutItsParts checks that a leader that can't finish a commit, because its parts were deleted, says
// what to do, and begins no term on half a commit (rule T5).
func testNamedCommitWithoutItsParts(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client, log := server.Client(t), &lines{}
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Logger: log.logger()}
	r, term := lead(t, o)
	commit(t, term, put("/s/a", "1"))
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	named := "/" + o.Namespace + "/registry/commit"
	create(t, client, named, `{"name":"1-7","parts":2,"applied":1}`)
	create(t, client, "/"+o.Namespace+"/registry/staged/1-9-0", "never named")
	led := make(chan registry.Term, 1)
	go func() {
		term, err := r.Campaign(t.Context(), "127.0.0.1:2")
		if err != nil {
			t.Error(err)
		}
		led <- term
	}()
	eventually(t, "the log to say what to do", func() bool {
		return strings.Contains(log.String(), "/registry/staged/1-7-1") &&
			strings.Contains(log.String(), "delete it and "+named)
	})
	if len(led) > 0 {
		t.Error("a term began")
	}
	if err := client.Delete(named, -1); err != nil {
		t.Fatal(err)
	}
	term = <-led
	if got := paths(t, term, "/"); got != "/s/a" {
		t.Errorf("there are %s", got)
	}
	if names, _, err := client.Children("/" + o.Namespace + "/registry/staged"); err != nil || len(names) > 0 {
		t.Errorf("staged parts are left: %v (%v)", names, err)
	}
}

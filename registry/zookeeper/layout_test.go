package zookeeper_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/buffer"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// lines is a log that can be read while it is written.
type lines struct{ buffer.Locked }

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func create(t testing.TB, client *zk.Conn, path, value string) {
	t.Helper()
	if _, err := client.Create(path, []byte(value), 0, zk.WorldACL(zk.PermAll)); err != nil &&
		!errors.Is(err, zk.ErrNodeExists) {
		t.Fatalf("create %s: %v", path, err)
	}
}

// original creates the nodes that ElasticJob-Cloud 3.0.1 leaves, whose parents have a value from Curator.
func original(t testing.TB, client *zk.Conn, root string) {
	t.Helper()
	for at, c := range root {
		if c == '/' && at > 0 {
			create(t, client, root[:at], "")
		}
	}
	create(t, client, root, "")
	for _, folder := range []string{"/config", "/config/app", "/config/job", "/state", "/state/ready",
		"/state/failover", "/state/failover/job",
		"/state/running", "/state/running/job", "/state/disable", "/state/disable/job", "/ha"} {
		create(t, client, root+folder, "10.0.0.7")
	}
	for path, value := range map[string]string{"/config/app/app": "appName: app", "/config/job/job": "jobName: job",
		"/state/ready/job":            "2",
		"/state/failover/job/job@-@0": "job@-@0@-@READY@-@agent@-@uuid", "/state/disable/job/job": "job",
		"/ha/framework_id": "f-1"} {
		create(t, client, root+path, value)
	}
}

func testOriginalsNodesAreEntriesAndItsFoldersAreNot(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	root := "/" + o.Namespace
	original(t, client, root)
	_, term := lead(t, o)
	if got, want := paths(t, term, "/"), "/config/app/app /config/job/job /ha/framework_id /state/disable/job/job "+
		"/state/failover/job/job@-@0 /state/ready/job"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, path := range []string{"/config", "/config/job", "/state/failover/job", "/ha/election"} {
		if e, err := term.Get(t.Context(), path); !errors.Is(err, registry.ErrNotFound) {
			t.Errorf("get %s: %v %v, want %v", path, e, err, registry.ErrNotFound)
		}
		if err := term.Commit(t.Context(), []registry.Write{put(path, "x")}); !errors.Is(err, registry.ErrBadPath) {
			t.Errorf("put %s: %v, want %v", path, err, registry.ErrBadPath)
		}
	}
	// Folders stay; values are stored verbatim.
	commit(t, term, registry.Write{Path: "/state/failover/job/job@-@0", Delete: true},
		registry.Write{Path: "/state/ready/job", Delete: true},
		put("/config/job/job", "jobName: job\n"))
	for path, want := range map[string]bool{"/state/failover/job": true, "/state/failover/job/job@-@0": false,
		"/state/ready": true, "/state/ready/job": false} {
		if there, _, err := client.Exists(root + path); err != nil || there != want {
			t.Errorf("%s is there: %v (%v), want %v", path, there, err, want)
		}
	}
	if got, _, err := client.Get(root + "/config/job/job"); err != nil || string(got) != "jobName: job\n" {
		t.Errorf("the document is %q (%v)", got, err)
	}
}

func testHandEditsAreReportedAndHealed(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	cable := newCable()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
	root := "/" + o.Namespace
	original(t, client, root)
	_, term := lead(t, o)
	if got := paths(t, term, "/"); !strings.Contains(got, "/config/job/job") {
		t.Fatalf("got %s", got)
	}
	reported := func(want string) {
		t.Helper()
		deadline := time.After(eventTimeout)
		for {
			select {
			case got := <-term.Changed():
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("%s was not reported", want)
			}
		}
	}
	edits := func(name string) {
		t.Helper()
		if _, err := client.Set(root+"/config/job/job", []byte(name), -1); err != nil {
			t.Fatal(err)
		}
		reported("/config/job/job")
		create(t, client, root+"/config/app/"+name, "new")
		reported("/config/app/" + name)
		create(t, client, root+"/state/disable/job/"+name, name)
		reported("/state/disable/job/" + name)
		if err := client.Delete(root+"/state/disable/job/"+name, -1); err != nil {
			t.Fatal(err)
		}
		reported("/state/disable/job/" + name)
	}
	edits("a")
	cable.cut()
	edits("b")
	// An edit while there is no connection.
	resume := cable.freeze()
	if _, err := client.Set(root+"/config/job/job", []byte("c"), -1); err != nil {
		t.Fatal(err)
	}
	create(t, client, root+"/config/app/c", "")
	for _, name := range []string{"a", "b"} {
		if err := client.Delete(root+"/config/app/"+name, -1); err != nil {
			t.Fatal(err)
		}
	}
	create(t, client, root+"/config/app/b", "another with the same version")
	cable.cut()
	resume()
	missed := map[string]bool{"/config/job/job": true, "/config/app/a": true, "/config/app/b": true,
		"/config/app/c": true}
	deadline := time.After(eventTimeout)
	for len(missed) > 0 {
		select {
		case path := <-term.Changed():
			delete(missed, path)
		case <-deadline:
			t.Fatalf("%v were not reported", missed)
		}
	}

	// The known state is wrong, so commits must correct it.
	commit(t, term, put("/s/x/1", ""), put("/s/x/2", ""), put("/s/y", ""))
	for _, path := range []string{"/s/x/1", "/s/y"} {
		if err := client.Delete(entryNode(o.Namespace, path), -1); err != nil {
			t.Fatal(err)
		}
	}
	create(t, client, entryNode(o.Namespace, "/s/new"), "by hand")
	create(t, client, entryNode(o.Namespace, "/s/x/3"), "by hand")
	commit(t, term, put("/s/y", "2"), registry.Write{Path: "/s/x/1", Delete: true}, put("/s/new", "ours"),
		registry.Write{Path: "/s/x/2", Delete: true})
	if got, want := paths(t, term, "/s"), "/s/new /s/x/3 /s/y"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	create(t, client, entryNode(o.Namespace, "/s/new2"), "by hand")
	var conflict *registry.Conflict
	err := term.Commit(t.Context(), []registry.Write{put("/s/y", "3"), {Path: "/s/new2", If: registry.Absent()}})
	if !errors.As(err, &conflict) || conflict.Path != "/s/new2" {
		t.Errorf("got %v, want a conflict at /s/new2", err)
	}
	if term.Err() != nil {
		t.Errorf("the term ended: %v", term.Err())
	}
}

func testOriginalThatLeadsKeepsUsWaiting(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	root := "/" + o.Namespace
	original(t, client, root)
	create(t, client, root+"/ha/election", "")
	lock := root + "/ha/election/_c_5c2d7a1e-0b5c-4b52-9d0a-0c0f5a1b2c3d-lock-"
	theirs, err := client.Create(lock, []byte("10.0.0.7:8899"), zk.FlagEphemeral|zk.FlagSequence,
		zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, o)
	eventually(t, "the original to be known", func() bool {
		l, ok := r.Leader()
		return ok && l.Address == "10.0.0.7:8899" && l.Term == 0
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := r.Campaign(ctx, "ours:1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("campaign beside a leading original: %v", err)
	}
	led := make(chan registry.Term, 1)
	go func() {
		term, err := r.Campaign(t.Context(), "ours:1")
		if err != nil {
			t.Error(err)
		}
		led <- term
	}()
	eventually(t, "our candidate", func() bool {
		names, _, err := client.Children(root + "/ha/election")
		return err == nil && len(names) == 2
	})
	// A later candidate waits for this one, and sees its address as Curator's users do.
	later, err := client.Create(lock, []byte("10.0.0.8:8899"), zk.FlagEphemeral|zk.FlagSequence,
		zk.WorldACL(zk.PermAll))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(theirs, -1); err != nil {
		t.Fatal(err)
	}
	term := <-led
	names, _, err := client.Children(root + "/ha/election")
	if err != nil || len(names) != 2 {
		t.Fatalf("candidates: %v (%v)", names, err)
	}
	for _, name := range names {
		path := root + "/ha/election/" + name
		if path == later {
			continue
		}
		if value, _, err := client.Get(path); err != nil || string(value) != "ours:1" ||
			len(name) != len(strings.TrimPrefix(later, root+"/ha/election/")) {
			t.Errorf("our candidate is %s with %q (%v)", name, value, err)
		}
	}
	commit(t, term, put("/a", "x"))
}

func testDigestProtectsAllNodes(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	anybody := server.Client(t)
	cable := newCable()
	o := zookeeper.Options{Servers: server.Address(), Namespace: "digest-" + namespace(), Digest: "job:secret-word",
		Dial: cable.dial}
	_, term := lead(t, o)
	commit(t, term, put("/config/job/j", "x"), put("/s/shards/e/1", "y"))
	for range 3 {
		cable.cut()
		commit(t, term, put("/config/job/j", "x"))
		if got := paths(t, term, "/"); got != "/config/job/j /s/shards/e/1" {
			t.Errorf("got %s", got)
		}
	}
	for _, path := range []string{"", "/config/job/j", "/registry/fence", "/registry/entries", "/ha/election"} {
		if _, _, err := anybody.Get("/" + o.Namespace + path); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("anybody may read %q: %v", path, err)
		}
	}
	for _, digest := range []string{"", "job:wrong-word"} {
		bad := o
		bad.Digest, bad.Dial = digest, nil
		_, err := open(t, bad).Campaign(t.Context(), "x")
		if !errors.Is(err, registry.ErrUnusable) || !strings.Contains(err.Error(), "digest") ||
			strings.Contains(err.Error(), "word") {
			t.Errorf("with the digest %q: %v", digest, err)
		}
	}
	// Nodes of an installation without a digest can be read with one.
	inherited := zookeeper.Options{Servers: server.Address(), Namespace: "open-" + namespace()}
	original(t, anybody, "/"+inherited.Namespace)
	inherited.Digest = "job:secret-word"
	_, term = lead(t, inherited)
	commit(t, term, put("/config/job/job", "new"), put("/config/job/job2", "new"))
	if got := paths(t, term, "/config/job"); got != "/config/job/job /config/job/job2" {
		t.Errorf("got %s", got)
	}
}

func testChroot(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	o := zookeeper.Options{Servers: server.Address() + "," + server.Address() + "/some/root",
		Namespace: "elasticjob-cloud"}
	_, err := open(t, o).Campaign(t.Context(), "x")
	if !errors.Is(err, registry.ErrUnusable) || !strings.Contains(err.Error(), "zkCli.sh create /some/root") {
		t.Errorf("a chroot that is not there: %v", err)
	}
	create(t, client, "/some", "")
	create(t, client, "/some/root", "")
	_, term := lead(t, o)
	commit(t, term, put("/config/job/j", "x"))
	if _, _, err := client.Get("/some/root/elasticjob-cloud/config/job/j"); err != nil {
		t.Error(err)
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	good := zookeeper.Options{Servers: "127.0.0.1:1", Namespace: "n"}
	for name, change := range map[string]func(*zookeeper.Options){
		"no servers":     func(o *zookeeper.Options) { o.Servers = "" },
		"an empty one":   func(o *zookeeper.Options) { o.Servers = "h1:2181,,h2" },
		"bad chroot":     func(o *zookeeper.Options) { o.Servers = "h1/a//b" },
		"no namespace":   func(o *zookeeper.Options) { o.Namespace = "" },
		"slashes":        func(o *zookeeper.Options) { o.Namespace = "/n/" },
		"ZooKeeper's":    func(o *zookeeper.Options) { o.Namespace = "zookeeper" },
		"digest":         func(o *zookeeper.Options) { o.Digest = "secret-word" },
		"negative times": func(o *zookeeper.Options) { o.SessionTimeout = -1 },
	} {
		o := good
		change(&o)
		if _, err := zookeeper.Open(o); !errors.Is(err, registry.ErrUnusable) ||
			strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package zookeeper_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// acl makes a node readable or unreadable for everyone.
func acl(t testing.TB, client *zk.Conn, path string, readable bool) {
	t.Helper()
	perms := int32(zk.PermAdmin | zk.PermWrite | zk.PermCreate | zk.PermDelete)
	if readable {
		perms = zk.PermAll
	}
	if _, err := client.SetACL(path, zk.WorldACL(perms), -1); err != nil {
		t.Fatalf("set the ACL of %s: %v", path, err)
	}
}

// testWhatMayNotBeReadIsOneEntry checks that a node that may not be read is returned as an Unreadable entry, and that
// all others are read. When such a node becomes readable or is removed, its path is reported, although ZooKeeper
// reports no changes of ACLs.
func testWhatMayNotBeReadIsOneEntry(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	cable := newCable()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial}
	root := "/" + o.Namespace
	original(t, client, root)
	create(t, client, root+"/config/job/gone", "x")
	for _, path := range []string{"/config/app/app", "/config/job/gone", "/state/disable/job/job", "/state/ready/job",
		"/state/failover/job"} {
		acl(t, client, root+path, false)
	}
	_, term := lead(t, o)
	closed := func(path string) string {
		return "ZooKeeper denies permission to anonymous clients (no ZooKeeper digest is set): see zkCli.sh getAcl " +
			root + path + ", and change it with setAcl"
	}
	entries, err := term.List(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	want := []registry.Entry{
		{Path: "/config/app/app", Unreadable: closed("/config/app/app")},
		{Path: "/config/job/gone", Unreadable: closed("/config/job/gone")},
		{Path: "/config/job/job", Value: []byte("jobName: job")},
		{Path: "/ha/framework_id", Value: []byte("f-1")},
		{Path: "/state/disable/job/job", Unreadable: closed("/state/disable/job/job")},
		{Path: "/state/failover/job", Unreadable: closed("/state/failover/job")},
		{Path: "/state/ready/job", Unreadable: closed("/state/ready/job")},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("- wanted, + got\n%s", diff)
	}
	if e, err := term.Get(t.Context(), "/config/app/app"); err != nil || e.Unreadable == "" {
		t.Errorf("get: %+v, %v", e, err)
	}
	others := map[string]bool{}
	reported := func(path string) {
		t.Helper()
		clear(others)
		for deadline := time.After(eventTimeout); ; {
			select {
			case got := <-term.Changed():
				if got == path {
					return
				}
				others[got] = true
			case <-deadline:
				t.Fatalf("%s is not reported", path)
			}
		}
	}
	acl(t, client, root+"/config/app/app", true)
	reported("/config/app/app")
	if e, err := term.Get(t.Context(), "/config/app/app"); err != nil || string(e.Value) != "appName: app" {
		t.Errorf("get: %+v, %v", e, err)
	}
	if err := client.Delete(root+"/config/job/gone", -1); err != nil {
		t.Fatal(err)
	}
	reported("/config/job/gone")
	if e, err := term.Get(t.Context(), "/config/job/gone"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("get: %+v, %v", e, err)
	}
	// If a node becomes unreadable, a check finds that, at the latest with a new connection.
	acl(t, client, root+"/config/job/job", false)
	cable.cut()
	reported("/config/job/job")
	if len(others) > 0 {
		t.Errorf("entries that were read already are reported again: %v", others)
	}
	e, err := term.Get(t.Context(), "/config/job/job")
	if err != nil || !strings.Contains(e.Unreadable, "getAcl "+root+"/config/job/job") {
		t.Errorf("get: %+v, %v", e, err)
	}
	// It can be deleted, since that depends on the ACL of its parent.
	commit(t, term, registry.Write{Path: "/config/job/job", Delete: true, If: registry.AtVersion(e.Version)},
		registry.Write{Path: "/state/disable/job/job", Delete: true})
	if got := paths(t, term, "/config"); got != "/config/app/app" {
		t.Errorf("left: %s", got)
	}
}

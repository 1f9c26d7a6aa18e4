package mesos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/cluster/mesos"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// election is a ZooKeeper path at which a test's masters register.
type election struct {
	t      *testing.T
	conn   *zk.Conn
	server string
	path   string
	acl    []zk.ACL
}

func (e *election) create(path string, data []byte) {
	e.t.Helper()
	if _, err := e.conn.Create(path, data, 0, e.acl); err != nil {
		e.t.Fatalf("create %s: %v", path, err)
	}
}

func (e *election) remove(name string) {
	e.t.Helper()
	if err := e.conn.Delete(e.path+"/"+name, -1); err != nil {
		e.t.Fatalf("delete %s: %v", name, err)
	}
}

// join registers a master as Mesos does, with a number of the test's choice.
func (e *election) join(number int, m *master) string {
	e.t.Helper()
	name := fmt.Sprintf("json.info_%010d", number)
	e.create(e.path+"/"+name, masterInfo(e.t, m))
	return name
}

// masterInfo returns what a master of Mesos 1.12 writes into its node.
func masterInfo(t *testing.T, m *master) []byte {
	t.Helper()
	u, err := url.Parse(m.url)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"address":{"hostname":"no-such-host.invalid","ip":%q,"port":%s},`+
		`"capabilities":[{"type":"AGENT_UPDATE"},{"type":"AGENT_DRAINING"},{"type":"QUOTA_V2"}],"hostname":"no-such-host.invalid",`+
		`"id":"313b6c92-0000","ip":16777343,"pid":"master@%s","port":%s,"version":"1.12.0"}`, u.Hostname(), u.Port(),
		u.Host, u.Port())
}

func (e *election) address() string { return "zk://" + e.server + e.path }

// driver creates a driver that is closed before the test checks for leaked goroutines.
func driver(t *testing.T, opts mesos.Options) *mesos.Driver {
	t.Helper()
	d, err := mesos.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// open subscribes and reads the session's first event.
func open(t *testing.T, d *mesos.Driver) cluster.Session {
	t.Helper()
	s, err := try(t, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if first, ok := next(t, s).(cluster.Subscribed); !ok {
		t.Fatalf("first event is %T", first)
	}
	return s
}

func try(t *testing.T, d *mesos.Driver) (cluster.Session, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return d.Subscribe(ctx, cluster.Framework{ID: framework, Name: "elasticjob", Role: "batch", Principal: "ejc"})
}

func mustFail(t *testing.T, d *mesos.Driver, words ...string) error {
	t.Helper()
	s, err := try(t, d)
	if err == nil {
		_ = s.Close()
		t.Fatal("subscribed")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
	return err
}

// All tests that need a real ZooKeeper share one server.
func TestLeaderInZooKeeper(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	conn := server.Client(t)
	for name, test := range map[string]func(*testing.T, *election){
		"the lowest number leads":      testLowestLeads,
		"a change ends the session":    testChangeEndsSession,
		"no master leads":              testNoLeader,
		"a new leader is reported":     testNewLeader,
		"digest":                       testDigest,
		"ZooKeeper away, session open": testZooKeeperAway,
		"ZooKeeper silent":             testZooKeeperSilent,
		"the leader is unreachable":    testLeaderUnreachable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := "/mesos-" + strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name)
			e := &election{t: t, conn: conn, server: server.Address(), path: path, acl: zk.WorldACL(zk.PermAll)}
			test(t, e)
		})
	}
}

func testLowestLeads(t *testing.T, e *election) {
	first, second := newMaster(t), newMaster(t)
	e.create(e.path, nil)
	e.create(e.path+"/log_replicas", nil)
	e.create(e.path+"/info_0000000000", []byte{10, 3, 'o', 'l', 'd'})
	e.create(e.path+"/json.info_x", []byte("{}"))
	e.join(10, second)
	e.join(9, first)
	// One server of the list is down.
	s := open(t, driver(t, mesos.Options{Masters: []string{"zk://127.0.0.1:1," + e.server + e.path}}))
	if err := s.RequestOffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(first.requests(scheduler.Call_REVIVE)); n != 1 {
		t.Errorf("the leader got %d REVIVE", n)
	}
}

func testChangeEndsSession(t *testing.T, e *election) {
	first, second, third := newMaster(t), newMaster(t), newMaster(t)
	e.create(e.path, nil)
	leads := e.join(1, first)
	d := driver(t, mesos.Options{Masters: []string{e.address()}})
	s := open(t, d)
	follows := e.join(2, second)
	e.remove(follows)
	follows = e.join(3, second)
	first.send(rescind("o1"))
	if got := next(t, s); got != (cluster.Rescind{OfferID: "o1"}) {
		t.Fatalf("with other followers: %v, %v", got, s.Err())
	}

	e.remove(leads)
	if err := ended(t, s); !errors.Is(err, mesos.ErrNotLeading) ||
		!strings.Contains(err.Error(), strings.TrimPrefix(second.url, "http://")) {
		t.Errorf("ended with %v", err)
	}
	s = open(t, d)
	if err := s.RequestOffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(second.requests(scheduler.Call_REVIVE)); n != 1 {
		t.Errorf("the new leader got %d REVIVE", n)
	}

	e.remove(follows)
	if err := ended(t, s); !errors.Is(err, mesos.ErrNotLeading) {
		t.Errorf("without a leader: ended with %v", err)
	}
	mustFail(t, d, "no leading Mesos master")
	e.join(4, third)
	open(t, d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	mustFail(t, d, "closed")
}

func testNewLeader(t *testing.T, e *election) {
	e.create(e.path, nil)
	d := driver(t, mesos.Options{Masters: []string{e.address()}})
	reported := func() <-chan error {
		done := make(chan error, 1)
		go func() { done <- d.NewLeader(t.Context()) }()
		return done
	}
	mustFail(t, d, "no leading Mesos master")
	waits := reported()
	m := newMaster(t)
	m.subscribe = func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "recovering", http.StatusServiceUnavailable)
	}
	first := e.join(1, m)
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	mustFail(t, d, "recovering")
	// The current leader was tried before, so it is not reported.
	short, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer cancel()
	if err := d.NewLeader(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reported the leader that was tried: %v", err)
	}
	waits = reported()
	e.join(2, newMaster(t))
	e.remove(first)
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	open(t, d)
}

// Each reason for having no leader has its own message, and none is cached.
func testNoLeader(t *testing.T, e *election) {
	m := newMaster(t)
	d := driver(t, mesos.Options{Masters: []string{e.address()}})
	mustFail(t, d, "no node "+e.path, "path")
	e.create(e.path, nil)
	mustFail(t, d, "no leading Mesos master", "no children")
	e.create(e.path+"/log_replicas", nil)
	mustFail(t, d, "no leading Mesos master", "log_replicas")
	e.create(e.path+"/info_0000000001", nil)
	mustFail(t, d, "no leading Mesos master", "0.24")
	for i, data := range []string{"", "master@127.0.0.1:5050", "[]", "{}", `{"address":{"ip":"127.0.0.1"}}`,
		`{"address":{"ip":"127.0.0.1","port":99999}}`} {
		name := fmt.Sprintf("json.info_%010d", i)
		e.create(e.path+"/"+name, []byte(data))
		mustFail(t, d, name, "is not in Mesos' format")
		e.remove(name)
	}
	e.join(20, m)
	open(t, d)
}

func testDigest(t *testing.T, e *election) {
	m := newMaster(t)
	e.acl = append(zk.DigestACL(zk.PermAll, "mesos", "hunter2"), zk.WorldACL(zk.PermCreate|zk.PermDelete)...)
	e.create(e.path, nil)
	e.join(1, m)
	mustFail(t, driver(t, mesos.Options{Masters: []string{e.address()}}), "permission denied", "user:password@")
	with := func(user string) *mesos.Driver {
		return driver(t, mesos.Options{Masters: []string{"zk://" + user + "@" + e.server + e.path}})
	}
	err := mustFail(t, with("mesos:wrong"), "check user and password")
	if strings.Contains(err.Error(), "wrong@") || strings.Contains(err.Error(), "mesos:wrong") {
		t.Errorf("the error shows a secret: %v", err)
	}
	d := with("mesos:hunter2")
	s := open(t, d)
	e.remove("json.info_0000000001")
	if err := ended(t, s); !errors.Is(err, mesos.ErrNotLeading) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("ended with %v", err)
	}
}

func testZooKeeperAway(t *testing.T, e *election) {
	first, second := newMaster(t), newMaster(t)
	e.create(e.path, nil)
	leads := e.join(1, first)
	p := netproxy.Start(t, e.server)
	d := driver(t, mesos.Options{Masters: []string{"zk://" + p.Address() + e.path}})
	s := open(t, d)
	p.Cut()
	mustFail(t, d, "ZooKeeper at zk://"+p.Address(), "does not answer")
	first.send(rescind("o1"))
	if got := next(t, s); got != (cluster.Rescind{OfferID: "o1"}) {
		t.Fatalf("without ZooKeeper: %v, %v", got, s.Err())
	}
	e.join(2, second)
	e.remove(leads) // unseen
	p.Heal()
	if err := ended(t, s); !errors.Is(err, mesos.ErrNotLeading) {
		t.Errorf("ended with %v", err)
	}
	open(t, d)
	p.DropAfter(0) // the connection of the next Subscribe breaks, and it reads again
	open(t, d)
}

func testZooKeeperSilent(t *testing.T, e *election) {
	p := netproxy.Start(t, e.server)
	p.Blackhole()
	d := driver(t, mesos.Options{Masters: []string{"zk://" + p.Address() + e.path},
		Timeouts: mesos.Timeouts{Answer: 100 * time.Millisecond}})
	for range 3 {
		if err := mustFail(t, d, "does not answer"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	}
	start := time.Now()
	if err := d.Close(); err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("closed after %s, %v", time.Since(start), err)
	}
}

func testLeaderUnreachable(t *testing.T, e *election) {
	m := newMaster(t)
	m.url = "http://127.0.0.1:1"
	e.create(e.path, nil)
	name := e.join(7, m)
	mustFail(t, driver(t, mesos.Options{Masters: []string{e.address()}}), "127.0.0.1:1", name, "refused")
}

func TestServersThatAreNoZooKeeper(t *testing.T) {
	t.Parallel()
	d := driver(t, mesos.Options{Masters: []string{"zk://127.0.0.1:1,no-such-host.invalid:2181/mesos"}})
	mustFail(t, d, "ZooKeeper at zk://127.0.0.1:1,no-such-host.invalid:2181/mesos does not answer")

	d = driver(t, mesos.Options{Masters: []string{"zk://" + speaker(t,
		"HTTP/1.1 400 Bad Request\r\n\r\n") + "/mesos"}})
	mustFail(t, d, "check that it is a ZooKeeper server")
	d = driver(t, mesos.Options{Masters: []string{"zk://" + speaker(t, "") + "/mesos"}})
	mustFail(t, d, "check that it is a ZooKeeper server with a quorum")
}

// speaker accepts connections, sends each the same text, and closes it.
func speaker(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	return l.Addr().String()
}

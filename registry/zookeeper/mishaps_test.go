package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// wipe deletes a node and everything below it, even while others create nodes there.
func wipe(t testing.TB, client *zk.Conn, path string) {
	t.Helper()
	eventually(t, "to delete "+path, func() bool {
		children, _, err := client.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range children {
			wipe(t, client, path+"/"+name)
		}
		err = client.Delete(path, -1)
		return err == nil || errors.Is(err, zk.ErrNoNode)
	})
}

// reported waits until the path is reported, and returns the paths reported before it.
func reported(t *testing.T, term registry.Term, path string) (before []string) {
	t.Helper()
	for deadline := time.After(eventTimeout); ; {
		select {
		case got := <-term.Changed():
			if got == path {
				return before
			}
			before = append(before, got)
		case <-deadline:
			t.Fatalf("%s is not reported; others: %v", path, before)
		}
	}
}

// testFolderThatMayNotBeListedHindersNoOther checks that a folder that can't be compared after a reconnection does not
// affect the others.
func testFolderThatMayNotBeListedHindersNoOther(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	cable, log := newCable(), &lines{}
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), Dial: cable.dial, Logger: log.logger(),
		SessionTimeout: 10 * time.Second}
	_, term := lead(t, o)
	commit(t, term, put("/config/app/a", "A"), put("/config/job/b", "B"))
	if _, err := term.List(t.Context(), "/"); err != nil {
		t.Fatal(err)
	}
	acl(t, client, "/"+o.Namespace+"/config/app", false)
	resume := cable.freeze()
	cable.cut()
	if _, err := client.Set("/"+o.Namespace+"/config/job/b", []byte("edited"), -1); err != nil {
		t.Fatal(err)
	}
	resume()
	reported(t, term, "/config/job/b")
	eventually(t, "a log line", func() bool {
		return strings.Contains(log.String(),
			"getAcl /"+o.Namespace+"/config/app,")
	})
}

// testTermNumbersThatGoBack checks that a former leader sees the new one if term numbers go back, because the
// namespace was emptied or an older ZooKeeper was restored.
func testTermNumbersThatGoBack(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	log := &lines{}
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	with := o
	with.Logger = log.logger()
	a, term := lead(t, with)
	for range 2 {
		term = campaign(t, a, "127.0.0.1:1")
	}
	wipe(t, client, "/"+o.Namespace)
	<-term.Done()
	b := open(t, o)
	next := campaign(t, b, "127.0.0.1:2")
	if next.Number() >= term.Number() {
		t.Fatalf("term %d came after %d: numbers have not gone back", next.Number(), term.Number())
	}
	eventually(t, "the new leader to be known", func() bool {
		l, ok := a.Leader()
		return ok && l.Address == "127.0.0.1:2" && l.Term == next.Number()
	})
	if !strings.Contains(log.String(), "ZooKeeper went back") {
		t.Error("the log does not say so")
	}
	// A server that has seen higher numbers begins above them.
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wipe(t, client, "/"+o.Namespace)
	if again := campaign(t, a, "127.0.0.1:1"); again.Number() <= next.Number() {
		t.Errorf("term %d came after %d", again.Number(), next.Number())
	}
	if !strings.Contains(log.String(), "its last term is older than one that was seen before") {
		t.Error("the log does not mention the second time")
	}
}

// testChrootThatIsGoneForAMoment checks that a server waits for a registry that was usable once: servers must not all
// exit while ZooKeeper is being restored.
func testChrootThatIsGoneForAMoment(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	chroot := "/gone-for-a-moment"
	create(t, client, chroot, "")
	o := zookeeper.Options{Servers: server.Address() + chroot, Namespace: namespace()}
	r, term := lead(t, o)
	wipe(t, client, chroot)
	<-term.Done()
	if _, err := open(t, o).Campaign(t.Context(), "127.0.0.1:2"); !errors.Is(err, registry.ErrUnusable) {
		t.Errorf("the first campaign: got %v, want %v", err, registry.ErrUnusable)
	}
	led := make(chan error, 1)
	go func() {
		_, err := r.Campaign(t.Context(), "127.0.0.1:1")
		led <- err
	}()
	select {
	case err := <-led:
		t.Fatalf("the campaign ended: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	create(t, client, chroot, "")
	if err := <-led; err != nil {
		t.Error(err)
	}
}

// testPathsThatAreTooLong checks that a node whose path is not valid for an entry is returned as an Unreadable entry
// until it is deleted.
func testPathsThatAreTooLong(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	_, term := lead(t, o)
	if got := paths(t, term, "/"); got != "" {
		t.Fatalf("there are %s", got)
	}
	path := "/config/job/" + strings.Repeat("n", 1100)
	create(t, client, "/"+o.Namespace+path, "x")
	reported(t, term, path)
	e, err := term.Get(t.Context(), path)
	if err != nil || !strings.Contains(e.Unreadable, "1112 bytes long") {
		t.Errorf("get: %+v, %v", e, err)
	}
	if found, err := term.List(t.Context(), "/config"); err != nil || len(found) != 1 ||
		found[0].Unreadable != e.Unreadable {
		t.Errorf("list: %+v, %v", found, err)
	}
	if err := client.Delete("/"+o.Namespace+path, -1); err != nil {
		t.Fatal(err)
	}
	reported(t, term, path)
	if _, err := term.Get(t.Context(), path); !errors.Is(err, registry.ErrBadPath) {
		t.Errorf("get a deleted node: got %v, want %v", err, registry.ErrBadPath)
	}
}

// slow is a connection over a slow link. owed is the time that Read still has to sleep for the bytes that it has read.
type slow struct {
	net.Conn
	owed time.Duration
}

// Read does not sleep after each of thousands of small answers: on a busy machine every sleep takes too long, so the
// link would be far too slow. It sleeps when owed is long enough, and subtracts the time that the sleep really took.
func (s *slow) Read(b []byte) (int, error) {
	const bytesPerSecond = 512 << 10
	n, err := s.Conn.Read(b[:min(len(b), 16<<10)])
	if s.owed += time.Duration(n) * time.Second / bytesPerSecond; s.owed > 20*time.Millisecond {
		began := time.Now()
		time.Sleep(s.owed)
		s.owed -= time.Since(began)
	}
	return n, err
}

// testSlowLink checks that the term continues while a list takes long over a slow link.
func testSlowLink(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: 10 * time.Second}
	const nodes = 12_000
	before, term := lead(t, o)
	var writes []registry.Write
	for n := range nodes {
		writes = append(writes, put(fmt.Sprintf("/config/job/%060d", n), "v"))
	}
	commit(t, term, writes...)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &slow{Conn: c}, err
	}
	_, term = lead(t, o)
	found, err := term.List(t.Context(), "/config")
	if err != nil || len(found) != nodes {
		t.Errorf("listed %d of %d nodes: %v", len(found), nodes, err)
	}
}

// brief is a connection that breaks after some bytes.
type brief struct {
	net.Conn
	left int
}

func (b *brief) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errCable
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// testConnectionsThatBreakInLargeAnswers checks that a list continues where it was when connections break repeatedly.
func testConnectionsThatBreakInLargeAnswers(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	const nodes = 64
	before, term := lead(t, o)
	value := strings.Repeat("v", 20_000)
	for n := range nodes {
		commit(t, term, put(fmt.Sprintf("/config/job/%d", n), value))
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &brief{c, 200_000}, err
	}
	_, term = lead(t, o)
	found, err := term.List(t.Context(), "/config")
	if err != nil || len(found) != nodes {
		t.Errorf("listed %d of %d nodes: %v", len(found), nodes, err)
	}
}

// late is a connection whose answers are delayed and whose requests can be lost.
type late struct {
	net.Conn
	coming  chan packet
	rest    []byte
	delay   *atomic.Int64
	loseAll *atomic.Bool
}

type packet struct {
	at    time.Time
	bytes []byte
}

func (l *late) pump() {
	defer close(l.coming)
	for {
		b := make([]byte, 64<<10)
		n, err := l.Conn.Read(b)
		if err != nil {
			return
		}
		l.coming <- packet{time.Now().Add(time.Duration(l.delay.Load())), b[:n]}
	}
}

func (l *late) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		p, ok := <-l.coming
		if !ok {
			return 0, io.EOF
		}
		time.Sleep(time.Until(p.at))
		l.rest = p.bytes
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *late) Write(b []byte) (int, error) {
	if l.loseAll.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

func (l *late) SetReadDeadline(time.Time) error { return nil }

// testLateAnswersLengthenNoTerm checks that delayed answers do not lengthen a term: it ends before the next one begins
// (rule T1).
func testLateAnswersLengthenNoTerm(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	var delay atomic.Int64
	var loseAll atomic.Bool
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace(), SessionTimeout: 4 * time.Second}
	with := o
	with.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l := &late{Conn: c, coming: make(chan packet, 1000), delay: &delay, loseAll: &loseAll}
		go l.pump()
		return l, nil
	}
	_, old := lead(t, with)
	delay.Store(int64(1500 * time.Millisecond))
	// Servers that are slow but alive keep the term.
	select {
	case <-old.Done():
		t.Fatalf("the term ended: %v", old.Err())
	case <-time.After(o.SessionTimeout + time.Second):
	}
	loseAll.Store(true)
	campaign(t, open(t, o), "127.0.0.1:2")
	if old.Err() == nil {
		t.Error("two terms at the same time")
	}
}

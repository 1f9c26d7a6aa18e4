package database

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"
)

// replica makes a copy of the registry that does not change any more. failOver puts the copy in the registry's place,
// like a failover to a lagging replica.
func replica(t *testing.T, dsn string) (failOver func()) {
	t.Helper()
	tables := []string{"REGISTRY_ENTRY", "REGISTRY_SHARED", "REGISTRY_FENCE", "REGISTRY_LEASE"}
	for _, table := range tables {
		change(t, dsn, "CREATE TABLE COPY_"+table+" LIKE "+table, "INSERT INTO COPY_"+table+" SELECT * FROM "+table)
	}
	return func() {
		var renames []string
		for _, table := range tables {
			renames = append(renames, table+" TO LOST_"+table, "COPY_"+table+" TO "+table)
		}
		change(t, dsn, "RENAME TABLE "+strings.Join(renames, ", "))
	}
}

// wantNoLeader expects that a registry does not lead for longer than any lease, and reports why.
func wantNoLeader(t *testing.T, r *Registry, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*MinLease)
	defer cancel()
	if term, err := r.Campaign(ctx, "127.0.0.1:8899"); err == nil {
		t.Fatalf("term %d began", term.Number())
	}
	wantTrouble(t, r, why)
}

// wantTrouble waits until the registry reports this reason in Trouble.
func wantTrouble(t *testing.T, r *Registry, why string) {
	t.Helper()
	eventually.Works(t, "it says "+why, func() error {
		if err := r.Trouble(); err == nil || !strings.Contains(err.Error(), why) {
			return fmt.Errorf("the trouble is %v", err)
		}
		return nil
	})
}

// TestReplicaThatIsBehind checks that no server that has seen more leads a lagging replica: neither the leader nor a
// standby nor a restarted server, until an operator accepts the loss.
func TestReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	file := filepath.Join(t.TempDir(), "seen.json")
	first, term := lead(t, Options{DSN: dsn, Lease: MinLease, Seen: file})
	standby := open(t, Options{DSN: dsn, Lease: MinLease})
	commit(t, term, write("/a", "kept"))
	failOver := replica(t, dsn)
	commit(t, term, write("/a", "lost"))
	committed(t, standby, int(term.changes.Load()))
	failOver()
	<-term.Done()
	if err := term.Err(); !strings.Contains(err.Error(), "went back") ||
		!strings.Contains(err.Error(), "scheduler accept-registry") {
		t.Errorf("the term ended: %v", err)
	}
	wantNoLeader(t, first, "went back")
	wantNoLeader(t, standby, "went back")
	closeOf(t, first)
	again := open(t, Options{DSN: dsn, Lease: MinLease, Seen: file})
	wantNoLeader(t, again, "went back")
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	next := elect(t, again, "127.0.0.1:8899")
	wantValue(t, next, "/a", "kept")
	commit(t, next, write("/a", "new"))
	eventually.Works(t, "the standby accepts the registry", standby.Trouble)
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err == nil || !strings.Contains(err.Error(), "leads") {
		t.Errorf("accept beside a leader: %v", err)
	}
}

func closeOf(t *testing.T, r *Registry) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOneRemembers checks that a server that has seen nothing does not lead a database that went back while another
// candidate has seen more, and reports why. That candidate is no standby for a handover either.
func TestOneRemembers(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	leader, term := lead(t, Options{DSN: dsn, Lease: MinLease})
	knows := open(t, Options{DSN: dsn, Seen: filepath.Join(t.TempDir(), "seen.json")})
	failOver := replica(t, dsn)
	commit(t, term, write("/a", "lost"))
	committed(t, knows, int(term.changes.Load()))
	closeOf(t, leader)
	failOver()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = knows.Campaign(ctx, "127.0.0.1:9988")
	}()
	defer func() { cancel(); <-ended }()
	eventually.Works(t, "the server that remembers tells the others", func() error {
		var refuse, wait int
		err := knows.store.db.Get(&refuse, "SELECT COUNT(*) FROM REGISTRY_CANDIDATE WHERE lacks <> ''")
		if err == nil {
			err = knows.store.db.Get(&wait, countWaiting)
		}
		if err == nil && (refuse != 1 || wait != 0) {
			err = fmt.Errorf("%d refuse, and %d wait", refuse, wait)
		}
		return err
	})
	other := open(t, Options{DSN: dsn})
	wantNoLeader(t, other, "another server has seen more")
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	eventually.Works(t, "a server leads the accepted registry", func() error {
		if _, ok := other.Leader(); !ok {
			return other.Trouble()
		}
		return nil
	})
}

// TestLeaderAloneRemembers checks that a standby that has not looked since the last commits does not lead a database
// that lacks them, although the leader, which knows of them, has stopped leading.
func TestLeaderAloneRemembers(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	leader, term := lead(t, Options{DSN: dsn, Lease: MinLease})
	failOver := replica(t, dsn)
	commit(t, term, write("/a", "lost"))
	failOver()
	<-term.Done()
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	standby := open(t, Options{DSN: dsn, Lease: MinLease})
	if found, err := standby.readRows(t.Context()); err != nil || found.LeaseHolder == "" {
		t.Fatalf("the lease is free before the leader has said what it knows: %+v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = leader.Campaign(ctx, "127.0.0.1:9988")
	}()
	defer func() { cancel(); <-ended }()
	wantNoLeader(t, standby, "another server has seen more")
}

// gate passes connections through while it is open.
type gate struct {
	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	g.conns = append(g.conns, conn)
	return conn, nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for _, conn := range g.conns {
		_ = conn.Close()
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// standForElection makes a registry stand for election until the test ends.
func standForElection(t *testing.T, r *Registry) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Campaign(ctx, "127.0.0.1:9988")
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// TestOutageLongerThanALease: the database is away for longer than a lease and returns as a lagging replica. A standby
// that has seen less than the leader, and reaches the database first, does not lead.
func TestOutageLongerThanALease(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	var ofLeader, ofStandby gate
	leader, term := lead(t, Options{DSN: dsn, Lease: MinLease, Dial: ofLeader.dial})
	standby := open(t, Options{DSN: dsn, Lease: MinLease, Dial: ofStandby.dial})
	committed(t, standby, int(term.changes.Load()))
	failOver := replica(t, dsn)
	ofStandby.close()
	commit(t, term, write("/a", "lost"))
	ofLeader.close()
	<-term.Done()
	failOver()
	standForElection(t, leader)
	looked := func() time.Time {
		standby.follower.mu.Lock()
		defer standby.follower.mu.Unlock()
		return standby.follower.lastRead
	}
	latest := looked()
	ofStandby.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // the leader returns after the standby has looked several times
		for looks := 0; looks < 6 && ctx.Err() == nil; goruntime.Gosched() {
			if now := looked(); !now.Equal(latest) {
				latest, looks = now, looks+1
			}
		}
		ofLeader.open()
	}()
	wantNoLeader(t, standby, "another server has seen more")
}

// TestResignedBehindAFailover checks that a leader that is stopped just after a failover does not hand over to a
// standby that has seen less.
func TestResignedBehindAFailover(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	var ofStandby gate
	_, term := lead(t, Options{DSN: dsn, Lease: MinLease})
	standby := open(t, Options{DSN: dsn, Lease: MinLease, Dial: ofStandby.dial})
	committed(t, standby, int(term.changes.Load()))
	failOver := replica(t, dsn)
	ofStandby.close()
	commit(t, term, write("/a", "lost"))
	failOver()
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	ofStandby.open()
	wantNoLeader(t, standby, "another server has seen more")
}

package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// counting commits consecutive numbers, each on the condition that the previous one exists, in as many terms as
// needed, until stop is called. In the end the registry must hold exactly the answered commits: none lost, none made
// twice.
func counting(t *testing.T, r *Registry) (stop func() (commits, terms int)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan [2]int, 1)
	go func() {
		n, terms := 0, 0
		defer func() { ended <- [2]int{n, terms} }()
		for ctx.Err() == nil {
			term, err := r.Campaign(ctx, "127.0.0.1:8899")
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("campaign: %v", err)
				}
				return
			}
			terms++
			found, err := term.List(ctx, "/n")
			for err != nil && ctx.Err() == nil && term.Err() == nil {
				found, err = term.List(ctx, "/n")
			}
			if err != nil {
				continue
			}
			unknown := n + 1
			switch {
			case len(found) == n:
			case len(found) == unknown: // the commit whose outcome was unknown was made
				n++
			default:
				t.Errorf("%d commits are there, and %d were answered", len(found), n)
				return
			}
			for ctx.Err() == nil {
				err := term.Commit(context.Background(), []registry.Write{
					{Path: fmt.Sprintf("/n/%d", n), If: registry.Absent()},
					{Path: "/last", Value: fmt.Append(nil, n)}})
				if errors.Is(err, registry.ErrTermEnded) {
					break
				}
				if err != nil {
					t.Errorf("commit %d: %v", n, err)
					return
				}
				n++
			}
		}
	}()
	return func() (int, int) {
		cancel()
		got := <-ended
		return got[0], got[1]
	}
}

// wantCounted compares the content of a registry with the commits of counting.
func wantCounted(t *testing.T, r *Registry, commits int) {
	t.Helper()
	term := elect(t, r, "127.0.0.1:8899")
	found, err := term.List(t.Context(), "/n")
	if err != nil || len(found) != commits && len(found) != commits+1 {
		t.Fatalf("%d commits are there, %v; %d were answered", len(found), err, commits)
	}
	last, err := term.Get(t.Context(), "/last")
	if err != nil || last.Version != int64(len(found)-1) || string(last.Value) != fmt.Sprint(len(found)-1) {
		t.Errorf("the last is %q, version %d, %v; want %d", last.Value, last.Version, err, len(found)-1)
	}
}

// committed waits until that many commits are stored.
func committed(t *testing.T, r *Registry, n int) {
	t.Helper()
	eventually.Works(t, "commits go on", func() error {
		if got := r.memory.get().Changes; got < int64(n) {
			return fmt.Errorf("change %d of %d", got, n)
		}
		return nil
	})
}

// TestServerFaults groups the tests that need a whole server, one after the other.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	server := mariadb.Start(t)
	restart := func() { server.Restart(t) } // so that it runs until this test ends
	for name, test := range map[string]func(*testing.T, *mariadb.Server, string){
		"killed": func(t *testing.T, server *mariadb.Server, dsn string) { testKilled(t, server, dsn, restart) },
		"frozen": testFrozen, "read-only": testReadOnly, "small packets": testSmallPackets,
	} {
		t.Run(name, func(t *testing.T) { test(t, server, server.Database(t)) })
	}
}

// testKilled checks that a database that is killed and returns within the lease ends no term and loses no commit.
func testKilled(t *testing.T, server *mariadb.Server, dsn string, restart func()) {
	r := open(t, Options{DSN: dsn, Lease: time.Minute})
	stop := counting(t, r)
	for round := range 3 {
		committed(t, r, 100*(round+1))
		server.Kill()
		restart()
	}
	before := r.memory.get().Changes
	committed(t, r, int(before)+100)
	commits, terms := stop()
	if terms != 1 {
		t.Errorf("%d terms", terms)
	}
	wantCounted(t, r, commits)
}

// testFrozen checks that a leader whose database is silent ends its term before the lease expires, and leads again
// when the database answers.
func testFrozen(t *testing.T, server *mariadb.Server, dsn string) {
	r, term := lead(t, Options{DSN: dsn, Lease: MinLease})
	commit(t, term, write("/a", "before"))
	server.Pause(t)
	result := make(chan error, 1)
	go func() { result <- term.Commit(context.Background(), []registry.Write{write("/a", "in between")}) }()
	select {
	case <-term.Done():
	case <-time.After(eventTimeout):
		t.Error("the term lasts")
	}
	if err := <-result; !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("commit: %v", err)
	}
	server.Resume(t)
	commit(t, elect(t, r, "127.0.0.1:8899"), write("/a", "after"))
}

// testReadOnly checks that no server leads with a database that became a replica, and that Trouble reports why.
func testReadOnly(t *testing.T, server *mariadb.Server, dsn string) {
	r, term := lead(t, Options{DSN: dsn, Lease: MinLease})
	root := server.Root(t)
	readOnly := func(on int) {
		if _, err := root.Exec(fmt.Sprintf("SET GLOBAL read_only = %d", on)); err != nil {
			t.Fatal(err)
		}
	}
	readOnly(1)
	if err := term.Commit(t.Context(), []registry.Write{write("/a", "x")}); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("commit: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), MinLease)
	defer cancel()
	if _, err := r.Campaign(ctx, "127.0.0.1:8899"); err == nil {
		t.Error("a read-only database was led")
	}
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("accept: %v", err)
	}
	wantTrouble(t, r, "it may be a replica")
	if !strings.Contains(term.Err().Error(), "it may be a replica") {
		t.Errorf("the term ended: %v", term.Err())
	}
	readOnly(0)
	commit(t, elect(t, r, "127.0.0.1:8899"), write("/a", "after"))
}

// testSmallPackets checks that a database whose packets are too small for the largest value is refused, with the
// setting.
func testSmallPackets(t *testing.T, server *mariadb.Server, dsn string) {
	root := server.Root(t)
	for _, set := range []int{1 << 20, 64 << 20} {
		if _, err := root.Exec(fmt.Sprint("SET GLOBAL max_allowed_packet = ", set)); err != nil {
			t.Fatal(err)
		}
		_, err := open(t, Options{DSN: dsn}).Campaign(t.Context(), "127.0.0.1:8899")
		if small := set < minPacket; small != (err != nil) || small &&
			!strings.Contains(err.Error(), "set it to 4194304 or more") {
			t.Errorf("%d: %v", set, err)
		}
	}
}

// TestConnectionsCut checks that no commit is lost or made twice if connections break during commits.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	o, proxy := proxied(t)
	o.Lease = time.Minute
	r := open(t, o)
	stop := counting(t, r)
	for round := range 20 {
		committed(t, r, 50*(round+1))
		proxy.Cut()
		proxy.Heal()
	}
	commits, terms := stop()
	if terms != 1 {
		t.Errorf("%d terms", terms)
	}
	wantCounted(t, r, commits)
}

// proxied returns a database behind a proxy.
func proxied(t *testing.T) (Options, *netproxy.Proxy) {
	t.Helper()
	server := shared.Server(t)
	dsn := server.Database(t)
	proxy := netproxy.Start(t, server.Address())
	return Options{DSN: strings.Replace(dsn, server.Address(), proxy.Address(), 1)}, proxy
}

// TestCutOffInATransaction checks that a leader that falls silent during a commit does not block the next leader: the
// database closes its connection and frees its locks.
func TestCutOffInATransaction(t *testing.T) {
	t.Parallel()
	o, proxy := proxied(t)
	o.Lease = MinLease
	direct := o
	direct.DSN = strings.Replace(o.DSN, proxy.Address(), shared.Server(t).Address(), 1)
	_, old := lead(t, o)
	commit(t, old, write("/a", "old"))
	conn, err := old.connection()
	if err != nil {
		t.Fatal(err)
	}
	if err := old.fenceStatement().exec(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	proxy.Blackhole()
	ended := make(chan time.Time, 1)
	go func() {
		<-old.Done()
		ended <- time.Now()
	}()
	next := elect(t, open(t, direct), "127.0.0.1:9988")
	select {
	case <-ended:
	default:
		t.Error("another server leads, and the old term lasts")
	}
	commit(t, next, write("/a", "new"))
	proxy.Cut()
	if err := old.Commit(t.Context(), nil); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("commit: %v", err)
	}
}

// TestLockedFence checks that a held lock on the fence's row delays commits but ends no term.
func TestLockedFence(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	_, term := lead(t, Options{DSN: dsn, Lease: 30 * time.Second})
	config, err := mysql.Config(dsn)
	if err != nil {
		t.Fatal(err)
	}
	other := open(t, Options{DSN: config.FormatDSN(), Lease: 30 * time.Second})
	tx, err := other.store.db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT * FROM REGISTRY_FENCE FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- term.Commit(context.Background(), []registry.Write{write("/a", "x")}) }()
	if err := term.renewOnce(time.Second); err != nil {
		t.Errorf("the lease can't be renewed beside a commit: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// TestSharedValueOverBrokenConnections checks that each write of a shared value happens once, even if its answer is
// lost.
func TestSharedValueOverBrokenConnections(t *testing.T) {
	t.Parallel()
	o, proxy := proxied(t)
	r := open(t, o)
	version, err := r.WriteShared(t.Context(), "access", nil, registry.Absent())
	if err != nil {
		t.Fatal(err)
	}
	const writes = 100
	for n := range writes {
		if n%5 == 0 {
			proxy.DropAfter(int64(n)) // the connection breaks within an answer, now or later
		}
		version, err = r.WriteShared(t.Context(), "access", fmt.Append(nil, n), registry.AtVersion(version))
		if err != nil {
			t.Fatalf("write %d: %v", n, err)
		}
		proxy.Heal()
	}
	if e, err := r.ReadShared(t.Context(), "access"); err != nil || e.Version != writes ||
		string(e.Value) != fmt.Sprint(writes-1) {
		t.Errorf("%s, version %d, %v", e.Value, e.Version, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	proxy.Blackhole()
	if _, err := r.WriteShared(ctx, "access", []byte("x"), registry.AtVersion(version)); !errors.Is(err,
		registry.ErrOutcomeUnknown) {
		t.Errorf("without an answer: %v", err)
	}
	proxy.Cut()
	proxy.Heal()
}

// TestRequestSentTwice checks that a commit that a proxy delivers twice is not reported as failed.
func TestRequestSentTwice(t *testing.T) {
	t.Parallel()
	_, term := lead(t, Options{DSN: shared.Server(t).Database(t)})
	writes := []registry.Write{write("/a", "1")}
	statements := append([]statement{term.fenceStatement()}, newPlan(writes).statements()...)
	conn, err := term.store.db.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := requests(append(statements, statement{text: "COMMIT"}))[0].exec(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := term.Commit(t.Context(), writes); !errors.Is(err, registry.ErrOutcomeUnknown) ||
		!errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("commit: %v", err)
	}
}

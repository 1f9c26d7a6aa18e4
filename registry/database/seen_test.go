package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

// replica makes a copy of the registry that stays as it is, and returns what brings it in the registry's place, as a failover does to a
// replica that was behind.
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

// wantNoLeader expects that a registry does not lead for longer than any lease, and says why.
func wantNoLeader(t *testing.T, r *Registry, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*LeastLease)
	defer cancel()
	if term, err := r.Campaign(ctx, "127.0.0.1:8899"); err == nil {
		t.Fatalf("term %d began", term.Number())
	}
	wantTrouble(t, r, why)
}

// wantTrouble waits until a registry says that this is why it can't be used.
func wantTrouble(t *testing.T, r *Registry, why string) {
	t.Helper()
	eventually.Works(t, "it says "+why, func() error {
		if err := r.Trouble(); err == nil || !strings.Contains(err.Error(), why) {
			return fmt.Errorf("the trouble is %v", err)
		}
		return nil
	})
}

// TestReplicaThatIsBehind: nobody who knows better leads with it, neither the leader nor a standby nor one that was started again,
// until a person accepts what is lost.
func TestReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	file := filepath.Join(t.TempDir(), "seen.json")
	first, term := lead(t, Options{DSN: dsn, Lease: LeastLease, Seen: file})
	standby := open(t, Options{DSN: dsn, Lease: LeastLease})
	commit(t, term, write("/a", "kept"))
	failOver := replica(t, dsn)
	commit(t, term, write("/a", "lost"))
	committed(t, standby, int(term.changes.Load()))
	failOver()
	<-term.Done()
	if err := term.Err(); !strings.Contains(err.Error(), "went back") || !strings.Contains(err.Error(), "scheduler accept-registry") {
		t.Errorf("the term ended: %v", err)
	}
	wantNoLeader(t, first, "went back")
	wantNoLeader(t, standby, "went back")
	closeOf(t, first)
	again := open(t, Options{DSN: dsn, Lease: LeastLease, Seen: file})
	wantNoLeader(t, again, "went back")
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	next := campaign(t, again, "127.0.0.1:8899")
	wantValue(t, next, "/a", "kept")
	commit(t, next, write("/a", "new"))
	eventually.Works(t, "the standby follows what was accepted", standby.Trouble)
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err == nil || !strings.Contains(err.Error(), "leads") {
		t.Errorf("accept beside a leader: %v", err)
	}
}

// TestDatabaseThatIsEmpty: no registry is made in the place of one that was there.
func TestDatabaseThatIsEmpty(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	file := filepath.Join(t.TempDir(), "seen.json")
	r, _ := lead(t, Options{DSN: dsn, Seen: file})
	closeOf(t, r)
	change(t, dsn, "DROP TABLE REGISTRY_ENTRY, REGISTRY_SHARED, REGISTRY_FENCE, REGISTRY_LEASE, REGISTRY_CANDIDATE, REGISTRY_VERSION")
	again := open(t, Options{DSN: dsn, Seen: file})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := again.Campaign(ctx, "127.0.0.1:8899"); err == nil {
		t.Error("a new registry was made")
	}
	if _, err := Backup(t.Context(), Options{DSN: dsn}); err == nil || !strings.Contains(err.Error(), "no registry") {
		t.Errorf("backup: %v", err)
	}
}

// TestLacks: which registries a server that remembers another state takes.
func TestLacks(t *testing.T) {
	t.Parallel()
	remembered := seen{"l", 5, "h", 100}
	for name, test := range map[string]struct {
		found seen
		lacks string
	}{
		"the same":               {remembered, ""},
		"later":                  {seen{"l", 6, "i", 101}, ""},
		"commits are gone":       {seen{"l", 5, "h", 99}, "change 99 of term 5"},
		"terms are gone":         {seen{"l", 4, "g", 120}, "its term 4"},
		"another term 5":         {seen{"l", 5, "x", 120}, "its term 5"},
		"another registry":       {seen{"m", 1, "x", 1}, ""},
		"nobody has prepared it": {seen{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.found.lacks(remembered); test.lacks == "" && got != "" || !strings.Contains(got, test.lacks) {
				t.Errorf("it lacks %q, want %q", got, test.lacks)
			}
		})
	}
}

func closeOf(t *testing.T, r *Registry) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBackupAndRestore: what was backed up is there in another database, which has to be empty, and servers see that it is another one.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	from, to := shared.Server(t).Database(t), shared.Server(t).Database(t)
	r, term := lead(t, Options{DSN: from})
	commit(t, term, write("/a", "1"), write("/a/b", "\x00\xff"), registry.Write{Path: "/empty"})
	if _, err := r.WriteShared(t.Context(), "access", []byte("keys"), registry.Absent()); err != nil {
		t.Fatal(err)
	}
	c, err := Backup(t.Context(), Options{DSN: from})
	if err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), Options{DSN: from}, c); err == nil {
		t.Error("restored over a registry")
	}
	if err := Restore(t.Context(), Options{DSN: to}, c); err != nil {
		t.Fatal(err)
	}
	restored, next := lead(t, Options{DSN: to})
	if next.Number() <= term.Number() {
		t.Errorf("term %d after term %d", next.Number(), term.Number())
	}
	for path, want := range map[string]string{"/a": "1", "/a/b": "\x00\xff", "/empty": ""} {
		wantValue(t, next, path, want)
	}
	if e, err := restored.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "keys" {
		t.Errorf("%s, %v", e.Value, err)
	}
	if next.lineage == term.lineage {
		t.Error("the restored registry can't be told from the other")
	}
}

// TestMemory: what is in the file of what was seen, and what a server makes of one that it can't read.
func TestMemory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seen.json")
	for content, bad := range map[string]bool{"": false, "{": true, `{"term":1}`: true, `{"lineage":"l","term":1}`: false} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openMemory(file); bad != (err != nil) || bad && !strings.Contains(err.Error(), "remove that file") {
			t.Errorf("%q: %v", content, err)
		}
	}
	file = filepath.Join(t.TempDir(), "none yet")
	m, err := openMemory(file)
	if err != nil {
		t.Fatal(err)
	}
	now := seen{"l", 2, "h", 10}
	m.saw(now, m.get())
	if lacks, _ := m.saw(seen{"l", 2, "h", 9}, seen{"l", 2, "h", 8}); lacks != "" || m.get() != now {
		t.Errorf("a look that began before a commit: lacks %q, and %+v is remembered", lacks, m.get())
	}
	if err := m.keep(); err != nil {
		t.Fatal(err)
	}
	if again, err := openMemory(file); err != nil || again.get() != now {
		t.Errorf("read again: %+v, %v", again.get(), err)
	}
}

// TestLeftLineage: a registry that was left for an accepted one is not followed when it comes back, also by a server that was started
// again, until a third one is accepted; and what went back is not forgiven because it was led on.
func TestLeftLineage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seen.json")
	m, err := openMemory(file)
	if err != nil {
		t.Fatal(err)
	}
	look := func(s seen, want string) {
		t.Helper()
		if lacks, _ := m.saw(s, m.get()); want == "" && lacks != "" || !strings.Contains(lacks, want) {
			t.Errorf("%+v lacks %q, want %q", s, lacks, want)
		}
	}
	look(seen{"first", 2, "h", 10}, "")
	look(seen{"second", 3, "i", 9}, "")
	look(seen{"first", 2, "h", 12}, "left")
	if err := m.keep(); err != nil {
		t.Fatal(err)
	}
	if m, err = openMemory(file); err != nil {
		t.Fatal(err)
	}
	look(seen{"first", 2, "h", 12}, "left")
	look(seen{"second", 3, "i", 11}, "")
	look(seen{"second", 3, "i", 10}, "change 10 of term 3")
	look(seen{"second", 4, "j", 90}, "change 10 of term 3")
	look(seen{"second", 3, "i", 11}, "")
	look(seen{"first", 4, "j", 90}, "left")
	look(seen{"third", 5, "k", 91}, "")
}

// TestOneRemembers: a server that has seen nothing does not lead a database that went back while another one waits that knows better, and
// says why; nor is that one a standby that a leader could hand over to.
func TestOneRemembers(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	leader, term := lead(t, Options{DSN: dsn, Lease: LeastLease})
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
	eventually.Works(t, "who remembers says so to the others", func() error {
		var refuse, wait int
		err := knows.place.db.Get(&refuse, "SELECT COUNT(*) FROM REGISTRY_CANDIDATE WHERE lacks <> ''")
		if err == nil {
			err = knows.place.db.Get(&wait, countWaiting)
		}
		if err == nil && (refuse != 1 || wait != 0) {
			err = fmt.Errorf("%d refuse, and %d wait", refuse, wait)
		}
		return err
	})
	other := open(t, Options{DSN: dsn})
	wantNoLeader(t, other, "another server remembers more")
	if _, _, err := Accept(t.Context(), Options{DSN: dsn}); err != nil {
		t.Fatal(err)
	}
	eventually.Works(t, "what was accepted is led", func() error {
		if _, ok := other.Leader(); !ok {
			return other.Trouble()
		}
		return nil
	})
}

// TestLeaderAloneRemembers: a standby that has not looked since the last commits does not lead a database that lacks them, though the leader, who knows,
// leads it no more.
func TestLeaderAloneRemembers(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	leader, term := lead(t, Options{DSN: dsn, Lease: LeastLease})
	failOver := replica(t, dsn)
	commit(t, term, write("/a", "lost"))
	failOver()
	<-term.Done()
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	standby := open(t, Options{DSN: dsn, Lease: LeastLease})
	if found, err := standby.look(t.Context()); err != nil || found.LeaseHolder == "" {
		t.Fatalf("the lease is free before the leader has said what it knows: %+v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = leader.Campaign(ctx, "127.0.0.1:9988")
	}()
	defer func() { cancel(); <-ended }()
	wantNoLeader(t, standby, "another server remembers more")
}

// gate lets connections through while it is open.
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

// standsFor has a registry stand for election until the test ends.
func standsFor(t *testing.T, r *Registry) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.Campaign(ctx, "127.0.0.1:9988")
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// TestOutageLongerThanALease: the database was away for longer than a lease, and is a replica that was behind when it is back. A standby that remembers less than the
// leader, and reaches it first, does not lead it.
func TestOutageLongerThanALease(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	var ofLeader, ofStandby gate
	leader, term := lead(t, Options{DSN: dsn, Lease: LeastLease, Dial: ofLeader.dial})
	standby := open(t, Options{DSN: dsn, Lease: LeastLease, Dial: ofStandby.dial})
	committed(t, standby, int(term.changes.Load()))
	failOver := replica(t, dsn)
	ofStandby.close()
	commit(t, term, write("/a", "lost"))
	ofLeader.close()
	<-term.Done()
	failOver()
	standsFor(t, leader)
	looked := func() time.Time {
		standby.follower.mu.Lock()
		defer standby.follower.mu.Unlock()
		return standby.follower.looked
	}
	latest := looked()
	ofStandby.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // the leader comes when the standby has looked several times
		for looks := 0; looks < 6 && ctx.Err() == nil; goruntime.Gosched() {
			if now := looked(); !now.Equal(latest) {
				latest, looks = now, looks+1
			}
		}
		ofLeader.open()
	}()
	wantNoLeader(t, standby, "another server remembers more")
}

// TestResignedBehindAFailover: a leader that is told to stop when its database has just failed over does not hand over to a standby that remembers less.
func TestResignedBehindAFailover(t *testing.T) {
	t.Parallel()
	dsn := shared.Server(t).Database(t)
	var ofStandby gate
	_, term := lead(t, Options{DSN: dsn, Lease: LeastLease})
	standby := open(t, Options{DSN: dsn, Lease: LeastLease, Dial: ofStandby.dial})
	committed(t, standby, int(term.changes.Load()))
	failOver := replica(t, dsn)
	ofStandby.close()
	commit(t, term, write("/a", "lost"))
	failOver()
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	ofStandby.open()
	wantNoLeader(t, standby, "another server remembers more")
}

// TestSlowDisk: a data folder whose disk hangs keeps no commit waiting.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seen.json")
	if err := syscall.Mkfifo(file+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	r, term := lead(t, Options{DSN: shared.Server(t).Database(t), Seen: file})
	eventually.Works(t, "the file is being written", func() error {
		if r.memory.writing.TryLock() {
			r.memory.writing.Unlock()
			return errors.New("it is not")
		}
		return nil
	})
	commit(t, term, write("/a", "1"))
	if _, leads := r.Leader(); !leads {
		t.Error("it does not lead")
	}
	if _, err := os.ReadFile(file + ".new"); err != nil { // which ends the wait
		t.Fatal(err)
	}
}

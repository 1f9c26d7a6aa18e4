package database

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"
)

var errSilent = errors.New("silent for a test")

// awaitStandby waits until the leader knows of a standby.
func awaitStandby(t testing.TB, leader *term) {
	t.Helper()
	eventually.Works(t, "the next candidate", func() error {
		if !leader.Standby(t.Context()) {
			return errors.New("there is no standby")
		}
		return nil
	})
}

// standBy makes another registry wait for the leadership.
func standBy(t *testing.T, leader *term, o Options) (led <-chan *term) {
	t.Helper()
	r := open(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	next := make(chan *term, 1)
	go func() {
		if begun, err := r.Campaign(ctx, "127.0.0.1:9988"); err == nil {
			next <- begun.(*term)
		}
	}()
	awaitStandby(t, leader)
	return next
}

func await(t *testing.T, led <-chan *term) *term {
	t.Helper()
	select {
	case next := <-led:
		return next
	case <-time.After(eventTimeout):
		t.Fatal("no server leads")
		return nil
	}
}

// TestResignHandsOverAtOnce checks that the next leader does not wait for the end of the lease after Resign.
func TestResignHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	o := Options{DSN: shared.Server(t).Database(t), Lease: MaxLease}
	r, term := lead(t, o)
	next := standBy(t, term, o)
	if l, ok := r.Leader(); !ok || l.Address != "127.0.0.1:8899" || l.Term != term.Number() {
		t.Errorf("the leader is %+v, %v", l, ok)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := await(t, next); got.Number() <= term.Number() {
		t.Errorf("term %d after term %d", got.Number(), term.Number())
	}
	eventually.Works(t, "the former leader sees the next one", func() error {
		if l, ok := r.Leader(); !ok || l.Address != "127.0.0.1:9988" {
			return errors.New("it is not seen")
		}
		return nil
	})
}

// TestSilentLeader checks that another server leads when the lease has expired, but not before the leader knows that.
func TestSilentLeader(t *testing.T) {
	t.Parallel()
	o := Options{DSN: shared.Server(t).Database(t), Lease: MinLease}
	_, term := lead(t, o)
	next := standBy(t, term, o)
	begun := time.Now()
	term.until.Store(int64(time.Since(term.began) + o.Lease)) // the time at which it must have stopped leading
	term.end(errSilent)
	if got := await(t, next); got.leader.Since.IsZero() {
		t.Error("the next one does not know since when it leads")
	}
	if took := time.Since(begun); took < o.Lease/2 {
		t.Errorf("another server led %v after the last renewal, and the lease is %v", took, o.Lease)
	}
}

// TestDatabasesClock checks that a database clock that leaps ahead deposes no leader that renews, and that one that
// was set back delays the next leader by no more than about one lease.
func TestDatabasesClock(t *testing.T) {
	t.Parallel()
	o := Options{DSN: shared.Server(t).Database(t), Lease: 2 * MinLease}
	_, term := lead(t, o)
	next := standBy(t, term, o)
	for range 10 { // each time, the lease is expired by the database's clock until it is renewed
		change(t, o.DSN, "UPDATE REGISTRY_LEASE SET expires = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR")
		if err := term.renewOnce(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	change(t, o.DSN, "UPDATE REGISTRY_LEASE SET expires = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR")
	eventually.Works(t, "the lease is renewed by itself", func() error {
		var lives bool
		if err := term.store.db.Get(&lives, "SELECT expires > UTC_TIMESTAMP(6) FROM REGISTRY_LEASE"); err != nil ||
			lives {
			return err
		}
		return errors.New("not renewed")
	})
	select {
	case <-next:
		t.Error("a leader who renews was deposed")
	case <-term.Done():
		t.Errorf("the term ended: %v", term.Err())
	default:
	}
	term.end(errSilent)
	term.goroutines.Wait()
	change(t, o.DSN, "UPDATE REGISTRY_LEASE SET expires = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR")
	await(t, next)
}

// TestIsFree checks when a lease may be taken, by the database's clock and by how long it was unchanged.
func TestIsFree(t *testing.T) {
	t.Parallel()
	held := rows{LeaseHolder: "h", LeaseMS: 10_000}
	living := held
	living.Lives = true
	for _, test := range []struct {
		lease     rows
		unchanged time.Duration
		free      bool
	}{
		{rows{}, 0, true},
		{living, 10 * time.Second, false},
		{living, 12 * time.Second, true},
		{held, 9 * time.Second, false},
		{held, 10 * time.Second, true},
	} {
		if got := test.lease.isFree(test.unchanged); got != test.free {
			t.Errorf("%+v for %v: free %v", test.lease, test.unchanged, got)
		}
	}
}

// TestAcceptAfterALeapOfTheClock checks that Accept does not wait for a lease that lasts only by the database's clock.
func TestAcceptAfterALeapOfTheClock(t *testing.T) {
	t.Parallel()
	o := Options{DSN: shared.Server(t).Database(t), Lease: MinLease}
	_, term := lead(t, o)
	if _, _, err := Accept(t.Context(), o); err == nil || !strings.Contains(err.Error(), "leads") {
		t.Errorf("accept beside a leader: %v", err)
	}
	term.end(errSilent)
	term.goroutines.Wait()
	change(t, o.DSN, "UPDATE REGISTRY_LEASE SET expires = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR")
	if _, _, err := Accept(t.Context(), o); err != nil {
		t.Error(err)
	}
}

// TestStaleAnswer checks that an answer older than the term's commits ends the term only if the connection for commits
// confirms it.
func TestStaleAnswer(t *testing.T) {
	t.Parallel()
	_, term := lead(t, Options{DSN: shared.Server(t).Database(t), Lease: MaxLease})
	term.writing.Lock() // a commit is running, which will find out itself
	term.changes.Add(1)
	if err := term.renewOnce(time.Minute); err == nil || term.Err() != nil {
		t.Errorf("renewed: %v; the term: %v", err, term.Err())
	}
	term.changes.Add(-1)
	term.writing.Unlock()
	if err := term.renewOnce(time.Minute); err != nil {
		t.Error(err)
	}
	if err := term.confirmRolledBack(t.Context(), rolledBackError{"for a test"}); err == nil ||
		errors.As(err, new(rolledBackError)) {
		t.Errorf("asked again, and all is there: %v", err)
	}
	term.changes.Add(1)
	eventually.Works(t, "the end of a term that lacks a change",
		func() error { // the term also renews on its own, and only one at a time can confirm
			if err := term.renewOnce(time.Minute); err == nil {
				t.Error("renewed beyond what the registry has")
			}
			if term.Err() == nil {
				return errors.New("the term lasts")
			}
			return nil
		})
}

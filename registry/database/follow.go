package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// checkInterval is the interval, with jitter, at which a registry reads who leads.
const checkInterval = 250 * time.Millisecond

// rows are the rows of the lease and the fence as read by one look.
type rows struct {
	LeaseTerm   int64     `db:"lease_term"`
	LeaseHolder string    `db:"lease_holder"`
	Address     string    `db:"address"`
	Since       time.Time `db:"since"`
	Renewals    int64     `db:"renewals"`
	LeaseMS     int64     `db:"lease_ms"`
	Lives       bool      `db:"lives"` // by the database's clock
	Lineage     string    `db:"lineage"`
	Term        int64     `db:"term"`
	Holder      string    `db:"holder"`
	Changes     int64     `db:"changes"`
	ReadOnly    bool      `db:"read_only"`
}

// readOnlyNow is an SQL condition that is true on a server that takes no writes. The variable is a number, or, since
// MariaDB 12.0, one of the words OFF, ON, NO_LOCK and NO_LOCK_NO_ADMIN.
const readOnlyNow = "CAST(@@global.read_only AS CHAR) NOT IN ('0','OFF')"

const selectRows = `SELECT l.term AS lease_term, l.holder AS lease_holder, l.address AS address, l.since AS since, l.renewals AS renewals,
 l.lease_ms AS lease_ms, l.expires > UTC_TIMESTAMP(6) AS lives, f.lineage AS lineage, f.term AS term, f.holder AS holder, f.changes AS changes,
 ` + readOnlyNow + ` AS read_only
 FROM REGISTRY_LEASE l JOIN REGISTRY_FENCE f ON f.id = l.id WHERE l.id = 1`

func (r rows) position() position   { return position{r.Lineage, r.Term, r.Holder, r.Changes} }
func (r rows) lease() time.Duration { return time.Duration(r.LeaseMS) * time.Millisecond }
func (r rows) same(other rows) bool {
	return r.LeaseHolder == other.LeaseHolder && r.Renewals == other.Renewals
}
func (r rows) leader() registry.Leader {
	return registry.Leader{Term: r.LeaseTerm, Address: r.Address, Since: r.Since}
}

// isFree reports whether no process can still lead under a lease that was observed unchanged for that long. The lease
// must have stayed unchanged for its length, and for a tenth longer if the database's clock says that it has not
// expired. The database's clock alone decides nothing, because after a failover another server's clock takes its
// place.
func (r rows) isFree(unchanged time.Duration) bool {
	switch {
	case r.LeaseHolder == "", unchanged > r.lease()+r.lease()/10:
		return true
	default:
		return !r.Lives && unchanged >= r.lease()
	}
}

// follower tracks who leads. It reads the rows several times a second while the registry is open.
type follower struct {
	mu             sync.Mutex
	latest         rows
	unchangedSince time.Time // since when latest is unchanged (but for the fence's changes), without a gap in looks
	lastLook       time.Time // when the last answered look was sent
	lastErr        error     // why the last look failed
	lacks          string    // what the registry lacks that this server has seen
	othersLack     string    // what the registry lacks that another candidate has seen
}

// look reads the rows once.
func (r *Registry) look(ctx context.Context) (rows, error) {
	ctx, cancel := context.WithTimeout(ctx, r.store.Lease/2)
	defer cancel()
	sent, before := time.Now(), r.memory.get()
	var found rows
	err := r.store.db.GetContext(ctx, &found, selectRows)
	f := &r.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if f.lastErr = nil; !hasCode(err, noSuchTable) { // without the table no process has led there yet
			f.lastErr = r.store.explain("read who leads", err)
		}
		return rows{}, err
	}
	// After a gap another database may answer. Restarting the measurement gives every server one lease to publish what
	// that database lacks.
	if f.unchangedSince.IsZero() || !found.same(f.latest) || sent.Sub(f.lastLook) > max(r.store.Lease/4, time.Second) {
		f.unchangedSince = time.Now()
	}
	f.latest, f.lastLook, f.lastErr = found, sent, nil
	if found.ReadOnly {
		f.lastErr = r.store.explain("lead", errReadOnly)
	}
	f.lacks = r.observe(found.position(), before)
	if !found.isFree(time.Since(f.unchangedSince)) {
		f.othersLack = "" // a leader exists
	}
	return found, nil
}

// setOthersLack records what the registry lacks according to another candidate.
func (f *follower) setOthersLack(lacks string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.othersLack = lacks
}

// lacking returns what the registry lacks that this server has seen.
func (f *follower) lacking() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lacks
}

// unchanged returns for how long the lease was observed unchanged.
func (f *follower) unchanged() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.unchangedSince)
}

// leader returns the latest observed leader, or false if it may have lost the leadership since.
func (f *follower) leader() (rows, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.latest
	return l, l.LeaseHolder != "" && l.Lives && time.Since(f.lastLook) < l.lease() &&
		!l.isFree(time.Since(f.unchangedSince))
}

func (f *follower) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lacks := cmp.Or(f.lacks, f.othersLack); f.lastErr == nil && lacks != "" {
		return errors.New(lacks)
	}
	return f.lastErr
}

// observe remembers what a look found. It returns a message if the registry lacks something that was remembered
// before.
func (r *Registry) observe(s, before position) string {
	lacks, followed := r.memory.observe(s, before)
	if followed != "" {
		r.store.Logger.Warn("registry replaced: it is not the one that this server used before, but was restored, accepted or newly created", "database", r.store.name, "before", followed, "lineage", s.Lineage)
	}
	if lacks != "" {
		return r.rolledBack(lacks)
	}
	return ""
}

// rolledBack returns the message for a database that went back, with what it lacks and what to do.
func (r *Registry) rolledBack(lacks string) string {
	return fmt.Sprintf("the database %s went back: %s. It may have failed over to a replica that was behind, or been restored from a copy. Bring back the complete database, "+
		"or accept that what was done since may be done again: run scheduler accept-registry once, with this server's --registry", r.store.name, lacks)
}

// publishLacks publishes to all candidates what the registry lacks that this server has seen. The row stays for one
// lease, even if this server ends, or until the registry lacks nothing any more.
func (r *Registry) publishLacks(ctx context.Context, lineage string) error {
	ctx, cancel := context.WithTimeout(ctx, r.store.Lease/2)
	defer cancel()
	if lacks := r.memory.lacks(lineage); lacks != "" {
		return r.store.registerCandidate(ctx, r.lacksRow, lineage, lacks)
	}
	return r.store.removeCandidate(ctx, r.lacksRow)
}

// follow reads the rows until ctx ends, warns the other servers, and writes the memory to its file about once a
// second.
func (r *Registry) follow(ctx context.Context) {
	var savedAt, publishedAt time.Time
	lastTrouble, lastSaveErr, lastLacks := "", "", ""
	for {
		found, err := r.look(ctx) // the follower records the error
		if lacks := r.follower.lacking(); err == nil &&
			(lacks != lastLacks || lacks != "" && time.Since(publishedAt) > r.store.Lease/3) &&
			r.publishLacks(ctx, found.Lineage) == nil {
			publishedAt, lastLacks = time.Now(), lacks
		}
		trouble := ""
		if err := r.Trouble(); err != nil && ctx.Err() == nil {
			trouble = err.Error()
		}
		if trouble != lastTrouble && trouble != "" {
			r.store.Logger.Warn("registry unusable, retrying", "error", trouble)
		} else if trouble != lastTrouble {
			r.store.Logger.Info("registry usable again", "database", r.store.name)
		}
		lastTrouble = trouble
		if time.Since(savedAt) >= time.Second {
			savedAt = time.Now()
			if err := r.memory.save(); err == nil {
				lastSaveErr = ""
			} else if err.Error() != lastSaveErr {
				lastSaveErr = err.Error()
				r.store.Logger.Warn("latest commit not recorded: after a failover to a replica that is behind, this server may not notice what is missing", "error", err)
			}
		}
		select {
		case <-time.After(jitter(checkInterval)):
		case <-ctx.Done():
			return
		}
	}
}

// jitter returns a random pause around d, so that the servers do not all send requests at the same time.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + time.Duration(rand.Int64N(int64(d)*2/5))
}

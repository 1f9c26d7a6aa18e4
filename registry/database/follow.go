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

// rows are the rows of the lease and the fence, read in one statement.
type rows struct {
	LeaseTerm   int64     `db:"lease_term"`
	LeaseHolder string    `db:"lease_holder"`
	Address     string    `db:"address"`
	Since       time.Time `db:"since"`
	Renewals    int64     `db:"renewals"`
	LeaseMS     int64     `db:"lease_ms"`
	Lives       bool      `db:"lives"` // the lease has not expired, by the database's clock
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
func (r rows) leader() registry.Leader {
	return registry.Leader{Term: r.LeaseTerm, Address: r.Address, Since: r.Since}
}

// same reports whether the lease has the same holder, who has not renewed it in between.
func (r rows) same(other rows) bool {
	return r.LeaseHolder == other.LeaseHolder && r.Renewals == other.Renewals
}

// isFree reports whether no process can still lead under the lease. unchanged is for how long the lease was observed
// unchanged: it must be at least the length of the lease, and a tenth more if the lease has not expired by the
// database's clock. The database's clock alone is not enough, because after a failover it is the clock of another
// server.
func (r rows) isFree(unchanged time.Duration) bool {
	switch {
	case r.LeaseHolder == "", unchanged > r.lease()+r.lease()/10:
		return true
	default:
		return !r.Lives && unchanged >= r.lease()
	}
}

// follower has the results of reading the rows, which happens several times a second while the registry is open.
type follower struct {
	mu             sync.Mutex
	latest         rows
	unchangedSince time.Time // since when the lease in latest was observed unchanged, without a gap between reads
	lastRead       time.Time // when the last answered read was sent
	lastErr        error     // why the last read failed
	lacks          string    // which commits the registry lacks that this server remembers; "" if none
	othersLack     string    // which commits the registry lacks that another candidate remembers; "" if none
}

// readRows reads the rows once and records the result in the follower.
func (r *Registry) readRows(ctx context.Context) (rows, error) {
	ctx, cancel := context.WithTimeout(ctx, r.store.Lease/2)
	defer cancel()
	sent, mark := time.Now(), r.memory.beginRead()
	var found rows
	err := r.store.db.GetContext(ctx, &found, selectRows)
	f := &r.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if f.lastErr = nil; !hasCode(err, noSuchTable) { // a registry without tables is no problem: it is not used yet
			f.lastErr = r.store.explain("read who leads", err)
		}
		return rows{}, err
	}
	// After a gap another database may answer. The measurement then starts again, so that every server has the
	// time of one lease to publish which commits that database lacks.
	afterGap := sent.Sub(f.lastRead) > max(r.store.Lease/4, time.Second)
	if f.unchangedSince.IsZero() || !found.same(f.latest) || afterGap {
		f.unchangedSince = time.Now()
	}
	f.latest, f.lastRead, f.lastErr = found, sent, nil
	if found.ReadOnly {
		f.lastErr = r.store.explain("lead", errReadOnly)
	}
	f.lacks = r.observe(found.position(), mark)
	if !found.isFree(time.Since(f.unchangedSince)) {
		f.othersLack = "" // there is a leader, so this server does not take the leadership
	}
	return found, nil
}

// setOthersLack records which commits the registry lacks according to another candidate.
func (f *follower) setOthersLack(lacks string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.othersLack = lacks
}

// lacking returns a text about the commits that the registry lacks according to this server, or "".
func (f *follower) lacking() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lacks
}

// unchanged returns for how long the lease has been observed unchanged.
func (f *follower) unchanged() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.unchangedSince)
}

// leader returns the last observed leader, or false if there was none or it may have lost the leadership since.
func (f *follower) leader() (rows, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.latest
	return l, l.LeaseHolder != "" && l.Lives && time.Since(f.lastRead) < l.lease() &&
		!l.isFree(time.Since(f.unchangedSince))
}

// trouble returns why the rows could not be read, or which commits the registry lacks. It returns nil if there is no
// such problem.
func (f *follower) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lacks := cmp.Or(f.lacks, f.othersLack); f.lastErr == nil && lacks != "" {
		return errors.New(lacks)
	}
	return f.lastErr
}

// observe records a position of the registry that was read. If the registry lacks commits that were remembered when the
// read was sent, observe returns a message about it.
func (r *Registry) observe(s position, sent readMark) string {
	lacks, replaced := r.memory.observe(s, sent)
	r.logReplaced(replaced, s.Lineage)
	if lacks != "" {
		return r.rolledBack(lacks)
	}
	return ""
}

// logReplaced logs that the registry has replaced that of another lineage, if it has.
func (r *Registry) logReplaced(before, lineage string) {
	if before != "" {
		r.store.Logger.Warn("registry replaced: it is not the one that this server used before, but was restored, accepted or newly created",
			"database", r.store.name, "before", before, "lineage", lineage)
	}
}

// rolledBack returns the message for a database that went back: which commits it lacks, and what to do.
func (r *Registry) rolledBack(lacks string) string {
	return fmt.Sprintf("the database %s went back: %s. It may have failed over to a replica that was behind, or been restored from a copy. Bring back the complete database, "+
		"or accept that what was done since may be done again: run scheduler accept-registry once, with this server's --registry",
		r.store.name, lacks)
}

// publishLacks publishes to all candidates which commits the registry lacks, in a row that is valid for one lease even
// if this server ends. If the registry lacks nothing, publishLacks deletes the row.
func (r *Registry) publishLacks(ctx context.Context, lineage string) error {
	ctx, cancel := context.WithTimeout(ctx, r.store.Lease/2)
	defer cancel()
	if lacks := r.memory.lacks(lineage); lacks != "" {
		return r.store.registerCandidate(ctx, r.lacksRow, lineage, lacks)
	}
	return r.store.removeCandidate(ctx, r.lacksRow)
}

// proveDurable writes a row that means nothing, if that is needed to prove that the position that was read last is
// durable. If the write fails, the position is not remembered, and a later call tries again.
func (r *Registry) proveDurable(ctx context.Context) {
	if s, needsWrite := r.memory.unprovenPosition(); needsWrite && r.store.writeProof(ctx, r.proofRow) == nil {
		r.memory.recordWrite(s)
	}
}

// follow reads the rows until ctx ends. It tells the other servers which commits the registry lacks, logs when the
// registry becomes unusable or usable again, and writes the memory to its file about once a second.
func (r *Registry) follow(ctx context.Context) {
	var savedAt, publishedAt time.Time
	lastTrouble, lastSaveErr, lastLacks := "", "", ""
	for {
		found, err := r.readRows(ctx) // r.Trouble returns the error
		lacks := r.follower.lacking()
		mustPublish := lacks != lastLacks || lacks != "" && time.Since(publishedAt) > r.store.Lease/3
		if err == nil && mustPublish && r.publishLacks(ctx, found.Lineage) == nil {
			publishedAt, lastLacks = time.Now(), lacks
		}
		if err == nil && lacks == "" && !found.ReadOnly {
			r.proveDurable(ctx)
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
				r.store.Logger.Warn("latest commit not recorded: after a failover to a replica that is behind, this server may not notice what is missing",
					"error", err)
			}
		}
		select {
		case <-time.After(jitter(checkInterval)):
		case <-ctx.Done():
			return
		}
	}
}

// jitter returns a random pause from 0.8 d to 1.2 d, so that the servers do not all send requests at the same time.
func jitter(d time.Duration) time.Duration {
	return d*4/5 + time.Duration(rand.Int64N(int64(d)*2/5))
}

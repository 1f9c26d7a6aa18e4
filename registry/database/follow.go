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

func (r rows) seen() seen           { return seen{r.Lineage, r.Term, r.Holder, r.Changes} }
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
	mu      sync.Mutex
	latest  rows
	since   time.Time // since when latest is unchanged (but for the fence's changes), without a gap in looks
	looked  time.Time // when the last answered look was sent
	refusal error     // why the last look failed
	lacks   string    // what the registry lacks that this server has seen
	others  string    // what the registry lacks that another candidate has seen
}

// look reads the rows once.
func (r *Registry) look(ctx context.Context) (rows, error) {
	ctx, cancel := context.WithTimeout(ctx, r.place.Lease/2)
	defer cancel()
	sent, before := time.Now(), r.memory.get()
	var found rows
	err := r.place.db.GetContext(ctx, &found, selectRows)
	f := &r.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if f.refusal = nil; !is(err, noSuchTable) { // without the table no process has led there yet
			f.refusal = r.place.explain("look who leads", err)
		}
		return rows{}, err
	}
	// After a gap another database may answer. Restarting the measurement gives every server one lease to publish what
	// that database lacks.
	if f.since.IsZero() || !found.same(f.latest) || sent.Sub(f.looked) > max(r.place.Lease/4, time.Second) {
		f.since = time.Now()
	}
	f.latest, f.looked, f.refusal = found, sent, nil
	if found.ReadOnly {
		f.refusal = r.place.explain("lead", errReadOnly)
	}
	f.lacks = r.noted(found.seen(), before)
	if !found.isFree(time.Since(f.since)) {
		f.others = "" // a leader exists
	}
	return found, nil
}

// heard records what the registry lacks according to another candidate.
func (f *follower) heard(lacks string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.others = lacks
}

// missing returns what the registry lacks that this server has seen.
func (f *follower) missing() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lacks
}

// unchanged returns for how long the lease was observed unchanged.
func (f *follower) unchanged() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.since)
}

// leader returns the latest observed leader, or false if it may have lost the lead since.
func (f *follower) leader() (rows, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.latest
	return l, l.LeaseHolder != "" && l.Lives && time.Since(f.looked) < l.lease() && !l.isFree(time.Since(f.since))
}

func (f *follower) trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if said := cmp.Or(f.lacks, f.others); f.refusal == nil && said != "" {
		return errors.New(said)
	}
	return f.refusal
}

// noted remembers what a look found. It returns a message if the registry lacks something that was remembered before.
func (r *Registry) noted(s, before seen) string {
	lacks, followed := r.memory.saw(s, before)
	if followed != "" {
		r.place.Logger.Warn("the registry is another one than this server used before: it was restored, accepted or made new", "database", r.place.name, "before", followed, "lineage", s.Lineage)
	}
	if lacks != "" {
		return r.wentBack(lacks)
	}
	return ""
}

// wentBack returns the message for a database that went back, with what it lacks and what to do.
func (r *Registry) wentBack(lacks string) string {
	return fmt.Sprintf("the database %s went back: %s. Did it fail over to a replica that was behind, or was it restored from a copy? Bring back the database that has all; "+
		"or accept that what was done since may be done again: scheduler accept-registry with this server's --registry, once", r.place.name, lacks)
}

// warn publishes to all candidates what the registry lacks that this server has seen. The row stays for one lease,
// even if this server ends, or until the registry lacks nothing any more.
func (r *Registry) warn(ctx context.Context, lineage string) error {
	ctx, cancel := context.WithTimeout(ctx, r.place.Lease/2)
	defer cancel()
	if lacks := r.memory.says(lineage); lacks != "" {
		return r.place.waits(ctx, r.witness, lineage, lacks)
	}
	return r.place.waitsNoMore(ctx, r.witness)
}

// follow reads the rows until ctx ends, warns the other servers, and writes the memory to its file about once a
// second.
func (r *Registry) follow(ctx context.Context) {
	var kept, warned time.Time
	said, forgot, lacked := "", "", ""
	for {
		found, err := r.look(ctx) // the follower records the error
		if lacks := r.follower.missing(); err == nil &&
			(lacks != lacked || lacks != "" && time.Since(warned) > r.place.Lease/3) &&
			r.warn(ctx, found.Lineage) == nil {
			warned, lacked = time.Now(), lacks
		}
		trouble := ""
		if err := r.Trouble(); err != nil && ctx.Err() == nil {
			trouble = err.Error()
		}
		if trouble != said && trouble != "" {
			r.place.Logger.Warn("the registry can't be used: trying on", "error", trouble)
		} else if trouble != said {
			r.place.Logger.Info("the registry answers again", "database", r.place.name)
		}
		said = trouble
		if time.Since(kept) >= time.Second {
			kept = time.Now()
			if err := r.memory.keep(); err == nil {
				forgot = ""
			} else if err.Error() != forgot {
				forgot = err.Error()
				r.place.Logger.Warn("latest commit not remembered: after a failover to a replica that is behind this server may not know what is missing", "error", err)
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

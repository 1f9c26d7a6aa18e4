// Package leases knows when the leases of exclusive tasks were last asked for (rule K5), and owns the secret from which
// the keys of their holders are derived. Package attempts decides which tasks get a lease.
package leases

import (
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Set has what this leader knows of leases. Only the secret is stored: no renewal needs a commit.
type Set struct {
	shared *step.Shared
	// askedAt is, by task id, when the lease of a task was last asked for and not refused.
	askedAt map[string]time.Time
	// overdue has the tasks for which it is time to ask for their first lease (see MarkOverdue).
	overdue map[string]bool
	// last is, by holder, the last request that was accepted.
	last map[string]number
	// secret is nil until the first exclusive task is launched. changed is set while it has to be stored.
	secret  []byte
	changed bool
}

// number orders the requests of a holder.
type number struct{ start, number uint64 }

// New returns an empty Set.
func New(s *step.Shared) *Set {
	return &Set{shared: s, askedAt: map[string]time.Time{}, overdue: map[string]bool{}, last: map[string]number{}}
}

// Restore sets the secret from its stored value, while a term is loaded.
func (s *Set) Restore(value []byte) (err error) {
	if s.secret, err = hex.DecodeString(string(value)); err != nil {
		return fmt.Errorf("read the secret of leases: %w", err)
	}
	return nil
}

// Accept records a request. It returns false if the request is a copy, or came after a later one of its holder.
func (s *Set) Accept(r lease.Request) bool {
	if was := s.last[r.Holder]; was.start == r.Start && r.Number <= was.number {
		return false
	}
	s.last[r.Holder] = number{r.Start, r.Number}
	return true
}

// Secret returns the secret, nil if there is none yet. Whoever has it knows the key of each holder (lease.Key). It must
// not be changed.
func (s *Set) Secret() []byte { return s.secret }

// Key returns the key of a holder. If there is no secret yet, it makes one, which is stored with the step.
func (s *Set) Key(holder string) string {
	if s.secret == nil {
		s.secret, s.changed = []byte(s.shared.UUID()+s.shared.UUID()), true
	}
	return lease.Key(s.secret, holder)
}

// Write adds the secret to the commit, if it is new.
func (s *Set) Write(c *store.Commit) {
	if s.changed {
		c.Raw(store.PathLeaseSecret, []byte(hex.EncodeToString(s.secret)))
		s.changed = false
	}
}

// KeepHolders forgets the requests of all other holders.
func (s *Set) KeepHolders(keep func(holder string) bool) {
	maps.DeleteFunc(s.last, func(holder string, _ number) bool { return !keep(holder) })
}

// Record records that the lease of a task was asked for now, or may have been asked for until now. It returns whether
// the task was overdue.
func (s *Set) Record(taskID string) (wasOverdue bool) {
	wasOverdue = s.overdue[taskID]
	delete(s.overdue, taskID)
	s.askedAt[taskID] = s.shared.Now()
	return wasOverdue
}

// MarkOverdue records that the first lease of a task should have been asked for by now. It returns false if that is
// recorded already.
func (s *Set) MarkOverdue(taskID string) (changed bool) {
	changed = !s.overdue[taskID]
	s.overdue[taskID] = true
	return changed
}

// IsOverdue reports whether MarkOverdue was called for a task for which no lease was asked since.
func (s *Set) IsOverdue(taskID string) bool { return s.overdue[taskID] }

// Forget forgets a task that gets no lease any more.
func (s *Set) Forget(taskID string) {
	delete(s.askedAt, taskID)
	delete(s.overdue, taskID)
}

// AskedAt returns when the lease of a task was last asked for. It is zero if the task has never had one: then the task
// has not begun, and never will without a lease.
func (s *Set) AskedAt(taskID string) time.Time { return s.askedAt[taskID] }

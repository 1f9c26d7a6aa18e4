// Package orphans keeps the attempts that the scheduler core has given up and that may still run (rule E5). It decides
// which shards they block. Package attempts decides when an attempt is given up, and sends the kills of orphans and
// the questions about them.
package orphans

import (
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Set has all orphans, with indexes over them. These hold between any two calls of its methods:
//
//   - ofJob has all orphans by job and task id;
//   - returnable has, by executor, the number of orphans that are Returnable, and onExecutor the number of all;
//   - former, unless it is nil, has by agent the id of every orphan that ran under another framework id than the
//     present one, and perhaps ids of removed ones;
//   - changed has the id of every orphan that differs from what is stored, or is stored and was removed.
type Set struct {
	shared     *step.Shared
	byID       map[string]*Orphan
	ofJob      map[string]map[string]*Orphan
	returnable map[string]int
	onExecutor map[string]int
	former     map[string][]string
	changed    store.Changed
}

// New returns an empty Set.
func New(s *step.Shared) *Set {
	return &Set{shared: s, byID: map[string]*Orphan{}, ofJob: map[string]map[string]*Orphan{},
		returnable: map[string]int{}, onExecutor: map[string]int{}}
}

// Len returns the number of orphans.
func (s *Set) Len() int { return len(s.byID) }

// Get returns the orphan with that task id.
func (s *Set) Get(taskID string) (o Orphan, found bool) {
	if p := s.byID[taskID]; p != nil {
		return *p, true
	}
	return o, false
}

// All lists all orphans, sorted by task id.
func (s *Set) All() []Orphan {
	all := make([]Orphan, 0, len(s.byID))
	for _, o := range s.byID {
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b Orphan) int { return strings.Compare(a.TaskID, b.TaskID) })
	return all
}

// Blocking returns an orphan that blocks a shard; false if there is none.
func (s *Set) Blocking(job string, item int) (o Orphan, blocks bool) {
	return s.first(job, func(o *Orphan) bool { return o.Item == item })
}

// BlocksBeside reports whether another orphan than the one with that task id blocks a shard.
func (s *Set) BlocksBeside(job string, item int, taskID string) bool {
	_, blocks := s.first(job, func(o *Orphan) bool { return o.Item == item && o.TaskID != taskID })
	return blocks
}

// IsBlocked reports whether an orphan blocks a shard.
func (s *Set) IsBlocked(job string, item int) bool {
	_, blocks := s.Blocking(job, item)
	return blocks
}

// AllBlocking lists the orphans that block their shards, sorted by task id.
func (s *Set) AllBlocking() []Orphan {
	return slices.DeleteFunc(s.All(), func(o Orphan) bool { return !o.IsBlocking() })
}

// BlockingAmong returns an orphan that blocks one of the first shards of a job; false if there is none.
func (s *Set) BlockingAmong(job string, shards int) (o Orphan, blocks bool) {
	return s.first(job, func(o *Orphan) bool { return o.Item < shards })
}

// OfMachine returns an orphan that ran on a machine, named by its host or by the id of one of its agents; false if
// there is none.
func (s *Set) OfMachine(name string) (o Orphan, found bool) {
	for _, o := range s.All() {
		if name != "" && (o.Host == name || o.Agent == name) {
			return o, true
		}
	}
	return o, false
}

// first returns the blocking orphan of a job that matches and has the lowest task id.
func (s *Set) first(job string, match func(*Orphan) bool) (first Orphan, found bool) {
	for _, o := range s.ofJob[job] {
		if o.IsBlocking() && match(o) && (!found || o.TaskID < first.TaskID) {
			first, found = *o, true
		}
	}
	return first, found
}

// FormerOn lists the orphans on an agent that ran under another framework id than the present one, sorted by task id.
func (s *Set) FormerOn(agent, present string) (of []Orphan) {
	if s.former == nil {
		s.former = map[string][]string{}
		for _, o := range s.All() {
			if o.Framework != present {
				s.former[o.Agent] = append(s.former[o.Agent], o.TaskID)
			}
		}
	}
	for _, id := range s.former[agent] {
		if o := s.byID[id]; o != nil {
			of = append(of, *o)
		}
	}
	return of
}

// ResetFormer drops the index that FormerOn uses, because the present framework id has changed.
func (s *Set) ResetFormer() { s.former = nil }

// Restore adds a stored orphan while a term is loaded.
func (s *Set) Restore(o Orphan) {
	o.countsFrom = s.shared.Now()
	s.insert(o)
}

// insert adds an orphan, or replaces the one with its task id.
func (s *Set) insert(o Orphan) {
	if old := s.byID[o.TaskID]; old != nil {
		s.onExecutor[old.Executor]--
		s.endReturnable(old)
	}
	s.byID[o.TaskID], s.former = &o, nil
	if s.ofJob[o.Job] == nil {
		s.ofJob[o.Job] = map[string]*Orphan{}
	}
	s.ofJob[o.Job][o.TaskID] = &o
	s.onExecutor[o.Executor]++
	if o.Returnable {
		s.returnable[o.Executor]++
	}
	if o.HoldsLease() {
		// The shard is free at the moment at which the lease is over.
		s.shared.Timers.At(o.LeaseEnds(), func(time.Time) { s.CountLease(o.TaskID) })
	}
}

// Add adds an orphan, which is stored with the step.
func (s *Set) Add(o Orphan) {
	s.insert(o)
	s.changed.Add(o.TaskID)
	s.shared.NeedChanged()
}

// Remove removes an orphan, which has ended.
func (s *Set) Remove(taskID string) {
	o := s.byID[taskID]
	if o == nil {
		return
	}
	delete(s.byID, taskID)
	if delete(s.ofJob[o.Job], taskID); len(s.ofJob[o.Job]) == 0 {
		delete(s.ofJob, o.Job)
	}
	if s.onExecutor[o.Executor]--; s.onExecutor[o.Executor] == 0 {
		delete(s.onExecutor, o.Executor) // the executor takes tasks again
		s.shared.NeedChanged()
		s.shared.RequestMatch()
	}
	s.endReturnable(o)
	s.changed.Add(taskID)
	s.requestChecks(o.IsBlocking(), false)
}

// MarkUnkilled records that the executor of an orphan could not end all of its processes.
func (s *Set) MarkUnkilled(taskID string) {
	s.change(taskID, func(o *Orphan) bool {
		was := o.Unkilled
		o.Unkilled, o.Unseen, o.Reported = true, false, true
		return !was
	})
}

// EndUnseen records that the cluster says that an orphan has ended. It removes the orphan, unless the orphan may still
// run on a lease: only the executor knows whether it does, so the orphan stays until the lease is over. It does nothing
// if the orphan's processes could not be ended (MarkUnkilled).
func (s *Set) EndUnseen(taskID string) {
	o := s.byID[taskID]
	switch {
	case o == nil, o.Unkilled:
	case !o.HoldsLease():
		s.Remove(taskID)
	default:
		s.change(taskID, func(o *Orphan) bool {
			was := o.Unseen && !o.Blocks
			o.Unseen, o.Blocks, o.Reported = true, false, true
			return !was
		})
	}
}

// leaseStoreInterval is the interval at which the wait for the end of a lease is stored.
const leaseStoreInterval = 10 * time.Second

// CountLease adds the time that has passed to the time that an exclusive orphan's shard has waited for the end of the
// lease. It stores the sum every leaseStoreInterval. It removes an Unseen orphan when its lease is over.
func (s *Set) CountLease(taskID string) {
	o := s.byID[taskID]
	if o == nil || !o.HoldsLease() {
		return
	}
	now := s.shared.Now()
	passed := now.Sub(o.countsFrom)
	over := o.Waited+passed >= o.Lease
	switch {
	case over && o.Unseen:
		s.Remove(taskID)
	case over, passed >= leaseStoreInterval:
		s.change(taskID, func(o *Orphan) bool {
			o.Waited, o.countsFrom = min(o.Waited+passed, o.Lease), now
			return true
		})
	}
}

// MarkReported records that the cluster has reported an orphan.
func (s *Set) MarkReported(taskID string) {
	if o := s.byID[taskID]; o != nil {
		s.setReported(o, true)
	}
}

// MarkUnreported records that earlier reports of an orphan no longer count.
func (s *Set) MarkUnreported(taskID string) {
	if o := s.byID[taskID]; o != nil {
		s.setReported(o, false)
	}
}

// MarkAllUnreported is MarkUnreported for all orphans, because a session begins.
func (s *Set) MarkAllUnreported() {
	for _, o := range s.byID {
		s.setReported(o, false)
	}
}

func (s *Set) setReported(o *Orphan, reported bool) {
	if o.Reported == reported {
		return
	}
	blocked := o.IsBlocking()
	o.Reported = reported
	s.shared.JobChanged(o.Job) // its runs now wait for another reason
	s.requestChecks(blocked, o.IsBlocking())
}

// requestChecks requests the checks that depend on whether an orphan blocks its shard. blocked says whether it did
// before a change, blocks whether it does now.
func (s *Set) requestChecks(blocked, blocks bool) {
	if blocked != blocks {
		s.shared.NeedChanged()
	}
	if blocked && !blocks {
		s.shared.RequestMatch()
	}
}

// MarkHeard records that an executor that was silent is heard again, and returns whether it has silent orphans. These
// block their shards until the cluster has said whether they run.
func (s *Set) MarkHeard(executor string) (found bool) {
	for _, o := range s.byID {
		if o.Executor == executor && o.Silent {
			s.change(o.TaskID, func(o *Orphan) bool {
				o.Silent, o.Reported = false, false
				return true
			})
			found = true
		}
	}
	return found
}

// ConfirmSilence counts the continuing silence of an executor as a report about its silent orphans, so that they do
// not block their shards. isSilent reports whether an executor is still silent.
func (s *Set) ConfirmSilence(isSilent func(executor string) bool) {
	for _, o := range s.All() {
		if o.Silent && !o.Reported && isSilent(o.Executor) {
			s.MarkReported(o.TaskID)
		}
	}
}

// RecordStaged records since when only STAGING was reported of an orphan, zero if another state was.
func (s *Set) RecordStaged(taskID string, since time.Time) {
	s.change(taskID, func(o *Orphan) bool {
		differs := !since.Equal(o.Staged)
		o.Staged = since
		return differs
	})
}

// MarkAlive records that an orphan is known to be alive. From now on it blocks its shard until it has ended, or
// Unblock is called.
func (s *Set) MarkAlive(taskID string) {
	s.change(taskID, func(o *Orphan) bool {
		if o.Away.IsZero() && o.Blocks && !o.Unseen {
			return false
		}
		o.Blocks, o.Away, o.Unseen = true, time.Time{}, false
		return true
	})
}

// MarkAway records that the cluster calls the agent of an orphan unreachable. If the orphan blocks its shard and is not
// yet away, it has been away since the given time.
func (s *Set) MarkAway(taskID string, since time.Time) {
	s.change(taskID, func(o *Orphan) bool {
		wasSilent := o.Silent
		o.Silent = false // the cluster now says it, too, and not only the silence of the executor
		if !o.Blocks || !o.Until.IsZero() || !o.Away.IsZero() {
			return wasSilent
		}
		o.Away = since
		return true
	})
}

// Unblock records that the agent of an orphan that was seen alive has been away for so long that the orphan no
// longer blocks its shard.
func (s *Set) Unblock(taskID string) {
	s.change(taskID, func(o *Orphan) bool {
		o.Blocks, o.Away = false, time.Time{}
		return true
	})
}

// Supersede records that the matching orphans of a job are not to be taken back. It returns those that were Returnable
// before, sorted by task id.
func (s *Set) Supersede(job string, match func(*Orphan) bool) (superseded []Orphan) {
	for _, o := range s.ofJob[job] {
		if o.Returnable && match(o) {
			s.endReturnable(o)
			s.changed.Add(o.TaskID)
			superseded = append(superseded, *o)
		}
	}
	slices.SortFunc(superseded, func(a, b Orphan) int { return strings.Compare(a.TaskID, b.TaskID) })
	return superseded
}

func (s *Set) endReturnable(o *Orphan) {
	if !o.Returnable {
		return
	}
	o.Returnable = false
	if s.returnable[o.Executor]--; s.returnable[o.Executor] == 0 {
		delete(s.returnable, o.Executor)
	}
}

// ExistOn reports whether an executor has orphans. Such an executor gets no new task: it may hang, and later begin all
// its tasks at once.
func (s *Set) ExistOn(executor string) bool { return s.onExecutor[executor] > 0 }

// MayReturn reports whether an orphan of an executor is Returnable.
func (s *Set) MayReturn(executor string) bool { return s.returnable[executor] > 0 }

// RecordRemovedBy records which master has removed the framework that an orphan ran under.
func (s *Set) RecordRemovedBy(taskID, master string) {
	s.change(taskID, func(o *Orphan) bool {
		o.RemovedBy = master
		return true
	})
}

// change applies fn to an orphan and keeps the indexes correct. fn returns whether it has changed the orphan.
func (s *Set) change(taskID string, fn func(*Orphan) bool) {
	o := s.byID[taskID]
	if o == nil {
		return
	}
	blocked := o.IsBlocking()
	if fn(o) {
		s.changed.Add(taskID)
	}
	s.requestChecks(blocked, o.IsBlocking())
}

// Write adds the changed orphans to a commit.
func (s *Set) Write(c *store.Commit) { store.PutChanged(c, store.PathOrphan, s.byID, &s.changed) }

// Package orphans keeps the attempts that the scheduler core has given up and that may still run (rule E5). It decides
// which shards they block. Package attempts decides when to give an attempt up, and sends the kills and the questions
// about it.
package orphans

import (
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Orphan is an attempt that was given up and may still run. It is a copy: only a Set changes its orphans.
type Orphan struct {
	TaskID    string    `json:"taskId"`
	Job       string    `json:"job"`
	Item      int       `json:"item"`
	Agent     string    `json:"agent"`
	Executor  string    `json:"executor,omitempty"`
	Execution string    `json:"execution"`
	Since     time.Time `json:"since"`
	// Blocks is set when no later attempt of the shard may start: the orphan was seen alive, or Until is set.
	Blocks bool `json:"blocks,omitempty"`
	// Away is since when an orphan that was seen alive cannot be reached again: its agent does not answer, or the task
	// stays in STAGING. It is zero for any other orphan. After is how long it then still blocks its shard, 0 for the
	// server's time.
	Away  time.Time     `json:"away,omitzero"`
	After time.Duration `json:"after,omitempty"`
	// Returnable is set while the orphan is taken back when it is heard again: neither a later attempt of its shard nor
	// a later execution of its job has begun, or waits for the orphan's end.
	Returnable bool `json:"returnable,omitempty"`
	// Silent is set while only the silence of its executor shows that it is away.
	Silent bool `json:"silent,omitempty"`
	// Staged is since when only STAGING was reported of it, zero if another state was reported last. For an attempt
	// that was given up for that reason it is the time of its launch.
	Staged time.Time `json:"staged,omitzero"`
	// Until is the time by which an orphan that the cluster has removed must have ended, because nothing reports its
	// end; zero for any other.
	Until time.Time `json:"until,omitzero"`
	// Framework is the framework id that it ran under. RemovedBy is the master that removed that framework, "" while
	// it is the present one (rule T7).
	Framework string `json:"framework"`
	RemovedBy string `json:"removedBy,omitempty"`
	// Grace is the grace of its kills, that of the server if 0.
	Grace time.Duration `json:"grace,omitempty"`

	// Reported is set when the cluster has reported the task in this session, after its agent registered last. A cluster
	// that keeps kills then keeps the one that was sent for the task. Reported is not stored: a new leader has to ask.
	Reported bool `json:"-"`
}

// isBlocking reports whether no later attempt of the shard may start. One may start only while the present master says
// that the agent is away: before that answer the orphan may be alive on an agent that is back (promise 2).
func (o *Orphan) isBlocking() bool { return o.Blocks || !o.Reported }

// Set has all orphans, with indexes over them. These hold between any two calls of its methods:
//
//   - ofJob has all of them by job and task id;
//   - returnable has, by executor, the number of those that are Returnable, and onExecutor the number of all;
//   - former, unless it is nil, has by agent the id of every one that ran under another framework id than the present;
//   - changed has the id of every one that differs from what is stored, or is stored and was removed.
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

// BlockingAmong returns an orphan that blocks one of the first shards of a job; false if there is none.
func (s *Set) BlockingAmong(job string, shards int) (o Orphan, blocks bool) {
	return s.first(job, func(o *Orphan) bool { return o.Item < shards })
}

func (s *Set) first(job string, match func(*Orphan) bool) (first Orphan, found bool) {
	for _, o := range s.ofJob[job] {
		if o.isBlocking() && match(o) && (!found || o.TaskID < first.TaskID) {
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

// ResetFormer drops the index by the present framework id.
func (s *Set) ResetFormer() { s.former = nil }

// Restore adds a stored orphan while a term is loaded.
func (s *Set) Restore(o Orphan) {
	s.byID[o.TaskID], s.former = &o, nil
	if s.ofJob[o.Job] == nil {
		s.ofJob[o.Job] = map[string]*Orphan{}
	}
	s.ofJob[o.Job][o.TaskID] = &o
	s.onExecutor[o.Executor]++
	if o.Returnable {
		s.returnable[o.Executor]++
	}
}

// Add adds an orphan, which is stored with the step.
func (s *Set) Add(o Orphan) {
	s.Restore(o)
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
	s.follow(o.isBlocking(), false)
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

func (s *Set) setReported(o *Orphan, known bool) {
	if o.Reported == known {
		return
	}
	blocked := o.isBlocking()
	o.Reported = known
	s.follow(blocked, o.isBlocking())
}

// follow requests the checks that depend on the shard of an orphan, if the orphan blocks it now or no longer does.
func (s *Set) follow(blocked, blocks bool) {
	if blocked != blocks {
		s.shared.NeedChanged()
	}
	if blocked && !blocks {
		s.shared.RequestMatch()
	}
}

// MarkHeard records that an executor that was silent is heard again. Its orphans block their shards until the cluster
// has said whether they run. It returns whether there are any.
func (s *Set) MarkHeard(executor string) (any bool) {
	for _, o := range s.byID {
		if o.Executor == executor && o.Silent {
			s.change(o.TaskID, func(o *Orphan) bool {
				o.Silent, o.Reported = false, false
				return true
			})
			any = true
		}
	}
	return any
}

// ConfirmSilence records of each orphan that went away in silence whether its executor is still silent, so that the
// orphan does not block its shard.
func (s *Set) ConfirmSilence(silent func(executor string) bool) {
	for _, o := range s.All() {
		if o.Silent && !o.Reported && silent(o.Executor) {
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

// MarkAlive records that an orphan is known to be alive. It blocks its shard until it has ended or its agent has been
// away again for long.
func (s *Set) MarkAlive(taskID string) {
	s.change(taskID, func(o *Orphan) bool {
		if o.Away.IsZero() && o.Blocks {
			return false
		}
		o.Blocks, o.Away = true, time.Time{}
		return true
	})
}

// MarkAway records since when the agent of an orphan that was seen alive is away again.
func (s *Set) MarkAway(taskID string, since time.Time) {
	s.change(taskID, func(o *Orphan) bool {
		wasSilent := o.Silent
		o.Silent = false // the cluster says it, too
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

// Supersede records that the matching orphans of a job are not to be taken back. It returns those for which that is
// news, sorted by task id.
func (s *Set) Supersede(job string, match func(*Orphan) bool) (news []Orphan) {
	for _, o := range s.ofJob[job] {
		if o.Returnable && match(o) {
			s.endReturnable(o)
			s.changed.Add(o.TaskID)
			news = append(news, *o)
		}
	}
	slices.SortFunc(news, func(a, b Orphan) int { return strings.Compare(a.TaskID, b.TaskID) })
	return news
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

// Hold reports whether an executor has orphans. It gets no new task: it may hang, and begin all its tasks at once later.
func (s *Set) Hold(executor string) bool { return s.onExecutor[executor] > 0 }

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
	blocked := o.isBlocking()
	if fn(o) {
		s.changed.Add(taskID)
	}
	s.follow(blocked, o.isBlocking())
}

// Write adds the changed orphans to a commit.
func (s *Set) Write(c *store.Commit) { store.PutChanged(c, store.PathOrphan, s.byID, &s.changed) }

// Package subscription holds how the scheduler appears to the cluster: its framework id, the session that is open or
// being opened, and the takeover of a framework id that another scheduler has used. A Subscription owns that state,
// and no other package can change it. It does not decide what happens to the scheduler's own tasks: packages reconcile
// and attempts do.
package subscription

import (
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Subscription is a framework id and its session.
type Subscription struct {
	shared *step.Shared
	session
	frameworkID string
	// ownFrameworkID is the framework id that is marked as made or taken over by this scheduler. takeover is set while
	// the framework id still belongs to another scheduler (rule T8).
	ownFrameworkID string
	takeover       *takeover
	// idChanged and ownIDChanged are set while the framework id and the mark are to be written.
	idChanged, ownIDChanged bool
	// removedID is a removed framework id that is to be written.
	removedID string
}

// New returns a Subscription without a framework id.
func New(s *step.Shared) *Subscription { return &Subscription{shared: s} }

// ownFramework is the prefix of the framework ids that this scheduler makes. Mesos makes none with it.
const ownFramework = "elasticjob-"

// MakeID makes a framework id. It is marked as this scheduler's and committed before it is used, so that a crash
// leaves no framework that no scheduler knows (rule T7).
func (s *Subscription) MakeID() {
	s.frameworkID = ownFramework + s.shared.UUID()
	s.ownFrameworkID, s.idChanged = s.frameworkID, true
}

// RestoreID sets the stored framework id.
func (s *Subscription) RestoreID(id string) { s.frameworkID = strings.TrimSpace(id) }

// RestoreOwnID sets the stored mark: the framework id that is this scheduler's.
func (s *Subscription) RestoreOwnID(id string) { s.ownFrameworkID = id }

// BeginTakeover begins a takeover if the restored framework id belongs to another scheduler. It is called once, after
// RestoreID and RestoreOwnID.
func (s *Subscription) BeginTakeover() {
	if s.frameworkID == "" || s.frameworkID == s.ownFrameworkID || strings.HasPrefix(s.frameworkID, ownFramework) {
		return
	}
	s.takeover = &takeover{unknown: map[string]*UnknownTask{}}
	s.shared.Note(step.Note{Kind: step.NoteTakeover, Detail: "framework id " + s.frameworkID +
		" belongs to another scheduler: nothing is launched until the tasks of that scheduler have ended"})
}

// FrameworkID returns the present framework id, "" if there is none.
func (s *Subscription) FrameworkID() string { return s.frameworkID }

// RemoveID records that the framework was removed from the cluster, and returns the tasks of another scheduler that a
// takeover still waited for. The caller has to call MakeID before the next subscription.
func (s *Subscription) RemoveID() (unknown []UnknownTask) {
	if s.takeover != nil {
		for _, id := range step.SortedKeys(s.takeover.unknown) {
			unknown = append(unknown, *s.takeover.unknown[id])
		}
	}
	s.removedID, s.frameworkID = s.frameworkID, ""
	return unknown
}

// IsFormer reports whether an orphan ran under a framework id that was removed.
func (s *Subscription) IsFormer(o *orphans.Orphan) bool { return o.Framework != s.frameworkID }

// Write adds the changes of this step to its commit.
func (s *Subscription) Write(r *store.Commit) {
	if s.removedID != "" {
		r.Put(store.Under(store.PathOldFramework, s.removedID), s.shared.Wall())
	}
	if s.idChanged || s.ownIDChanged {
		r.Raw(store.PathOurFramework, []byte(s.ownFrameworkID))
	}
	if s.idChanged {
		r.Raw(store.PathFramework, []byte(s.frameworkID))
		if s.shared.Opt.ClusterKind != "" {
			r.Raw(store.PathClusterKind, []byte(s.shared.Opt.ClusterKind))
		}
	}
	s.removedID, s.idChanged, s.ownIDChanged = "", false, false
}

// session is an open subscription, or the attempt to open one.
type session struct {
	number    int64
	open      bool
	requested bool // SUBSCRIBE was sent, and is unanswered
	notUntil  time.Time
	tries     int
	began     time.Time
	masterID  string
	reason    string // why there is no session
	loggedAt  time.Time

	reconcileAt time.Time // the next periodic reconciliation
	askAt       time.Time // the next question about tasks not yet known
	askTry      int
}

// Open reports whether there is a session.
func (s *Subscription) Open() bool { return s.open }

// IsOpen reports whether the session of that number is open. Events of any other session must be ignored.
func (s *Subscription) IsOpen(number int64) bool { return s.open && s.number == number }

// Number returns the number of the open session, or of the last one that was requested; 0 before the first.
func (s *Subscription) Number() int64 { return s.number }

// Began returns when the last session began, in the time of the term; zero before the first.
func (s *Subscription) Began() time.Time { return s.began }

// MasterID returns the id of the master that the last session was with, "" before the first.
func (s *Subscription) MasterID() string { return s.masterID }

// Reason returns why there is no session, in the words of the cluster.
func (s *Subscription) Reason() string { return s.reason }

// Subscribe requests a session if there is none and the delay after the last attempt has passed. The request follows a
// fenced commit, and is repeated with backoff if the cluster ends the session during the term (rule T6).
func (s *Subscription) Subscribe() {
	if s.open || s.requested || s.shared.Now().Before(s.notUntil) {
		return
	}
	s.number++
	s.requested = true
	s.shared.Fence()
	s.shared.Call(step.CallSubscribe{Session: s.number, FrameworkID: s.frameworkID})
}

// MasterChanged ends the delay before the next attempt, because another master leads now than in the session with that
// number. It does nothing unless that session was the last one and has ended.
func (s *Subscription) MasterChanged(session int64) {
	if s.number == session && !s.open && !s.requested {
		s.notUntil = s.shared.Now()
	}
}

// BeginSession records the SUBSCRIBED of a session. It returns false, and does nothing, unless that session was the
// last one requested.
func (s *Subscription) BeginSession(number int64, masterID string) bool {
	if number != s.number {
		return false
	}
	// A process that slept between its commit and SUBSCRIBE may have been deposed meanwhile. It would treat the next
	// leader's tasks as unknown: it would kill them and acknowledge their ends. If the term still holds after
	// SUBSCRIBED, this session belongs to the term.
	s.shared.Fence()
	s.shared.Numbers.Subscriptions++
	s.session = session{number: number, open: true, tries: s.tries, masterID: masterID, began: s.shared.Now(),
		reconcileAt: s.shared.Now()}
	s.takeover.restart()
	s.shared.Note(step.Note{Kind: step.NoteSession, Detail: "subscribed to master " + masterID})
	return true
}

// UnknownMaster stands for the master of the next session, if a framework was reported as removed while no session was
// open.
const UnknownMaster = "?"

// EndSession records the end of a session, or of the attempt to open one, and sets the delay before the next. It
// returns the id of the master that reported the end, or UnknownMaster. isLast is false, and nothing changes, unless
// that session was the last one requested.
func (s *Subscription) EndSession(number int64, reason string) (master string, isLast bool) {
	if number != s.number {
		return "", false
	}
	if s.open && s.shared.Now().Sub(s.began) > s.shared.Opt.MaxSubscribeDelay {
		s.tries = 0
	}
	s.notUntil = s.shared.Now().Add(step.Backoff(s.shared.Opt.MinSubscribeDelay, s.shared.Opt.MaxSubscribeDelay,
		s.tries))
	s.tries++
	master = UnknownMaster
	if s.open {
		master = s.masterID // the end was reported on the stream of that master
	}
	s.open, s.requested, s.reason = false, false, reason
	if s.tries <= maxTriesLogged || s.shared.Now().Sub(s.loggedAt) >= logInterval {
		s.loggedAt = s.shared.Now()
		s.shared.Note(step.Note{Kind: step.NoteSession, Problem: true,
			Detail: fmt.Sprintf("no subscription: %s; next try in %s", reason,
				s.notUntil.Sub(s.shared.Now()).Round(time.Millisecond))})
	}
	return master, true
}

// The first maxTriesLogged failed tries are logged, and after them one every logInterval.
const (
	maxTriesLogged = 3
	logInterval    = time.Minute
)

// ReconcileAll reports whether all tasks must be reconciled now: once in each session, and every
// Options.ReconcileInterval. If so, it sets the next time.
func (s *Subscription) ReconcileAll() bool {
	if s.shared.Now().Before(s.reconcileAt) {
		return false
	}
	first := s.reconcileAt.Equal(s.began)
	s.reconcileAt = s.shared.Now().Add(s.shared.Opt.ReconcileInterval)
	if first {
		s.AskSoon()
	}
	return true
}

// AskSoon restarts the growing intervals at which the master is asked about tasks that it has not reported.
func (s *Subscription) AskSoon() {
	s.askTry, s.askAt = 0, s.shared.Now().Add(s.shared.Opt.MinReconcileInterval)
}

// AskIsDue reports whether the master must be asked now about tasks that it has not reported. The caller then
// calls RecordAsked.
func (s *Subscription) AskIsDue() bool {
	return !s.askAt.IsZero() && !s.shared.Now().Before(s.askAt)
}

// RecordAsked records that the master was asked about this many tasks. If there were none, the questions at growing
// intervals end until the next AskSoon.
func (s *Subscription) RecordAsked(about int) {
	if about == 0 {
		s.askAt = time.Time{}
		return
	}
	s.askTry++
	s.askAt = s.shared.Now().Add(step.Backoff(s.shared.Opt.MinReconcileInterval, s.shared.Opt.ReconcileInterval,
		s.askTry))
}

// Wake returns when the next step is needed, in the time of the term; zero for never.
func (s *Subscription) Wake() time.Time {
	if s.open {
		if s.askAt.IsZero() || s.reconcileAt.Before(s.askAt) {
			return s.reconcileAt
		}
		return s.askAt
	}
	if s.requested {
		return time.Time{}
	}
	return s.notUntil
}

package core

import (
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// subscription is what this scheduler is to the cluster: its framework id, and the session that is open or tried.
type subscription struct {
	*step.Shared
	session
	frameworkID string
	// ours is the framework id that is marked as made by this scheduler, or taken over; takeover is set while the framework id
	// is still another scheduler's (rule T8).
	ours     string
	takeover *takeover
	// What is to be written: the framework id, the mark, and an id that was removed.
	idChanged, oursChanged bool
	removedID              string
}

// ownFramework is the prefix of the framework ids that this scheduler makes; Mesos makes none like that.
const ownFramework = "elasticjob-"

// makeID makes a framework id. It is ours from the first: committed before it is used, so that no crash
// leaves a framework that nobody knows (rule T7).
func (s *subscription) makeID() {
	s.frameworkID = ownFramework + s.UUID()
	s.ours, s.idChanged = s.frameworkID, true
}

// removed notes that the framework id was torn down: another one is to be made.
func (s *subscription) removed() { s.removedID, s.frameworkID = s.frameworkID, "" }

// endTakeover ends a takeover, if there is one, and returns the original's entries of running tasks: they are done with.
func (s *subscription) endTakeover() (running []string) {
	if s.takeover != nil {
		running = s.takeover.running
	}
	s.takeover = nil
	return running
}

func (s *subscription) write(r *store.Commit) {
	if s.removedID != "" {
		r.Put(store.Under(store.PathOldFramework, s.removedID), s.Wall())
	}
	if s.idChanged || s.oursChanged {
		r.Raw(store.PathOurFramework, []byte(s.ours))
	}
	if s.idChanged {
		r.Raw(store.PathFramework, []byte(s.frameworkID))
		if s.Opt.ClusterKind != "" {
			r.Raw(store.PathClusterKind, []byte(s.Opt.ClusterKind))
		}
	}
	s.removedID, s.idChanged, s.oursChanged = "", false, false
}

// session is one subscription, or the try to make one.
type session struct {
	number   int64
	open     bool
	asked    bool // SUBSCRIBE is under way
	notUntil time.Time
	tries    int
	began    time.Time
	masterID string
	reason   string // why there is none
	loggedAt time.Time

	reconcileAt   time.Time // the next periodic reconciliation
	askAgainAt    time.Time // the next question about tasks not yet known
	askTry        int
	killsLookedAt time.Time
	agentsAskedAt time.Time // when it was last asked whether the agents of orphans of removed frameworks are registered
}

func (s *session) wake() time.Time {
	if s.open {
		if s.askAgainAt.IsZero() || s.reconcileAt.Before(s.askAgainAt) {
			return s.reconcileAt
		}
		return s.askAgainAt
	}
	if s.asked {
		return time.Time{}
	}
	return s.notUntil
}

// takeover is the time between the first subscription with a framework id that we did
// not make and the end of the last task that another scheduler left under it (rule T8):
// nothing is launched, since no one knows yet what runs.
//
// Implicit reconciliation has no last answer, so a question about an invented task
// follows it: events keep their order. The master answers it only when no agent is
// still to come back. What it reported before may have missed an agent, so all is asked
// once more after the first answer; with the second one it is through.
type takeover struct {
	question string // the invented task of the last round
	answers  int
	through  bool
	askAt    time.Time
	tries    int
	unknown  map[string]*unknownTask
	running  []string // entries of the original that name running tasks
}

// unknownTask is a task of another scheduler under our framework id.
type unknownTask struct {
	id, agent   string
	unreachable time.Time
	killSent    time.Time
	killTry     int
}

func newTakeover() *takeover { return &takeover{unknown: map[string]*unknownTask{}} }

// begin starts the questions again with a new subscription.
func (t *takeover) begin() {
	if t == nil {
		return
	}
	t.question, t.answers, t.through, t.askAt, t.tries = "", 0, false, time.Time{}, 0
	for _, f := range t.unknown {
		f.killSent, f.killTry = time.Time{}, 0
	}
}

func (t *takeover) wake() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.askAt
}

// reason says what launching waits for.
func (t *takeover) reason() reason.Reason {
	if len(t.unknown) == 0 {
		return reason.TakeoverUnreported()
	}
	// Only ids that name their job are shown: whoever may not see that job does not see them. The log has all of them.
	const most = 3
	var named []string
	for _, id := range step.SortedKeys(t.unknown) {
		if _, err := jobs.ParseTaskID(id); err == nil && len(named) < most {
			named = append(named, "task "+id)
		}
	}
	return reason.TakeoverEnding(strings.Join(named, ", "), len(t.unknown)-len(named))
}

// isFormer reports whether an orphan ran under a framework id that was removed.
func (s *subscription) isFormer(o *orphans.Orphan) bool { return o.Framework != s.frameworkID }

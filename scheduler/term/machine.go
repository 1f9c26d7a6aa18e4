package term

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// Options are the settings of a term.
type Options struct {
	// RefusedTimeout, if not 0, is how long a leader keeps the leadership while the cluster only refuses it (4xx).
	RefusedTimeout time.Duration
}

// Machine is one leader's term. It must not be used concurrently, and only the machine may step its core.
type Machine struct {
	core *core.Core
	rnd  rand.Source
	opt  Options
	now  clock.Now

	effects []Effect // for the next call of Ready

	// A round is one step for all waiting events, and after it a step of its own for each requested change of
	// configuration that had arrived when the round began. inRound counts those that are still to be made.
	begun       bool // the first round has begun
	events      []core.Event
	urgent      bool          // some event must not wait
	lingerUntil time.Duration // until when the events may wait if none is urgent
	changes     []core.Request
	inRound     int
	edits       externalEdits
	wake        time.Duration // when the core requests a step, 0 for never

	// onCommitted and onRead continue after the answer to the commit or the read that is under way; at most one of
	// them is set, and while one is set no step is made. answered is that continuation once the answer has come.
	onCommitted func(error)
	onRead      func([]Document)
	answered    func()
	uncommitted bool // the core has state that is not committed
	drained     bool // Drained was reported

	subscription
	calls
	ending
}

// New makes the machine of a term that has begun, around a core that has loaded the stored state. rnd is the source of
// ids.
func New(c *core.Core, rnd rand.Source, opt Options) *Machine {
	return &Machine{core: c, rnd: rnd, opt: opt, edits: newExternalEdits(),
		calls: calls{inFlight: map[int64]sentCall{}}}
}

// lingerTime is how long status updates wait for others, to share a commit with them. They are less urgent than fires,
// and many tasks that end at once cause many of them.
const lingerTime = 2 * time.Millisecond

// maxBatch is the maximum number of events in one step.
const maxBatch = 5000

// Tick sets the time, which is in force until the next Tick.
func (m *Machine) Tick(now clock.Now) { m.now = now }

// Request adds a user's request. It is answered exactly once, however the term ends.
func (m *Machine) Request(q core.Request) {
	_, isChange := q.Event.(core.ChangeRequested)
	switch {
	case m.ended:
		m.answer(core.Reply{Token: q.Token, Err: NotMade()})
	case isChange:
		m.changes = append(m.changes, q)
	default:
		m.event(q)
	}
}

// Drain requests the end of everything on the cluster (rule O4).
func (m *Machine) Drain() { m.event(core.Drain{}) }

// Notified answers a Notify: nil if people were notified.
func (m *Machine) Notified(job string, seq int64, err error) {
	sent := notifications.NotificationSent{Job: job, Seq: seq}
	if err != nil {
		sent.Problem = err.Error()
	}
	if e, ok := errors.AsType[*notifications.Error](err); ok {
		sent.Final, sent.Sent = e.Final, e.Sent
	}
	m.event(sent)
}

// HistoryStored reports how many of the term's batches, counted from the first, are permanently in the history.
func (m *Machine) HistoryStored(batches int64) { m.event(core.HistoryStored{Batches: batches}) }

// Changed reports a path in the registry that another program may have changed.
func (m *Machine) Changed(path string) { m.edits.add(path) }

// event adds an event for the next step.
func (m *Machine) event(e core.Event) {
	if !canLinger(e) {
		m.urgent = true
	} else if len(m.events) == 0 {
		m.lingerUntil = m.now.Elapsed + lingerTime
	}
	m.events = append(m.events, e)
}

// canLinger reports whether an event may wait for others: it is a status update or concerns the history.
func canLinger(e core.Event) bool {
	switch e := e.(type) {
	case core.HistoryStored:
		return true
	case core.ClusterEvent:
		_, ok := e.Event.(cluster.Update)
		return ok
	}
	return false
}

// takeEvents removes and returns the events for the next step, at most maxBatch.
func (m *Machine) takeEvents() []core.Event {
	n := min(len(m.events), maxBatch)
	events := m.events[:n:n]
	m.events = m.events[n:]
	m.urgent = len(m.events) > 0
	if !m.urgent {
		m.events = nil
	}
	return events
}

// Ready continues after answers, begins at most one round if one is due, and returns the effects to carry out now, in
// that order.
func (m *Machine) Ready() []Effect {
	mayBegin := true
	for m.answered != nil || !m.isWaiting() {
		if next := m.answered; next != nil {
			m.answered = nil
			next()
			continue
		}
		if m.stopping {
			m.end()
			break
		}
		if m.inRound > 0 {
			m.inRound--
			ch := m.changes[0]
			m.changes = m.changes[1:]
			m.change(ch)
			continue
		}
		if !mayBegin || !m.roundIsDue() {
			break
		}
		mayBegin = false
		m.beginRound()
	}
	effects := m.effects
	m.effects = nil
	return effects
}

// isWaiting reports whether a commit or a read is under way.
func (m *Machine) isWaiting() bool { return m.onCommitted != nil || m.onRead != nil }

// Steps reports whether the next Ready may step the core. If so, the driver must stop all reads of the core before
// that call, until the core is no longer Uncommitted.
func (m *Machine) Steps() bool {
	return m.answered != nil || !m.isWaiting() && !m.ended && (m.inRound > 0 || m.roundIsDue())
}

// Uncommitted reports whether the core has state that is not committed yet, so that it must not be read.
func (m *Machine) Uncommitted() bool { return m.uncommitted }

// Wake returns when, as an Elapsed of clock.Now, the machine needs a Tick and a Ready even without any input; false
// for never.
func (m *Machine) Wake() (time.Duration, bool) {
	switch {
	case m.ended:
		return m.flushUntil, true
	case m.isWaiting():
		return 0, false
	}
	return m.nextRound()
}

// roundIsDue reports whether a round may begin now.
func (m *Machine) roundIsDue() bool {
	at, ok := m.nextRound()
	return ok && m.now.Elapsed >= at
}

// nextRound returns when the next round is due, 0 for now; false if no input and no time requires one.
func (m *Machine) nextRound() (at time.Duration, ok bool) {
	if !m.begun || m.urgent || len(m.changes) > 0 || len(m.edits.waiting) > 0 {
		return 0, true
	}
	earlier := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if len(m.events) > 0 {
		earlier(m.lingerUntil)
	}
	if m.wake > 0 {
		earlier(m.wake)
	}
	if len(m.edits.later) > 0 {
		earlier(m.edits.later[0].at)
	}
	return at, ok
}

// emit adds an effect for the next return of Ready.
func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) answer(r core.Reply) { m.emit(Answer{r}) }

// refuse answers the request with that token with an error.
func (m *Machine) refuse(token uint64, err *problem.Error) {
	m.answer(core.Reply{Token: token, Err: err})
}

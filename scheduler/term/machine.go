package term

import (
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// Options are what people may set of a term.
type Options struct {
	// RefusedMost, if not 0, is how long a leader keeps the lead while the cluster does nothing but refuse it (4xx).
	RefusedMost time.Duration
}

// Machine is one leader's term. It must not be used concurrently, and nobody else may step its core.
type Machine struct {
	core *core.Core
	rnd  rand.Source
	opt  Options
	now  clock.Now

	effects []Effect // that the next Ready returns

	// What waits for the next step. Requests to change the configuration have steps of their own after it: those that
	// had come by its begin, which inRound counts.
	begun       bool
	events      []core.Event
	urgent      bool          // not all events can linger
	lingerUntil time.Duration // if they can
	changes     []core.ChangeRequested
	inRound     int
	edits       externalEdits
	wake        time.Duration // when the core wants a step, 0 for never

	// At most one of these is set: what goes on when the commit under way is answered, or the reading, and what goes
	// on now that it was. Until then there is no step.
	onCommitted func(error)
	onRead      func([]Document)
	answered    func()
	uncommitted bool // the core holds what is not committed
	drained     bool // it was reported

	subscription
	calls
	ending
}

// New makes the machine of a term that has begun, around a core that has loaded what is stored. rnd gives the ids.
func New(c *core.Core, rnd rand.Source, opt Options) *Machine {
	return &Machine{core: c, rnd: rnd, opt: opt, edits: newExternalEdits(),
		calls: calls{underWay: map[int64]sentCall{}}}
}

// linger is how long status updates wait for others to share their commit. Nobody waits for them as for a fire, and
// many tasks that end at once report many.
const linger = 2 * time.Millisecond

// batch bounds the events of one step.
const batch = 5000

// Tick tells the machine the time, which holds until the next Tick.
func (m *Machine) Tick(now clock.Now) { m.now = now }

// Request hands in what somebody asks for. It is answered once, whatever the end of the term.
func (m *Machine) Request(q core.Request) {
	ch, isChange := q.(core.ChangeRequested)
	switch {
	case m.over:
		m.answer(core.Reply{Token: q.RequestToken(), Err: NotMade()})
	case isChange:
		m.changes = append(m.changes, ch)
	default:
		m.event(q)
	}
}

// Drain asks for the end of everything on the cluster (rule O4).
func (m *Machine) Drain() { m.event(core.Drain{}) }

// Notified answers a Notify: nil when people were told.
func (m *Machine) Notified(job string, seq int64, err error) {
	sent := notifications.NotificationSent{Job: job, Seq: seq}
	if err != nil {
		sent.Problem = err.Error()
	}
	m.event(sent)
}

// HistoryStored reports that the first so many of the term's batches are in the history for good.
func (m *Machine) HistoryStored(batches int64) { m.event(core.HistoryStored{Batches: batches}) }

// Changed reports a path that somebody else may have changed in the registry.
func (m *Machine) Changed(path string) { m.edits.add(path) }

// event adds to what the next step is told.
func (m *Machine) event(e core.Event) {
	if !canLinger(e) {
		m.urgent = true
	} else if len(m.events) == 0 {
		m.lingerUntil = m.now.Elapsed + linger
	}
	m.events = append(m.events, e)
}

// canLinger reports whether an event is a status update, or of the history.
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

// takeEvents takes what the next step is told.
func (m *Machine) takeEvents() []core.Event {
	n := min(len(m.events), batch)
	events := m.events[:n:n]
	m.events = m.events[n:]
	m.urgent = len(m.events) > 0
	if !m.urgent {
		m.events = nil
	}
	return events
}

// Ready returns what is to be done now, in that order, after at most one round: a step for all that waits, and then
// the steps of the changes of configuration.
func (m *Machine) Ready() []Effect {
	mayBegin := true
	for m.answered != nil || !m.waits() {
		if do := m.answered; do != nil {
			m.answered = nil
			do()
			continue
		}
		if m.ends {
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
		if !mayBegin || !m.due() {
			break
		}
		mayBegin = false
		m.beginRound()
	}
	effects := m.effects
	m.effects = nil
	return effects
}

// waits reports whether a commit or a reading is under way.
func (m *Machine) waits() bool { return m.onCommitted != nil || m.onRead != nil }

// Steps reports whether Ready may step the core: nobody may read it from then on, until it is no longer Uncommitted.
func (m *Machine) Steps() bool {
	return m.answered != nil || !m.waits() && !m.over && (m.inRound > 0 || m.due())
}

// Uncommitted reports whether the core holds what is not committed yet, so that nobody may see it.
func (m *Machine) Uncommitted() bool { return m.uncommitted }

// Wake is when, as a Now's Elapsed, the machine wants a Tick and a Ready even without any input; false for never.
func (m *Machine) Wake() (time.Duration, bool) {
	switch {
	case m.over:
		return m.flushUntil, true
	case m.waits():
		return 0, false
	}
	return m.nextRound()
}

func (m *Machine) due() bool {
	at, ok := m.nextRound()
	return ok && m.now.Elapsed >= at
}

// nextRound is when there is something for a step, if ever; 0 is for now.
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

func (m *Machine) do(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) answer(r core.Reply) { m.do(Answer{r}) }

func (m *Machine) refuse(token uint64, err *problem.Error) {
	m.answer(core.Reply{Token: token, Err: err})
}

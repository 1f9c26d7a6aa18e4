package term

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// ending is the state of a term's end: the step under way is finished, waiting requests are refused, and committed
// calls may leave unless the term is lost.
type ending struct {
	stopping bool // no further step begins
	err      error
	lost     bool // another leader may have begun, so nothing leaves any more
	ended    bool // Ended was reported
	// flushUntil is until when committed calls may leave.
	flushUntil time.Duration
}

// flushTimeout is how long committed calls may take to leave when a term is handed over.
const flushTimeout = 100 * time.Millisecond

// Stop ends the machine in good order: it finishes and answers the step or change under way, and sends the calls, as
// far as that takes no longer than flushTimeout.
func (m *Machine) Stop() { m.stopping = true }

// TermEnded reports that the registry's term has ended: nothing leaves from now on (rule T2).
func (m *Machine) TermEnded(err error) {
	if !m.stopping {
		m.stopping, m.err = true, err
	}
	m.lost = true
	m.drop()
}

// abdicate ends the machine because this server gives up the leadership, although the term has not ended.
func (m *Machine) abdicate(err error) {
	if !m.stopping {
		m.stopping, m.err = true, err
	}
}

// fail ends the machine after a commit that failed, or a step that could not be made.
func (m *Machine) fail(err error) {
	m.stopping, m.err, m.lost = true, err, true
	m.drop()
}

// end reports the end of the machine. It refuses all requests that were not part of a step, because nothing of them
// was done.
func (m *Machine) end() {
	if m.ended {
		return
	}
	m.ended = true
	for _, e := range m.events {
		if q, ok := e.(core.Request); ok {
			m.refuse(q.Token, NotMade())
		}
	}
	for _, ch := range m.changes {
		m.refuse(ch.Token, NotMade())
	}
	m.events, m.changes, m.inRound = nil, nil, 0
	if m.err != nil {
		m.drop()
	} else {
		m.flushUntil = m.now.Elapsed + flushTimeout
	}
	m.emit(Ended{m.err})
}

// HasEnded reports whether Ready has returned Ended.
func (m *Machine) HasEnded() bool { return m.ended }

// Done reports whether there is nothing left to wait for: sessions may be closed, and the shell may resign from the
// term.
func (m *Machine) Done() bool {
	return m.ended && (m.current == nil || len(m.inFlight) == 0 || m.now.Elapsed >= m.flushUntil)
}

// isLost reports whether a term ended because the registry cannot be used any more, so that no other term begins. err
// then says what to do, so it becomes the answer to requests.
func isLost(err error) bool { return errors.Is(err, registry.ErrUnusable) }

// NotMade returns the error for requests that came too late for the term.
func NotMade() *problem.Error {
	return problem.Errorf(problem.Unavailable, "term_ended",
		"the term has ended; the change was not made: try again shortly")
}

// outcomeUnknown returns the error for a request whose step could not be committed.
func outcomeUnknown(err error) *problem.Error {
	if isLost(err) {
		return problem.Errorf(problem.OutcomeUnknown, "registry_lost", "the request may have been done: %v", err)
	}
	return problem.Errorf(problem.OutcomeUnknown, "term_ended",
		"the term ended; the request may have been done: repeat it with the same Idempotency-Key, or check first")
}

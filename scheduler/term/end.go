package term

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// ending is how a term comes to its end: what is under way is finished, what waits is refused, and what was committed
// may leave if nothing speaks against it.
type ending struct {
	ends bool // no step begins any more
	err  error
	lost bool // another leader may have begun: nothing leaves any more
	over bool // it was reported
	// flushUntil is when calls that were committed must have left.
	flushUntil time.Duration
}

// flushTime is how long calls that were committed may take to leave when a term is handed over.
const flushTime = 100 * time.Millisecond

// Stop ends the machine in good order: the step or change under way is finished and answered, and what it sends
// leaves, if that is quick.
func (m *Machine) Stop() { m.ends = true }

// TermEnded reports that the registry's term has ended: nothing leaves from now on (rule T2).
func (m *Machine) TermEnded(err error) {
	if !m.ends {
		m.ends, m.err = true, err
	}
	m.lost = true
	m.drop()
}

// abdicate gives the lead up though the term holds.
func (m *Machine) abdicate(err error) {
	if !m.ends {
		m.ends, m.err = true, err
	}
}

// fail ends the machine after a commit that failed, or a step that could not be made.
func (m *Machine) fail(err error) {
	m.ends, m.err, m.lost = true, err, true
	m.drop()
}

// end answers all that no step has seen: nothing of it was done.
func (m *Machine) end() {
	if m.over {
		return
	}
	m.over = true
	for _, e := range m.events {
		if q, ok := e.(core.Request); ok {
			m.refuse(q.RequestToken(), NotMade())
		}
	}
	for _, ch := range m.changes {
		m.refuse(ch.Token, NotMade())
	}
	m.events, m.changes, m.inRound = nil, nil, 0
	if m.err != nil {
		m.drop()
	} else {
		m.flushUntil = m.now.Elapsed + flushTime
	}
	m.do(Ended{m.err})
}

// Over reports whether Ended was among what Ready returned.
func (m *Machine) Over() bool { return m.over }

// Done reports whether nothing is to be waited for any more: sessions may be closed, and the term be resigned.
func (m *Machine) Done() bool {
	return m.over && (m.present == nil || len(m.underWay) == 0 || m.now.Elapsed >= m.flushUntil)
}

// isLost reports whether a term ended because the registry can't be used any more: no other one will begin by itself.
// The error says what to do, and so it is the answer to requests.
func isLost(err error) bool { return errors.Is(err, registry.ErrUnusable) }

// NotMade answers who came too late for the term.
func NotMade() *problem.Error {
	return problem.Errorf(problem.Unavailable, "term_ended",
		"the term has ended; the change was not made: try again shortly")
}

// endedMeanwhile answers a request whose step could not be committed.
func endedMeanwhile(err error) *problem.Error {
	if isLost(err) {
		return problem.Errorf(problem.OutcomeUnknown, "registry_lost", "the request may have been done: %v", err)
	}
	return problem.Errorf(problem.OutcomeUnknown, "term_ended",
		"the term ended; the request may have been done: repeat it with the same Idempotency-Key, or look first")
}

package term

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// change lets the core plan a change of configuration, commits the change alone, so that it is written as a whole or
// not at all, and then applies it to the core (rule T4).
func (m *Machine) change(ch core.Request) {
	m.step([]core.Event{ch}, func(d *core.Decision, err error) {
		switch {
		case err != nil:
			m.refuse(ch.Token, NotMade())
		case len(d.Change) > 0: // otherwise the core has refused the change and answered
			m.commit(Commit{Writes: d.Change, Change: true}, func(err error) { m.changeCommitted(ch, err) })
		}
	})
}

// changeCommitted applies the outcome of the commit of a change.
func (m *Machine) changeCommitted(ch core.Request, err error) {
	conflict := (*registry.Conflict)(nil)
	unknown := errors.Is(err, registry.ErrOutcomeUnknown)
	switch {
	case err == nil:
		m.step([]core.Event{core.ChangeCommitted{Token: ch.Token}}, func(_ *core.Decision, err error) {
			if err != nil {
				m.refuse(ch.Token, problem.Errorf(problem.OutcomeUnknown, "term_ended",
					"the change was stored; the next leader acts on it: %v", err))
			}
		})
	case errors.As(err, &conflict):
		m.changeConflicts(ch, conflict.Path)
	case errors.Is(err, registry.ErrTooLarge):
		m.refuse(ch.Token, problem.Errorf(problem.Invalid, "too_large",
			"a document of the change is too large to be stored; make it smaller"))
	case isLost(err) && !unknown:
		m.refuse(ch.Token, problem.Errorf(problem.Unavailable, "registry_lost", "the change was not made: %v", err))
		m.fail(err)
	case unknown || errors.Is(err, registry.ErrTermEnded):
		m.refuse(ch.Token, problem.Errorf(problem.OutcomeUnknown, "term_ended",
			"the change may have been made; check again when there is a leader: %v", err))
		m.fail(err)
	default: // for example a missing permission: nothing was written, and the term goes on
		m.refuse(ch.Token, problem.Errorf(problem.Unavailable, "not_stored", "the change was not made: %v", err))
	}
}

// changeConflicts reads the document that another program has changed, and applies that edit before it answers the
// request. So the requester, who reads the document again, gets its present state. A conflict ends no term.
func (m *Machine) changeConflicts(ch core.Request, path string) {
	m.emit(Read{[]string{path}})
	m.onRead = func(read []Document) {
		edits, err := m.reloaded(read[0])
		if err != nil {
			m.refuse(ch.Token, problem.Errorf(problem.Unavailable, "term_ended", "the change was not made: %v", err))
			m.fail(err)
			return
		}
		m.step(edits, func(_ *core.Decision, err error) {
			if err == nil {
				m.logExternalEdits(edits)
			}
			m.refuse(ch.Token, problem.Errorf(problem.Conflict, "changed_meanwhile",
				"%s has changed since it was read; read it again and repeat the change", path))
		})
	}
}

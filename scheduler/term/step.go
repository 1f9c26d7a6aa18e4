package term

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// beginRound begins a round. Before the step it reads the paths that other programs may have changed. No commit is
// under way meanwhile, so the result is never older than this term's last commit.
func (m *Machine) beginRound() {
	m.begun = true
	m.inRound = len(m.changes)
	paths := m.edits.next(m.now.Elapsed)
	if len(paths) == 0 {
		m.stepAll(nil)
		return
	}
	m.emit(Read{paths})
	m.onRead = func(read []Document) { m.stepAll(m.editsRead(read)) }
}

// stepAll makes the step for all waiting events and the given external edits.
func (m *Machine) stepAll(edits []core.Event) {
	events := append(m.takeEvents(), edits...)
	m.step(events, func(_ *core.Decision, err error) {
		if err == nil {
			m.logExternalEdits(edits)
			return
		}
		for _, e := range events {
			switch q, isRequest := e.(core.Request); {
			case !isRequest:
			case errors.Is(err, ErrContradiction):
				m.refuse(q.Token, NotMade())
			default:
				m.refuse(q.Token, outcomeUnknown(err))
			}
		}
	})
}

// step lets the core decide, and emits the effects once the decision is committed: write, then act. then is called
// with the decision after that, or with the error if there are no effects.
func (m *Machine) step(events []core.Event, then func(*core.Decision, error)) {
	d, err := m.decide(events)
	if err != nil {
		m.fail(err)
		then(nil, err)
		return
	}
	m.wake = d.Wake
	m.uncommitted = true
	m.emit(Decided{events, &d})
	committed := func(err error) {
		m.uncommitted = false
		if err != nil {
			m.fail(fmt.Errorf("commit the scheduler's state: %w", err))
			then(nil, err)
			return
		}
		m.emit(Notes(d.Notes))
		if !d.Changed.None() {
			m.emit(Changed{d.Changed})
		}
		for _, call := range d.Calls {
			m.call(call)
		}
		if !m.lost { // if it is lost, the next leader notifies people
			for _, n := range d.Notifications {
				m.emit(Notify{n})
			}
		}
		for _, reply := range d.Replies {
			m.answer(reply)
		}
		if d.Drained && !m.drained {
			m.drained = true
			m.emit(Drained{})
		}
		then(&d, nil)
	}
	if len(d.Writes) == 0 && !d.Fenced {
		committed(nil)
		return
	}
	m.commit(Commit{Writes: d.Writes, History: d.History}, committed)
}

// ErrContradiction is wrapped by the error of a term whose core has panicked.
var ErrContradiction = errors.New("the scheduler core contradicts itself, which is a bug: " +
	"report it with the stack that is in the log")

// decide steps the core. A panic of the core is a bug: nothing of the step is written or leaves, and the next term
// begins with the stored state.
func (m *Machine) decide(events []core.Event) (d core.Decision, err error) {
	defer func() {
		if bug := recover(); bug != nil {
			err = ErrContradiction // without the text of the panic, which may name any user's job
			attrs := []any{"panic", bug, "stack", string(debug.Stack())}
			m.emit(Log{Problem: true, Message: "scheduler core panicked", Attrs: attrs})
		}
	}()
	return m.core.Step(m.now, m.rnd, events), nil
}

// commit emits a commit; then is called with its outcome.
func (m *Machine) commit(c Commit, then func(error)) {
	m.onCommitted = then
	m.emit(c)
}

// Committed answers a Commit. If the commit of a step failed, or its outcome is unknown, the term ends. A change of
// configuration may fail without that.
func (m *Machine) Committed(err error) {
	then := m.onCommitted
	m.onCommitted, m.answered = nil, func() { then(err) }
}

package sim

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// request is a change of configuration.
type request struct {
	name   string
	change core.Change
	done   func(error)
}

// apply makes the changes one after the other, then waits for more.
func (l *leader) apply(requests []*request) {
	if len(requests) == 0 {
		if l.waits() {
			l.poke()
		}
		return
	}
	r, rest := requests[0], requests[1:]
	next := func() { l.apply(rest) }
	l.token++
	token := l.token
	var answer core.Reply
	l.asks[token] = func(reply core.Reply) { answer = reply }
	l.stepDecided([]core.Event{core.ChangeRequested{Token: token, Change: r.change}}, func(d *core.Decision) {
		if len(d.Change) == 0 {
			r.done(asError(answer.Err))
			next()
			return
		}
		l.busy = true
		l.commit(d.Change, false, func(err error) {
			var conflict *registry.Conflict
			switch {
			case errors.As(err, &conflict):
				l.w.count(EditConflicts)
				delete(l.asks, token)
				r.done(err)
				l.step(l.reload(conflict.Path), next)
			case err != nil:
				l.endTerm()
			case l.w.dice(CrashAfterConfig):
				l.crash("between a change and its step")
			default:
				l.step([]core.Event{core.ChangeCommitted{Token: token}}, func() { r.done(nil); next() })
			}
		})
	})
}

// asError is the error of an answer, if it has one.
func asError(e *core.Error) error {
	if e == nil {
		return nil
	}
	return e
}

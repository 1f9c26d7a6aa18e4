package sim

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// commit writes in as many commits as the limit needs (rule T5), each with its
// own luck (rule T3).
func (l *leader) commit(writes []registry.Write, fenced bool, done func(error)) {
	w := l.w
	if len(writes) == 0 && !fenced {
		done(nil)
		return
	}
	n, size := 0, 0
	for n < len(writes) {
		size += len(writes[n].Path) + len(writes[n].Value)
		if n > 0 && size > w.limit {
			break
		}
		n++
	}
	part, rest := writes[:n], writes[n:]
	wait := w.between(200*time.Microsecond, 10*time.Millisecond)
	if cut := l.cutUntil - w.now; cut > 0 {
		wait += cut // the connection is cut; the session may be over before it is back
	}
	if w.dice(SlowCommit) {
		wait = w.between(100*time.Millisecond, 5*time.Second)
	}
	l.soon(wait, func() {
		again := func() { l.soon(w.between(time.Millisecond, 4*time.Second), func() { l.try(part, rest, done) }) }
		switch {
		case w.dice(CommitUnknownNotDone):
			again()
		case w.dice(CommitUnknownDone):
			err := l.write(part)
			// Sent again, the conflict shows our own term and number: it had happened.
			l.soon(w.between(time.Millisecond, 4*time.Second), func() { l.tried(err, rest, done) })
		case w.dice(CommitLostWithTerm):
			if w.rng.IntN(2) == 0 {
				_ = l.write(part)
			}
			l.expire()
			done(registry.ErrOutcomeUnknown)
		default:
			l.try(part, rest, done)
		}
	})
}

func (l *leader) try(part, rest []registry.Write, done func(error)) {
	l.tried(l.write(part), rest, done)
}

// write is one commit as the registry takes it. Its answer, a conflict too, says
// how far the session's server has come.
func (l *leader) write(part []registry.Write) error {
	err := l.w.store.commit(l.term, part)
	l.seen = l.w.store.index
	if err == nil {
		l.w.check.committed(part, l.watch.decidedAt)
	}
	return err
}

func (l *leader) tried(err error, rest []registry.Write, done func(error)) {
	switch {
	case err != nil:
		if errors.Is(err, registry.ErrTermEnded) {
			l.w.count(DeposedLeaderWrote)
		}
		done(err)
	case len(rest) > 0 && l.w.dice(CrashBetweenParts):
		l.crash("between the parts of a write")
	default:
		l.commit(rest, false, done)
	}
}

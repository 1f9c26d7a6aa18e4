package sim

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// commit makes one commit, all or nothing (rule T5), with its own luck (rule T3).
func (l *leader) commit(writes []registry.Write, fenced bool, done func(error)) {
	w := l.w
	if len(writes) == 0 && !fenced {
		done(nil)
		return
	}
	wait := w.between(200*time.Microsecond, 10*time.Millisecond)
	if cut := l.cutUntil - w.now; cut > 0 {
		wait += cut // the connection is cut; the session may have ended before it is back
	}
	if w.dice(SlowCommit) {
		wait = w.between(100*time.Millisecond, 5*time.Second)
	}
	l.soon(wait, func() {
		again := func() { l.soon(w.between(time.Millisecond, 4*time.Second), func() { l.try(writes, done) }) }
		switch {
		case w.dice(CommitUnknownNotDone):
			again()
		case w.dice(CommitUnknownDone):
			err := l.write(writes)
			// Sent again, the conflict shows our own term and number: it had happened.
			l.soon(w.between(time.Millisecond, 4*time.Second), func() { l.tried(err, done) })
		case w.dice(CommitLostWithTerm):
			if w.rng.IntN(2) == 0 {
				_ = l.write(writes)
			}
			l.expire()
			done(registry.ErrOutcomeUnknown)
		default:
			l.try(writes, done)
		}
	})
}

func (l *leader) try(writes []registry.Write, done func(error)) { l.tried(l.write(writes), done) }

// write is one commit as the registry takes it. Its answer, a conflict too, says
// how far the session's server has come.
func (l *leader) write(writes []registry.Write) error {
	err := l.w.store.commit(l.term, writes)
	l.seen = l.w.store.index
	if err == nil {
		l.w.check.committed(writes, l.watch.decidedAt)
	}
	return err
}

func (l *leader) tried(err error, done func(error)) {
	if errors.Is(err, registry.ErrTermEnded) {
		l.w.count(DeposedLeaderWrote)
	}
	done(err)
}

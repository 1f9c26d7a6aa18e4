package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// commit makes one commit, which succeeds or fails as a whole (rule T5), with random outcomes (rule T3), unless the
// process crashes before it.
func (l *leader) commit(c term.Commit) {
	w := l.w
	if !c.Change && len(c.Writes) > 0 && w.roll(CrashBeforeCommit) {
		l.crash("before its commit")
		return
	}
	if w.cfg.Bug == ActsFirst {
		l.input(func(m *term.Machine) {
			l.out.committing = false
			m.Committed(nil)
		})
	}
	wait := w.between(200*time.Microsecond, 10*time.Millisecond)
	if cut := l.cutUntil - w.now; cut > 0 {
		wait += cut // the connection is cut; the session may have ended before it is back
	}
	if w.roll(SlowCommit) {
		wait = w.between(100*time.Millisecond, 5*time.Second)
	}
	// The batch goes to the disk concurrently; the later of the two lets the effects leave.
	var batch *keptBatch
	var outcome error
	left := 2
	done := func() {
		if left--; left > 0 {
			return
		}
		if batch != nil && !errors.Is(outcome, registry.ErrOutcomeUnknown) {
			batch.settled, batch.happened = true, outcome == nil
		}
		l.committed(c, outcome)
	}
	l.record(c.History, func(b *keptBatch) {
		batch = b
		done()
	})
	answered := func(err error) {
		outcome = err
		done()
	}
	l.soon(wait, func() {
		switch {
		case w.roll(CommitUnknownNotDone):
			l.soon(w.between(time.Millisecond, 4*time.Second), func() { answered(l.write(c)) })
		case w.roll(CommitUnknownDone):
			err := l.write(c)
			// The repeated commit conflicts with the first one, which shows that the first one has happened.
			l.soon(w.between(time.Millisecond, 4*time.Second), func() { answered(err) })
		case w.roll(CommitLostWithTerm):
			if w.rng.IntN(2) == 0 {
				_ = l.write(c)
			}
			l.expire()
			answered(registry.ErrOutcomeUnknown)
		default:
			answered(l.write(c))
		}
	})
}

// write makes one commit in the registry. After its answer, even a conflict, the session's server has all writes so
// far.
func (l *leader) write(c term.Commit) error {
	for _, wr := range c.Writes {
		if e, there := l.w.store.entries[wr.Path]; there && wr.Delete && strings.HasPrefix(wr.Path, pathAudit+"/") &&
			l.term == l.w.store.term {
			l.w.audits.checkForgotten(e)
		}
	}
	err := l.w.store.commit(l.term, c.Writes)
	l.seen = l.w.store.index
	if err == nil {
		l.w.history.commit(c)
		l.w.audits.committed(c)
		l.w.check.committed(c.Writes, l.watch.decidedAt)
	}
	return err
}

// committed handles the answer to a commit. The process may crash before it.
func (l *leader) committed(c term.Commit, err error) {
	w := l.w
	conflict := (*registry.Conflict)(nil)
	switch {
	case errors.Is(err, registry.ErrTermEnded):
		w.count(DeposedLeaderWrote)
	case errors.As(err, &conflict):
		w.count(EditConflicts)
	case err == nil && c.Change && w.roll(CrashAfterConfig):
		l.crash("between a change and its step")
		return
	case err == nil && !c.Change && len(c.Writes) > 0 && w.roll(CrashAfterCommit):
		l.crash("after its commit, before all effects")
		return
	}
	if w.cfg.Bug == ActsFirst { // the effects left before, as if the commit had succeeded
		if err != nil {
			l.die("its term has ended")
		}
		return
	}
	if err == nil && !c.Change {
		w.check.afterDecision(l)
		w.check.checkMarks(l) // the core waits for this answer, so all its marks are stored
	}
	l.input(func(m *term.Machine) {
		l.out.deciding, l.out.committing = false, false
		m.Committed(err)
	})
}

// read reads documents that other programs have changed. Some reads fail.
func (l *leader) read(paths []string) {
	w := l.w
	l.soon(w.between(200*time.Microsecond, 5*time.Millisecond), func() {
		read := make([]term.Document, len(paths))
		for i, path := range paths {
			read[i] = l.document(path)
			if w.roll(ReadFails) {
				read[i].Err = errors.New("no answer")
			}
		}
		l.input(func(m *term.Machine) {
			w.check.documentsRead(l, read)
			m.DocumentsRead(read)
		})
	})
}

// document reads a path on this process's session. Its server may lag, but not behind the writes that the session has
// seen.
func (l *leader) document(path string) term.Document {
	w := l.w
	index := max(l.seen, w.store.indexBefore(w.between(0, maxLag)))
	if w.cfg.Bug == ReloadsAnywhere {
		index = w.store.indexBefore(maxLag)
	}
	entry, there := w.store.entryAt(path, index)
	if seen, _ := w.store.entryAt(path, l.seen); index < l.seen && l.term == w.store.term && seen.Version != entry.Version {
		w.fail("T4 a reload sees the write that it conflicted with",
			"%s is read as of version %d, and version %d was seen already", path, entry.Version, seen.Version)
	}
	doc := term.Document{Path: path, Entry: entry}
	if !there {
		doc.Err = registry.ErrNotFound
	}
	return doc
}

// reportEdit reports to the process that another program has changed a path.
func (l *leader) reportEdit(path string, index int64) {
	l.run(func() { l.seen = max(l.seen, index) })
	l.input(func(m *term.Machine) { m.Changed(path) })
}

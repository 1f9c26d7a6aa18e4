package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// appended is the model's record of one call of Append.
type appended struct {
	Key
	data      string
	confirmed bool
	became    Outcome // the outcome of its commit: Uncertain while unknown
	done      bool
}

// model uses a log as a leader that appends, settles and ends, and as a reader that reads and marks batches as done.
type model struct {
	*rapid.T
	disk *disk
	log  *Log
	all  []*appended
	term int64
	n    int64
	last *appended // of the term
	ctx  context.Context
}

// TestCrashes checks that with any calls, and with a crash or a disk error at any write, each confirmed batch whose
// commit happened is read, in order; that nothing is read that was not appended; and that no commit that did not
// happen counts as happened.
func TestCrashes(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{T: t, disk: newDisk(rapid.Uint64().Draw(t, "seed")), ctx: ended}
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			m.open()
			m.disk.steps = rapid.IntRange(-1, 60).Draw(t, "steps")
			m.disk.fault = rapid.SampledFrom([]error{errCrash, errNoSpace, errDisk}).Draw(t, "fault")
			m.live()
			m.end()
		}
		m.open()
		m.readAll()
		m.close()
	})
}

func (m *model) open() {
	log, err := Open("", Options{FS: m.disk, Bytes: 1 << 20, SegmentBytes: 300, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		m.Fatalf("open after a crash: %v", err)
	}
	m.log = log
	m.term++
	m.n, m.last = 1, nil
}

// live is the lifetime of one process.
func (m *model) live() {
	for range rapid.IntRange(0, 40).Draw(m.T, "calls") {
		if m.disk.crashed() {
			return
		}
		switch rapid.SampledFrom([]string{"append", "append", "append", "read", "aside", "new term"}).Draw(m.T,
			"call") {
		case "append":
			m.append()
		case "read":
			m.read(false)
		case "aside":
			m.read(true)
		case "new term":
			if m.last != nil {
				m.log.Settle(m.term, m.last.Number, Uncertain)
				m.written()
			}
			m.term++
			m.n, m.last = 1, nil
		}
	}
}

// append is one commit of the leader with its outcome.
func (m *model) append() {
	a := &appended{Key: Key{m.term, m.n}, became: Uncertain}
	a.data = fmt.Sprintf("%d/%d/%d %s", a.Term, a.Number, len(m.all),
		strings.Repeat("x", rapid.IntRange(0, 1000).Draw(m.T, "length")))
	m.all, m.last = append(m.all, a), a
	a.confirmed = <-m.log.Append(a.Term, a.Number, 1, []byte(a.data)) == nil
	a.became = rapid.SampledFrom([]Outcome{Happened, Happened, Happened, Never}).Draw(m.T, "outcome")
	if a.became == Happened {
		m.n++
	}
	m.log.Settle(a.Term, a.Number, a.became)
	m.written()
}

// written waits until the writer has processed its queue.
func (m *model) written() {
	for left := true; left; runtime.Gosched() {
		m.log.mu.Lock()
		left = m.log.queued > 0
		m.log.mu.Unlock()
	}
}

// read reads available batches, and marks a part of them as done.
func (m *model) read(aside bool) {
	var before *appended
	for range rapid.IntRange(1, 10).Draw(m.T, "entries") {
		e, err := m.log.Next(m.ctx)
		if err != nil {
			if !errors.Is(err, context.Canceled) && !errors.Is(err, errCrash) {
				m.Fatalf("next: %v", err)
			}
			return
		}
		before = m.check(e, before)
		if e.Outcome == Uncertain && aside {
			if m.log.SetAside(e) != nil {
				return // so it is not done
			}
		}
		_ = m.log.Done(e) // an error means that segments are freed later or never
		m.doneUpTo(before)
	}
}

func (m *model) doneUpTo(last *appended) {
	for _, a := range m.all {
		a.done = true
		if a == last {
			return
		}
	}
}

// check checks an entry that follows another one, and returns the record of its Append.
func (m *model) check(e Entry, before *appended) *appended {
	i := slices.IndexFunc(m.all, func(a *appended) bool { return a.data == string(e.Data) })
	if i < 0 || m.all[i].Key != e.Key || e.Rows != 1 {
		m.Fatalf("read %v %.40q, which was not appended", e.Key, e.Data)
	}
	a := m.all[i]
	if before != nil && slices.Index(m.all, before) >= i {
		m.Fatalf("read %v after %v", e.Key, before.Key)
	}
	switch {
	case e.Outcome == Happened && a.became != Happened:
		m.Fatalf("read %v as happened", e.Key)
	case e.Outcome == Uncertain && !a.done && a.became == Happened && slices.ContainsFunc(m.all[i+1:],
		func(b *appended) bool { return b.Term == a.Term && b.confirmed }):
		m.Fatalf("read %v as uncertain, though there is a later one of its term", e.Key)
	}
	return a
}

// end ends the process, with or without a crash.
func (m *model) end() {
	if m.disk.dead || rapid.Bool().Draw(m.T, "power fails") {
		m.disk.dead = true
		_ = m.log.Close(context.Background()) // every call fails
		m.disk = m.disk.crash()
		return
	}
	m.disk.steps = -1
	m.close()
}

func (m *model) close() {
	if err := m.log.Close(context.Background()); err != nil {
		m.Fatalf("close: %v", err)
	}
}

// readAll reads the whole log: every batch that is neither done nor set aside must be there.
func (m *model) readAll() {
	read := map[*appended]bool{}
	var before *appended
	for {
		e, err := m.log.Next(m.ctx)
		if errors.Is(err, context.Canceled) {
			break
		}
		if err != nil {
			m.Fatalf("next: %v", err)
		}
		before = m.check(e, before)
		read[before] = true
	}
	if s := m.log.Status(); s.Lost > 0 {
		m.Errorf("%d rows are counted as lost, and no confirmed one is", s.Lost)
	}
	for _, k := range m.log.Aside() {
		e, err := m.log.ReadAside(k)
		if err != nil {
			m.Fatal(err)
		}
		read[m.check(e, nil)] = true
	}
	for _, a := range m.all {
		if a.confirmed && a.became == Happened && !a.done && !read[a] {
			m.Fatalf("%v was confirmed and happened, and is lost", a.Key)
		}
	}
}

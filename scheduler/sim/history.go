package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	historyevent "github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// history is the database, the outboxes of all processes that ever led, and the expected rows: those of batches whose
// commit has happened.
type history struct {
	w         *world
	downUntil time.Duration
	rows      map[string]int // the stored revision, by table and id
	terms     map[int64]int64
	outboxes  []*outbox
	// committed has, by table and id, the contents of each committed row, one for each revision.
	committed map[string][]string
	// commits are the batches whose commit has happened, by term and number.
	commits map[[2]int64]bool
	// ended has, for each execution with a committed end, the rows that report the end, without their texts: the row of
	// the execution, and those of the last runs of its shards.
	ended map[string][]row
	// lost are the keys of rows for which an outbox had no room.
	lost map[string]bool
	// onDisk has, for each execution that was forgotten before its end was stored, the outboxes that contain the end.
	onDisk map[string][]*outbox
	// lacked is what the last check in the calm world found missing. It has been missing since lackedSince.
	lacked      string
	lackedSince time.Duration
}

// outbox is the content of one leader's disk.
type outbox struct {
	of      *leader
	gone    bool // its disk is never read again
	batches []*keptBatch
	unsaid  []historyevent.Term // the reports of a lost batch about former terms, which the next batch repeats
	drained int                 // the number of batches at the beginning that are done
	// stored are the batches that count as stored, including lost ones.
	stored map[int64]bool
}

// keptBatch is a batch on a disk.
type keptBatch struct {
	historyevent.Batch
	settled  bool // the outcome of its commit is known
	happened bool // its commit has happened
	done     bool // stored, or discarded
	complete bool // all of its rows were seen in the database
	rows     []row
}

// row is one row of a batch: its table and id, its revision, and its text.
type row struct {
	key      string
	revision int
	text     string
}

func newHistory(w *world) *history {
	return &history{w: w, rows: map[string]int{}, terms: map[int64]int64{}, committed: map[string][]string{},
		commits: map[[2]int64]bool{}, ended: map[string][]row{}, onDisk: map[string][]*outbox{},
		lost: map[string]bool{}}
}

// outboxOf creates the outbox of a new leader.
func (h *history) outboxOf(l *leader) *outbox {
	o := &outbox{of: l, stored: map[int64]bool{}}
	h.outboxes = append(h.outboxes, o)
	return o
}

// rowsOf returns the rows of a batch.
func rowsOf(b *historyevent.Batch) (rows []row) {
	add := func(table, id string, revision int, v any) {
		text, _ := json.Marshal(v)
		rows = append(rows, row{table + " " + id, revision, string(text)})
	}
	for _, r := range b.Executions {
		add("execution", r.ID, r.Revision, r)
	}
	for _, r := range b.Steps {
		add("step", r.ID, 0, r)
	}
	for _, r := range b.Runs {
		add("run", r.ID, r.Revision, r)
	}
	for _, r := range b.Traces {
		add("trace", r.ID, 0, r)
	}
	for _, r := range b.Tallies {
		add("tally", r.ID, 0, r)
	}
	for _, r := range b.Audits {
		add("audit", r.ID, 0, r)
	}
	for _, r := range b.Samples {
		add("sample", string(r.Of)+r.Time.String(), 0, r)
	}
	for _, r := range b.Loads {
		add("load", r.Time.String(), 0, r)
	}
	return rows
}

// record puts a batch on the leader's disk, concurrently with its commit. It calls then when the batch is there, or
// cannot be.
func (l *leader) record(b historyevent.Batch, then func(*keptBatch)) {
	w := l.w
	if b.Number == 0 {
		then(nil)
		return
	}
	took := w.between(100*time.Microsecond, 8*time.Millisecond)
	if w.roll(HistoryDiskSlow) {
		took = w.between(100*time.Millisecond, 2*time.Second)
	}
	l.soon(took, func() {
		b.Terms = slices.Concat(l.outbox.unsaid, b.Terms)
		if l.outbox.unsaid = nil; w.roll(HistoryDiskFull) {
			l.outbox.unsaid = b.Terms
			for _, r := range rowsOf(&b) {
				w.history.lost[r.key] = true
			}
			l.outbox.stored[b.Number] = true
			then(nil)
			return
		}
		kept := &keptBatch{Batch: b, rows: rowsOf(&b)}
		l.outbox.batches = append(l.outbox.batches, kept)
		then(kept)
	})
}

func (h *history) isCommitted(b *historyevent.Batch) bool {
	return h.commits[[2]int64{b.Term, b.Number}]
}

// commit records that the commit of a batch has happened.
func (h *history) commit(c term.Commit) {
	h.commits[[2]int64{c.History.Term, c.History.Number}] = true
	for _, r := range rowsOf(&c.History) {
		h.committed[r.key] = append(h.committed[r.key], r.content())
	}
}

// drain writes the batches of all readable outboxes that may be written, and schedules its next call.
func (h *history) drain() {
	w := h.w
	for _, o := range h.outboxes {
		h.drainOutbox(o)
	}
	w.after(w.between(50*time.Millisecond, 3*time.Second), h.drain)
}

func (h *history) drainOutbox(o *outbox) {
	w := h.w
	switch {
	case o.gone, w.now < h.downUntil, o.of.paused && !w.calm:
		return
	case o.of.dead && !w.calm && w.rng.IntN(20) > 0:
		return // its process is not back yet
	}
	for o.drained < len(o.batches) && o.batches[o.drained].done {
		o.drained++
	}
	for _, b := range o.batches[o.drained:] {
		if b.done {
			continue
		}
		if !b.settled {
			batches, known := h.terms[b.Term]
			if !known {
				continue // the next leader may know the outcome; the other batches need not wait
			}
			w.count(HistorySettledByOthers)
			b.settled, b.happened = true, b.Number <= batches
		}
		b.done = true
		if b.happened {
			h.write(b)
		} else {
			w.count(HistoryThrownAway)
		}
		o.stored[b.Number] = true
		if w.chance(0.02) {
			b.done = false // the process ended before it recorded that the batch is done
		}
	}
	if l := o.of; !l.dead && !l.paused {
		n := l.historyTold
		for o.stored[n+1] {
			n++
		}
		if n > l.historyTold {
			l.historyTold = n
			l.input(func(m *term.Machine) { m.HistoryStored(n) })
		}
	}
}

// write is one transaction of the database.
func (h *history) write(b *keptBatch) {
	for _, t := range b.Terms {
		if was, ok := h.terms[t.Number]; ok && was != t.Batches {
			h.w.fail("H1 all leaders say the same of a former term", "term %d had %d batches, and %d", t.Number, was,
				t.Batches)
		}
		h.terms[t.Number] = t.Batches
	}
	for _, r := range b.rows {
		if !slices.Contains(h.committed[r.key], r.content()) {
			h.w.fail("H1 what the history says has happened", "%s: %s", r.key, r.text)
		}
		if was, ok := h.rows[r.key]; ok && was >= r.revision {
			if was == r.revision {
				h.w.count(HistoryWrittenAgain)
			}
			continue
		}
		h.rows[r.key] = r.revision
	}
}

func (r *row) content() string { return strconv.Itoa(r.revision) + r.text }

// executionEnded records that the end of an execution was committed.
func (h *history) executionEnded(e *execRecord) {
	rows := []row{{key: "execution " + e.record.ID,
		revision: historyevent.Again(historyevent.Ended, e.record.Reopened)}}
	e.eachShard(func(s shardRecord) {
		if s.TaskID != "" && !e.record.daemon() && (!s.Start.IsZero() || s.State == executions.Failed) {
			rows = append(rows, row{key: "run " + historyevent.ID(s.TaskID),
				revision: historyevent.Again(historyevent.Ended, s.Returns)})
		}
	})
	h.ended[e.record.ID] = rows
}

// checkForgotten checks, when an execution's record is removed from the registry, that its end is stored, or at least
// on a disk.
func (h *history) checkForgotten(id string) {
	key := "execution " + id
	if h.ended[id] == nil || h.rows[key] == h.ended[id][0].revision {
		return
	}
	if h.w.opt.MaxUnstored < step.DefaultOptions().MaxUnstored { // such a world at times has too many unstored ends
		for _, o := range h.outboxes {
			for _, b := range o.batches {
				if h.isCommitted(&b.Batch) && slices.ContainsFunc(b.Executions,
					func(e historyevent.Execution) bool {
						return e.ID == id && e.Revision == h.ended[id][0].revision
					}) {
					h.w.count(HistoryForgottenUnstored)
					h.onDisk[id] = append(h.onDisk[id], o)
				}
			}
		}
		if len(h.onDisk[id]) > 0 {
			return
		}
	}
	if h.lost[key] { // a disk was full
		return
	}
	h.w.fail("H1 an end stays in the registry until its row is stored", "execution %s", id)
}

// missing returns, in the calm world, what the history lacks, or "".
func (h *history) missing() string {
	for _, id := range sorted(h.ended) {
		on := h.onDisk[id]
		if len(on) > 0 && !slices.ContainsFunc(on, func(o *outbox) bool { return !o.gone }) {
			continue // it was forgotten while its row was only on disks that were lost later
		}
		for _, r := range h.ended[id] {
			if h.rows[r.key] != r.revision && !h.lost[r.key] {
				return fmt.Sprintf("%s, of the end of execution %s", r.key, id)
			}
		}
	}
	for _, o := range h.outboxes {
		if o.gone {
			continue
		}
		for _, b := range o.batches {
			if b.complete || !h.isCommitted(&b.Batch) {
				continue
			}
			for _, r := range b.rows {
				if stored, ok := h.rows[r.key]; !ok || stored < r.revision {
					return fmt.Sprintf("%s of batch %d of term %d, settled %v, done %v", r.key, b.Number, b.Term,
						b.settled, b.done)
				}
			}
			b.complete = true
		}
	}
	return ""
}

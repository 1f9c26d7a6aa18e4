// Package recording decides what each step records in the history, and tracks how much of this term's recordings is
// stored there (rule H1). A Recording owns the rows of the present step and the numbers of batches. The other parts
// report events to it; Write turns them into the one batch of the step's commit, and StoredUpTo applies the shell's
// report of the stored batches. The package writes to no history itself: the shell does, beside the commit.
package recording

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Recording collects the rows that the present step records in the history, and tracks how much of this term's
// recordings is stored there (rule H1). Without Options.History it records nothing. These hold between any two steps:
//
//   - every commit that increased batches has a batch, and no other commit has one;
//   - toRecord has the executions whose ends are in no batch of this term, in the order of their ends; all earlier ends
//     are in a batch of this term, or a former term has stored them;
//   - the ends up to stored are stored, and the ends up to recorded are in a batch of this term, or stored;
//   - toAudit has the audit rows that are in no batch of this term, in the order of their numbers; those up to
//     auditRecorded are in one, and those up to auditStored are stored.
type Recording struct {
	shared *step.Shared
	// set has the executions, with marks for changes that were not recorded.
	set  *executions.Set
	rows event.Rows
	// executions are those whose row changes with this step.
	executions map[string]*executions.Execution
	batches    int64
	// base is added to the numbers of terms, to distinguish the terms of this registry from those of an earlier one
	// whose rows the same database may hold. baseIsNew is set until base is written. A backup is restored without its
	// base: the lost registry, and another restore of the same backup, would continue with the same numbers of terms.
	base      int64
	baseIsNew bool
	// former has, by term, the number of batches of each of the last terms.
	former   map[int64]int64
	toRecord []*executions.Execution
	recorded int64
	stored   int64
	// unstored are batches with ends or audit rows that are not stored, oldest first.
	unstored    []recordedUpTo
	storedSaved int64 // stored as the registry has it

	toAudit                    []audit.Row
	auditRecorded, auditStored int64
}

// recordedUpTo records that all ends and all audit rows up to these numbers are in the batch, or in earlier ones.
type recordedUpTo struct{ batch, ended, audit int64 }

const (
	// FormerTerms is the number of terms before its own for which a leader always reports the number of batches, even
	// if the registry has no number for them.
	FormerTerms = 20
	// endsPerStep bounds the shards of the executions whose ends one step records, because a term may begin with many.
	endsPerStep = 2000
	// AuditsPerStep bounds the audit rows that one step records; the next steps record the others.
	AuditsPerStep = 500
)

// New returns a Recording that has recorded nothing, for the executions of a set.
func New(s *step.Shared, set *executions.Set) *Recording {
	return &Recording{shared: s, set: set, executions: map[string]*executions.Execution{}, former: map[int64]int64{}}
}

// On reports whether there is a history to record in. Without one every method that records does nothing.
func (h *Recording) On() bool { return h.shared.Opt.History }

// NotRestored returns the paths that a restore of a backup must leave out: they distinguish this registry from any
// other.
func NotRestored() []string { return []string{store.PathHistoryBase} }

// termsOfOneBase is more than the number of terms that a registry will ever have.
const termsOfOneBase = 1_000_000

// Term returns the number that the present term has in the history: Options.Term plus the base of this registry.
func (h *Recording) Term() int64 { return h.base + h.shared.Opt.Term }

// Restore adds a stored entry about the history while a term is loaded. It fails if the entry cannot be read.
func (h *Recording) Restore(e registry.Entry) (err error) {
	if e.Path == store.PathHistoryBase {
		h.base, err = strconv.ParseInt(string(e.Value), 10, 64)
		return err
	}
	if e.Path == store.PathHistoryStored {
		h.stored, err = strconv.ParseInt(string(e.Value), 10, 64)
		h.storedSaved = h.stored
		return err
	}
	var term, batches int64
	if term, err = strconv.ParseInt(strings.TrimPrefix(e.Path, store.PathHistoryBatches+"/"), 10, 64); err == nil {
		batches, err = strconv.ParseInt(string(e.Value), 10, 64)
		h.former[term] = batches
	}
	return err
}

// BeginTerm begins a term, after all calls of Restore. ended are the kept executions that have ended, in the order of
// their ends, and audits the kept audit rows; those that may not be stored yet are recorded again.
func (h *Recording) BeginTerm(ended []*executions.Execution, audits []audit.Row) {
	if !h.On() {
		return
	}
	if h.baseIsNew = h.base == 0; h.baseIsNew {
		h.base = h.shared.Wall().Unix() * termsOfOneBase
	}
	// A term that could not load the state, such as that of an older release, has stored no number: it made no batch.
	batchesOf := maps.Clone(h.former)
	for t := max(h.shared.Opt.Term-FormerTerms, 1); t < h.shared.Opt.Term; t++ {
		batchesOf[t] = h.former[t]
	}
	for _, t := range slices.Sorted(maps.Keys(batchesOf)) {
		if t < h.shared.Opt.Term {
			h.rows.Terms = append(h.rows.Terms, event.Term{Number: h.base + t, Batches: batchesOf[t]})
		}
	}
	h.recorded = h.stored
	for _, e := range ended {
		if e.EndNumber() > h.stored {
			h.set.MarkUnrecorded(e)
			h.toRecord = append(h.toRecord, e)
		}
	}
	for e := range h.set.AllOpen() {
		h.set.MarkUnrecorded(e)
	}
	h.toAudit = slices.Clone(audits)
}

// StoredEnd returns the largest end number up to which the ends of all executions are stored in the history. Without a
// history it is the largest number, so that no execution is kept for it.
func (h *Recording) StoredEnd() int64 { return h.orAll(h.stored) }

// RecordedEnd returns the largest end number up to which the ends of all executions are in a batch, stored or not.
// Without a history it is the largest number.
func (h *Recording) RecordedEnd() int64 { return h.orAll(h.recorded) }

// StoredAudit returns the number of the last audit row up to which all rows are stored in the history. Without a
// history it is 0.
func (h *Recording) StoredAudit() int64 { return h.auditStored }

// RecordedAudit returns the number of the last audit row up to which all rows are in a batch, stored or not. Without a
// history it is the largest number, so that any row may be removed.
func (h *Recording) RecordedAudit() int64 { return h.orAll(h.auditRecorded) }

// orAll returns end or, without a history, the largest number.
func (h *Recording) orAll(end int64) int64 {
	if !h.On() {
		return math.MaxInt64
	}
	return end
}

// StoredUpTo records how many of this term's batches, counted from the first, the history has stored.
func (h *Recording) StoredUpTo(batches int64) {
	n := 0
	for n < len(h.unstored) && h.unstored[n].batch <= batches {
		h.stored = max(h.stored, h.unstored[n].ended)
		h.auditStored = max(h.auditStored, h.unstored[n].audit)
		n++
	}
	h.unstored = h.unstored[n:]
}

// Changed records an execution in the batch of this step, as it will be at the end of the step.
func (h *Recording) Changed(e *executions.Execution) {
	if h.On() {
		h.executions[e.ID()] = e
	}
}

// Audited records an audit row in the batch of this step or, if there are many rows, of one of the next.
func (h *Recording) Audited(r audit.Row) {
	if h.On() {
		h.toAudit = append(h.toAudit, r)
	}
}

// Ended records the end of an execution. It is called once for each, in the step in which it ends.
func (h *Recording) Ended(e *executions.Execution) {
	if h.On() {
		delete(h.executions, e.ID())
		h.toRecord = append(h.toRecord, e)
	}
}

// Reopened records that an execution that had ended is open again.
func (h *Recording) Reopened(e *executions.Execution) {
	h.toRecord = slices.DeleteFunc(h.toRecord, func(other *executions.Execution) bool { return other == e })
	h.Changed(e)
}

// Write returns the batch of the step, and adds its number to the commit. The batch has no rows if the step records
// nothing. It is called once, at the end of the step.
func (h *Recording) Write(r *store.Commit) (batch event.Batch) {
	if !h.On() {
		return batch
	}
	for _, id := range step.SortedKeys(h.executions) {
		h.rows.Executions = append(h.rows.Executions, h.executionRow(h.executions[id]))
	}
	clear(h.executions)
	shards, ends := 0, 0
	for _, e := range h.toRecord {
		if shards > endsPerStep {
			h.shared.WakeAt(h.shared.Now())
			break
		}
		h.rows.Executions = append(h.rows.Executions, h.executionRow(e))
		shards, ends, h.recorded = shards+e.NumShards()+1, ends+1, e.EndNumber()
		h.recordUnrecorded(e)
	}
	h.toRecord = slices.Delete(h.toRecord, 0, ends)
	audits := min(len(h.toAudit), AuditsPerStep)
	for _, r := range h.toAudit[:audits] {
		h.rows.Audits = append(h.rows.Audits, r.Audit)
		h.auditRecorded = r.Number()
	}
	if h.toAudit = h.toAudit[audits:]; len(h.toAudit) > 0 {
		h.shared.WakeAt(h.shared.Now())
	}
	if h.rows.Len() == 0 {
		if len(r.Writes()) > 0 {
			h.writeStored(r)
		}
		return batch
	}
	h.batches++
	if ends+audits > 0 {
		h.unstored = append(h.unstored, recordedUpTo{h.batches, h.recorded, h.auditRecorded})
	}
	batch = event.Batch{Term: h.Term(), Number: h.batches, Rows: h.rows}
	if h.baseIsNew {
		h.baseIsNew = false
		r.Raw(store.PathHistoryBase, strconv.AppendInt(nil, h.base, 10))
	}
	h.rows = event.Rows{}
	r.Raw(store.Under(store.PathHistoryBatches, strconv.FormatInt(h.shared.Opt.Term, 10)),
		strconv.AppendInt(nil, h.batches, 10))
	for _, t := range slices.Sorted(maps.Keys(h.former)) {
		if t < h.shared.Opt.Term-FormerTerms {
			r.Remove(store.Under(store.PathHistoryBatches, strconv.FormatInt(t, 10)))
			delete(h.former, t)
		}
	}
	h.writeStored(r)
	return batch
}

// writeStored adds stored to a commit if it has changed. A change of stored alone needs no commit: without it the next
// leader only records some rows again, and the history keeps each row once.
func (h *Recording) writeStored(r *store.Commit) {
	if h.stored != h.storedSaved {
		h.storedSaved = h.stored
		r.Raw(store.PathHistoryStored, strconv.AppendInt(nil, h.stored, 10))
	}
}

// Rows returns what the present step has recorded so far and Write has not put into a batch yet.
func (h *Recording) Rows() event.Rows { return h.rows }

// Batches returns the number of batches that this term has made.
func (h *Recording) Batches() int64 { return h.batches }

// Base returns the number that is added to the terms of this registry in the history; 0 before a history was first
// used. It distinguishes them from those of an earlier registry whose rows the same database may hold.
func (h *Recording) Base() int64 { return h.base }

// ToAudit returns the audit rows that are in no batch of this term yet. The slice must not be changed; it is for
// tests.
func (h *Recording) ToAudit() []audit.Row { return h.toAudit }

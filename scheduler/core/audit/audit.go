// Package audit keeps the audit rows, which record the changes that people make (rule A1), until the history has
// stored them. Without a history it keeps the newest rows.
//
// A row is added in the step that makes the change and is written by the same commit. Rows are never changed. They are
// removed once the history has stored them, or beyond the limits AuditRows and AuditBytes. The package does not check
// permissions. Package config makes the content of a row about a changed document.
package audit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Log keeps the audit rows of changes that people make (rule A1): until the history has stored them or, without a
// history, the newest. These hold between any two steps:
//
//   - a row is in the registry exactly when the change that it records is: both are written by one commit;
//   - rows are in the order of their numbers, which is that of their commits, and no two have the same id;
//   - bytes is the size of all of them.
type Log struct {
	shared *step.Shared
	config *config.Set
	// onRow is called with each new row, for the history.
	onRow func(Row)
	rows  []Row
	ids   map[string]bool
	last  int64 // the last assigned number
	bytes int
}

// Row is an audit row with its number, which names it in the registry.
type Row struct {
	number int64
	event.Audit
	size int
	// encoded is nil once the row is in a commit.
	encoded []byte
}

const (
	// AuditRows is the maximum number of kept rows. Beyond it the oldest rows are removed first. With a history, only
	// rows that it has stored or has in a batch are removed.
	AuditRows = 10_000
	// AuditBytes is the maximum size of all kept rows, in bytes; see AuditRows.
	AuditBytes = 16 << 20
)

// New returns a Log without rows. onRow is called with each row that is added, in order.
func New(s *step.Shared, k *config.Set, onRow func(Row)) *Log {
	return &Log{shared: s, config: k, onRow: onRow, ids: map[string]bool{}}
}

// Restore adds a stored row; name is the last part of its path. FinishLoading must be called after the last row.
// Restore fails if the name is no number or the row cannot be read.
func (a *Log) Restore(name string, e registry.Entry) error {
	number, err := strconv.ParseInt(name, 10, 64)
	row := Row{number: number, size: len(e.Value)}
	if err == nil {
		err = json.Unmarshal(e.Value, &row.Audit)
	}
	a.rows = append(a.rows, row)
	return err
}

// FinishLoading sorts and indexes what Restore has added. It is called once, before anything else is added.
func (a *Log) FinishLoading() {
	slices.SortFunc(a.rows, func(x, y Row) int { return cmp.Compare(x.number, y.number) })
	for i := range a.rows {
		a.index(&a.rows[i])
	}
}

// index adds a row to the ids, the size and the last number.
func (a *Log) index(r *Row) {
	a.ids[r.ID] = true
	a.bytes += r.size
	a.last = max(a.last, r.number)
}

// number gives a row its number, and an id and a time if it has none. It does not add the row, because the change that
// the row records may fail.
func (a *Log) number(row event.Audit) Row {
	a.last++
	r := Row{number: a.last, Audit: row}
	if r.ID == "" {
		r.Time = a.shared.Wall().UTC().Truncate(time.Millisecond) // with the precision of databases
		r.ID = event.ID("audit", strconv.FormatInt(a.shared.Opt.Term, 10), strconv.FormatInt(r.number, 10),
			a.shared.Wall().Format(time.RFC3339Nano), r.Action, r.TargetName)
	}
	r.encoded = store.Encode(r.Audit)
	r.size = len(r.encoded)
	return r
}

// Plan numbers the rows about a change of configuration, which has a commit of its own, and returns the writes that
// this commit must include. If the commit succeeds, the caller calls AddPlanned with the numbered rows. If it fails,
// the caller drops them.
func (a *Log) Plan(rows []event.Audit) (writes []registry.Write, numbered []Row) {
	var r store.Commit
	for _, row := range rows {
		planned := a.number(row)
		r.Raw(planned.path(), planned.encoded)
		planned.encoded = nil
		numbered = append(numbered, planned)
	}
	return r.Writes(), numbered
}

func (r *Row) path() string {
	return store.Under(store.PathAudit, strconv.FormatInt(r.number, 10))
}

// Write adds the new rows to the commit. It removes the rows with numbers up to stored, which the history has stored.
// Beyond the limits it also removes the oldest rows with numbers up to recorded, which are at least in a batch for the
// history.
func (a *Log) Write(r *store.Commit, stored, recorded int64) {
	removed := 0
	for removed < len(a.rows) {
		row := &a.rows[removed]
		tooMany := len(a.rows)-removed > AuditRows || a.bytes > AuditBytes
		if row.encoded != nil || row.number > stored && (row.number > recorded || !tooMany) {
			break
		}
		r.Remove(row.path())
		a.bytes -= row.size
		delete(a.ids, row.ID)
		removed++
	}
	clear(a.rows[:removed])
	a.rows = a.rows[removed:]
	firstNew := len(a.rows)
	for firstNew > 0 && a.rows[firstNew-1].encoded != nil {
		firstNew--
	}
	for i := range a.rows[firstNew:] {
		row := &a.rows[firstNew+i]
		r.Raw(row.path(), row.encoded)
		row.encoded = nil
	}
}

// Add keeps a row about a change of this step. The row is part of the commit of the step and of its batch for the
// history.
func (a *Log) Add(row event.Audit) { a.AddPlanned(a.number(row)) }

// AddPlanned keeps rows that Plan has numbered, after their change was committed.
func (a *Log) AddPlanned(rows ...Row) {
	for _, r := range rows {
		a.rows = append(a.rows, r)
		a.index(&r)
		a.onRow(r)
	}
}

// AddMissing adds rows of changes that were made outside of the core. It ignores a row whose id is kept already, so
// rows may be added again.
func (a *Log) AddMissing(rows []event.Audit) {
	for _, row := range rows {
		if !a.ids[row.ID] {
			row.Time = row.Time.UTC().Truncate(time.Millisecond)
			a.Add(row)
		}
	}
}

// Find returns the page of kept rows that q asks for.
func (a *Log) Find(q search.Audits) []event.Audit {
	var rows []event.Audit
	for i := range a.rows {
		if row := &a.rows[i].Audit; q.Matches(row) {
			rows = append(rows, *row)
		}
	}
	return q.Page(rows)
}

// Rows returns the kept rows in the order of their numbers.
func (a *Log) Rows() []Row { return slices.Clone(a.rows) }

// NumIDs returns the number of remembered ids, each of which is that of a kept row.
func (a *Log) NumIDs() int { return len(a.ids) }

// Bytes returns the size of all kept rows as they are stored.
func (a *Log) Bytes() int { return a.bytes }

// Number returns the number of the row, counted from 1 in the order of commits. A number is never used twice.
func (a *Row) Number() int64 { return a.number }

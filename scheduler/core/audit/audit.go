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

// audit keeps the rows of what people have changed (rule A1): until the history has them for good, or, without one, the newest. These
// hold between any two steps:
//
//   - a row is in the registry exactly when the change that it tells of is: both are written by one commit;
//   - rows are in the order of their numbers, which is that of their commits, and none has the id of another;
//   - bytes is how large they are together.
type Log struct {
	*step.Shared
	config *config.Set
	// kept is told of each row that is kept, for the history.
	kept  func(Row)
	rows  []Row
	ids   map[string]bool
	last  int64 // the number given last
	bytes int
}

// auditRow is a row with its number, which names it in the registry.
type Row struct {
	number int64
	event.Audit
	size int
	// encoded is nil once the row is in a commit.
	encoded []byte
}

const (
	// auditRows and auditBytes bound what is kept, 10,000 rows and 16 MB: the oldest go first.
	AuditRows  = 10_000
	AuditBytes = 16 << 20
)

func New(s *step.Shared, k *config.Set, kept func(Row)) *Log {
	return &Log{Shared: s, config: k, kept: kept, ids: map[string]bool{}}
}

// restore takes a row that is stored.
func (a *Log) Restore(name string, e registry.Entry) error {
	number, err := strconv.ParseInt(name, 10, 64)
	row := Row{number: number, size: len(e.Value)}
	if err == nil {
		err = json.Unmarshal(e.Value, &row.Audit)
	}
	a.rows = append(a.rows, row)
	return err
}

// loaded puts what was loaded into its order.
func (a *Log) Loaded() {
	slices.SortFunc(a.rows, func(x, y Row) int { return cmp.Compare(x.number, y.number) })
	for i := range a.rows {
		a.keep(&a.rows[i])
	}
}

func (a *Log) keep(r *Row) {
	a.ids[r.ID] = true
	a.bytes += r.size
	a.last = max(a.last, r.number)
}

// number gives a row its place. It is not kept yet: the change that it tells of may not be made.
func (a *Log) number(row event.Audit) Row {
	a.last++
	r := Row{number: a.last, Audit: row}
	if r.ID == "" {
		r.Time = a.Wall().UTC().Truncate(time.Millisecond) // as databases keep it
		r.ID = event.ID("audit", strconv.FormatInt(a.Opt.Term, 10), strconv.FormatInt(r.number, 10), a.Wall().Format(time.RFC3339Nano), r.Action, r.TargetName)
	}
	r.encoded = store.Encode(r.Audit)
	r.size = len(r.encoded)
	return r
}

// add keeps a row.
func (a *Log) keepRow(r Row) {
	a.rows = append(a.rows, r)
	a.keep(&r)
}

// plan numbers the rows that tell of a change of configuration, which is a commit of its own, and returns what that has to
// write of them.
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

// write adds the new rows to the commit, and removes those up to a number, which are stored in the history; beyond the bounds also the
// oldest of those up to another number, which are at least in one of its batches.
func (a *Log) Write(r *store.Commit, stored, recorded int64) {
	gone := 0
	for gone < len(a.rows) {
		row := &a.rows[gone]
		tooMany := len(a.rows)-gone > AuditRows || a.bytes > AuditBytes
		if row.encoded != nil || row.number > stored && (row.number > recorded || !tooMany) {
			break
		}
		r.Remove(row.path())
		a.bytes -= row.size
		delete(a.ids, row.ID)
		gone++
	}
	clear(a.rows[:gone])
	a.rows = a.rows[gone:]
	isNew := len(a.rows)
	for isNew > 0 && a.rows[isNew-1].encoded != nil {
		isNew--
	}
	for i := range a.rows[isNew:] {
		row := &a.rows[isNew+i]
		r.Raw(row.path(), row.encoded)
		row.encoded = nil
	}
}

// audited keeps a row of what this step changes: it is a part of the step's commit and of its batch.
func (a *Log) Add(row event.Audit) { a.Committed(a.number(row)) }

// committed keeps rows of a change of configuration that is committed.
func (a *Log) Committed(rows ...Row) {
	for _, r := range rows {
		a.keepRow(r)
		a.kept(r)
	}
}

// handIn takes rows of changes that were made elsewhere. A row that was handed in before is there once.
func (a *Log) HandIn(rows []event.Audit) {
	for _, row := range rows {
		if !a.ids[row.ID] {
			row.Time = row.Time.UTC().Truncate(time.Millisecond)
			a.Add(row)
		}
	}
}

// find are the rows that the scheduler keeps, of those that are asked for.
func (a *Log) Find(q search.Audits) []event.Audit {
	var rows []event.Audit
	for i := range a.rows {
		if row := &a.rows[i].Audit; q.Matches(row) {
			rows = append(rows, *row)
		}
	}
	return q.Page(rows)
}

// isKept reports whether a row of that id is kept.
func (a *Log) isKept(id string) bool { return a.ids[id] }

// Rows is the rows.
func (a *Log) Rows() []Row { return a.rows }

// Ids is the ids.
func (a *Log) Ids() map[string]bool { return a.ids }

// Bytes is the bytes.
func (a *Log) Bytes() int { return a.bytes }

// Number is the number.
func (a *Row) Number() int64 { return a.number }

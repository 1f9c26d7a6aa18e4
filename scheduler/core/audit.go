package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// audit keeps the rows of what people have changed (rule A1): until the history has them for good, or, without one, the newest. These
// hold between any two steps:
//
//   - a row is in the registry exactly when the change that it tells of is: both are written by one commit;
//   - rows are in the order of their numbers, which is that of their commits, and none has the id of another;
//   - bytes is how large they are together.
type audit struct {
	*step.Shared
	rows  []auditRow
	ids   map[string]bool
	last  int64 // the number given last
	bytes int
}

// auditRow is a row with its number, which names it in the registry.
type auditRow struct {
	number int64
	event.Audit
	size int
	// encoded is nil once the row is in a commit.
	encoded []byte
}

const (
	// auditRows and auditBytes bound what is kept, 10,000 rows and 16 MB: the oldest go first.
	auditRows  = 10_000
	auditBytes = 16 << 20
)

func newAudit(s *step.Shared) audit { return audit{Shared: s, ids: map[string]bool{}} }

// restore takes a row that is stored.
func (a *audit) restore(name string, e registry.Entry) error {
	number, err := strconv.ParseInt(name, 10, 64)
	row := auditRow{number: number, size: len(e.Value)}
	if err == nil {
		err = json.Unmarshal(e.Value, &row.Audit)
	}
	a.rows = append(a.rows, row)
	return err
}

// loaded puts what was loaded into its order.
func (a *audit) loaded() {
	slices.SortFunc(a.rows, func(x, y auditRow) int { return cmp.Compare(x.number, y.number) })
	for i := range a.rows {
		a.keep(&a.rows[i])
	}
}

func (a *audit) keep(r *auditRow) {
	a.ids[r.ID] = true
	a.bytes += r.size
	a.last = max(a.last, r.number)
}

// number gives a row its place. It is not kept yet: the change that it tells of may not be made.
func (a *audit) number(row event.Audit) auditRow {
	a.last++
	r := auditRow{number: a.last, Audit: row}
	if r.ID == "" {
		r.Time = a.Wall().UTC().Truncate(time.Millisecond) // as databases keep it
		r.ID = event.ID("audit", strconv.FormatInt(a.Opt.Term, 10), strconv.FormatInt(r.number, 10), a.Wall().Format(time.RFC3339Nano), r.Action, r.TargetName)
	}
	r.encoded = store.Encode(r.Audit)
	r.size = len(r.encoded)
	return r
}

// add keeps a row.
func (a *audit) add(r auditRow) {
	a.rows = append(a.rows, r)
	a.keep(&r)
}

// plan numbers the rows that tell of a change of configuration, which is a commit of its own, and returns what that has to
// write of them.
func (a *audit) plan(rows []event.Audit) (writes []registry.Write, numbered []auditRow) {
	var r store.Commit
	for _, row := range rows {
		planned := a.number(row)
		r.Raw(planned.path(), planned.encoded)
		planned.encoded = nil
		numbered = append(numbered, planned)
	}
	return r.Writes(), numbered
}

func (r *auditRow) path() string {
	return store.Under(store.PathAudit, strconv.FormatInt(r.number, 10))
}

// write adds the new rows to the commit, and removes those up to a number, which are stored in the history; beyond the bounds also the
// oldest of those up to another number, which are at least in one of its batches.
func (a *audit) write(r *store.Commit, stored, recorded int64) {
	gone := 0
	for gone < len(a.rows) {
		row := &a.rows[gone]
		tooMany := len(a.rows)-gone > auditRows || a.bytes > auditBytes
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
func (c *Core) audited(row event.Audit) { c.keepAudit(c.audit.number(row)) }

func (c *Core) keepAudit(r auditRow) {
	c.audit.add(r)
	c.recording.audited(r)
}

// auditRequested takes rows of changes that were made elsewhere. A row that was handed in before is there once.
func (c *Core) auditRequested(e AuditRequested) {
	for _, row := range e.Rows {
		if !c.audit.ids[row.ID] {
			row.Time = row.Time.UTC().Truncate(time.Millisecond)
			c.audited(row)
		}
	}
	c.reply(Reply{Token: e.Token})
}

// Audits are the rows that the scheduler keeps, of those that are asked for.
func (c *Core) Audits(q search.Audits) []event.Audit {
	var rows []event.Audit
	for i := range c.audit.rows {
		if row := &c.audit.rows[i].Audit; q.Matches(row) {
			rows = append(rows, *row)
		}
	}
	return q.Page(rows)
}

// AuditRequested hands in rows of changes that were made beside the core, such as of users. Rows have ids, by which one that comes twice
// stands once. The reply has nothing.
type AuditRequested struct {
	Token uint64
	Rows  []event.Audit
}

func (AuditRequested) CoreEvent() {}

// RequestToken is the token of the reply.
func (e AuditRequested) RequestToken() uint64 { return e.Token }

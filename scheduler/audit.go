package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// AuditOutbox has the audit rows of changes that are made outside of the core, such as changes of users. Each row is
// written together with its change, and waits until the leader moves it into the core's audit log (rule A1). The
// methods may be called concurrently.
type AuditOutbox interface {
	// PendingAudit returns the waiting rows, each with a unique id. It does no I/O.
	PendingAudit() []event.Audit
	// TakeAudit removes the rows with these ids, which the leader has committed. If it fails, the leader commits and
	// removes the rows again; the core ignores ids that it has.
	TakeAudit(ctx context.Context, ids []string) error
}

const (
	// auditCheckInterval is the interval at which the leader looks for waiting rows.
	auditCheckInterval = time.Second
	// auditTimeout bounds each attempt to move rows.
	auditTimeout = 10 * time.Second
)

// moveAudits moves rows from the outbox into the core until the term ends.
func (r *termRunner) moveAudits() {
	var failed bool // set once a failure was logged
	for {
		if rows := r.s.opt.Audits.PendingAudit(); len(rows) > 0 {
			err := r.moveRows(rows)
			if err != nil && !failed && r.ctx.Err() == nil {
				r.s.opt.Logger.Warn("audit rows not moved yet, retrying",
					"rows", len(rows), "error", err)
			}
			failed = err != nil
		}
		select {
		case <-time.After(auditCheckInterval):
		case <-r.ctx.Done():
			return
		}
	}
}

// moveRows adds rows to the core's audit log and, once that is committed, removes them from the outbox.
func (r *termRunner) moveRows(rows []event.Audit) error {
	ctx, cancel := context.WithTimeout(r.ctx, auditTimeout)
	defer cancel()
	if _, err := r.s.ask(ctx, core.AuditRequested{Rows: rows}); err != nil {
		return err
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return r.s.opt.Audits.TakeAudit(ctx, ids)
}

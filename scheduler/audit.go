package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// AuditOutbox has audit rows of changes outside of the scheduler, such as those of users; each row is written with its
// change. The leader moves them to its own rows (rule A1). Its methods may be called concurrently.
type AuditOutbox interface {
	// PendingAudit returns the waiting rows, each with an id of its own. It does no I/O.
	PendingAudit() []event.Audit
	// TakeAudit removes the rows with these ids, which the leader has committed. If it fails, the leader takes the
	// rows again, which has no effect.
	TakeAudit(ctx context.Context, ids []string) error
}

const (
	// auditCheckInterval is the interval at which the leader looks for waiting rows.
	auditCheckInterval = time.Second
	// auditTimeout bounds each try to take rows.
	auditTimeout = 10 * time.Second
)

// moveAudits moves rows from the outbox into the core until the term ends.
func (r *termRunner) moveAudits() {
	var failed bool // set once a failure was logged
	for {
		if rows := r.s.opt.Audits.PendingAudit(); len(rows) > 0 {
			err := r.moveAudit(rows)
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

// moveAudit makes the core keep rows and, once that is committed, removes them from the outbox.
func (r *termRunner) moveAudit(rows []event.Audit) error {
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

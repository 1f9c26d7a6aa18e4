package scheduler

import (
	"context"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// AuditOutbox has rows of changes that are made beside the scheduler, each written with its change, such as those of
// users. The leader moves them among its own (rule A1). Its methods may be called concurrently.
type AuditOutbox interface {
	// PendingAudit are the rows that wait, each with an id of its own. It asks nobody.
	PendingAudit() []event.Audit
	// TakeAudit forgets the rows of these ids, which the leader has. Until it has, the leader takes them again, to no
	// effect.
	TakeAudit(ctx context.Context, ids []string) error
}

const (
	// auditLook is how often the leader looks whether rows wait.
	auditLook = time.Second
	// auditPatience bounds how long it tries to take them.
	auditPatience = 10 * time.Second
)

// takeAudits moves rows from the outbox into the core until the term ends.
func (r *termRunner) takeAudits() {
	var failed bool // and was logged
	for {
		if rows := r.s.opt.Audits.PendingAudit(); len(rows) > 0 {
			err := r.takeAudit(rows)
			if err != nil && !failed && r.ctx.Err() == nil {
				r.s.opt.Logger.Warn("audit rows not taken yet: they wait where their changes are, and are tried again",
					"rows", len(rows), "error", err)
			}
			failed = err != nil
		}
		select {
		case <-time.After(auditLook):
		case <-r.ctx.Done():
			return
		}
	}
}

// takeAudit has the core keep rows, and once that is committed the outbox forget them.
func (r *termRunner) takeAudit(rows []event.Audit) error {
	ctx, cancel := context.WithTimeout(r.ctx, auditPatience)
	defer cancel()
	if _, err := r.s.ask(ctx, func(token uint64) core.Request {
		return core.AuditRequested{Token: token,
			Rows: rows}
	}); err != nil {
		return err
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return r.s.opt.Audits.TakeAudit(ctx, ids)
}

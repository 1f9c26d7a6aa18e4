package database

import (
	"context"
	"fmt"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// storedAudit is a row of AUDIT_LOG.
type storedAudit struct {
	ID         string      `db:"id"`
	Name       string      `db:"actor_name"`
	Kind       string      `db:"actor_kind"`
	From       string      `db:"actor_address"`
	Action     string      `db:"action"`
	Target     string      `db:"target"`
	TargetName string      `db:"target_name"`
	App        string      `db:"app_name"`
	Before     *string     `db:"before_value"`
	After      *string     `db:"after_value"`
	Time       search.Time `db:"creation_time"`
}

const auditColumns = "id, actor_name, actor_kind, actor_address, action, target, target_name, app_name, before_value, after_value, creation_time"

// Audits lists audit rows, newest first. Only q.May knows which apps the caller may see, so Audits reads pages until it
// has enough rows that q.May allows, or until there are no more.
func (d *DB) Audits(ctx context.Context, q search.Audits) ([]event.Audit, error) {
	list, limit := []event.Audit{}, q.Limit
	for {
		page, err := d.auditPage(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if (q.May == nil || q.May(page[i].App)) && len(list) < limit {
				list = append(list, page[i])
			}
		}
		if len(page) < q.Limit || len(list) == limit {
			return list, nil
		}
		q.Before, q.BeforeID = page[len(page)-1].Time, page[len(page)-1].ID
	}
}

func (d *DB) auditPage(ctx context.Context, q search.Audits) ([]event.Audit, error) {
	rows, err := selectAll[storedAudit](ctx, d, listAudits(q))
	if err != nil {
		return nil, fmt.Errorf("read AUDIT_LOG: %w", err)
	}
	list := make([]event.Audit, len(rows))
	for i, r := range rows {
		list[i] = event.Audit{ID: r.ID, Time: r.Time.Time,
			Actor:  event.Actor{Name: r.Name, Kind: r.Kind, From: r.From},
			Action: r.Action, Target: r.Target, TargetName: r.TargetName, App: r.App, Before: value(r.Before),
			After: value(r.After)}
	}
	return list, nil
}

// listAudits returns the query for audit rows.
func listAudits(q search.Audits) clause {
	action, target := "action", "target"
	if q.TargetName != "" {
		// Few rows match the name. COALESCE keeps the database from using the index of another column.
		action, target = "COALESCE(action, '')", "COALESCE(target, '')"
	}
	match := and(equal("actor_name", q.Who), equal("target_name", q.TargetName), equal(action, q.Action),
		equal(target, q.Target), equal("app_name", q.App), since("creation_time", q.From),
		until("creation_time", q.Until), following("creation_time", q.Before, q.BeforeID))
	return pageOf("AUDIT_LOG", auditColumns, match, "creation_time DESC, id DESC", 0, q.Limit)
}

package config

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Targets of audit rows about changes of configuration.
const (
	targetApp = "app"
	// TargetJob is the target of rows about a job.
	TargetJob = "job"
)

// AuditOf returns the audit rows of changes of configuration that are about to be applied, by a request or an external
// edit. It must be called before they are applied, because it compares them with the present configuration. A change
// without a difference gives no row.
func (k *Set) AuditOf(actor event.Actor, changes ...step.Event) (rows []event.Audit) {
	for _, e := range changes {
		switch e := e.(type) {
		case AppChanged:
			row := event.Audit{Actor: actor, Target: targetApp, TargetName: e.Name, App: e.Name}
			if e.MarkOnly {
				rows = append(rows, k.auditOfMark(row, store.PathAppDisabled, markFor(e.Disabled, false))...)
				continue
			}
			var was *app.Config
			if a := k.apps[e.Name]; a != nil {
				was = &a.cfg
			}
			rows = append(rows, auditOfDocument(row, auditedOf(was), auditedOf(e.Config))...)
		case JobChanged:
			row := event.Audit{Actor: actor, Target: TargetJob, TargetName: e.Name, App: k.AppNameOf(e.Name)}
			if e.MarkOnly {
				rows = append(rows, k.auditOfMark(row, store.PathJobDisabled, markFor(e.Disabled, e.Shutdown))...)
				continue
			}
			if e.Config != nil {
				row.App = e.Config.AppName
			}
			var was *jobs.Config
			if j := k.jobs[e.Name]; j != nil {
				was = j.cfg
			}
			rows = append(rows, auditOfDocument(row, auditedOf(was), auditedOf(e.Config))...)
		case MarkChanged:
			dir, name := store.Split(e.Path)
			row := event.Audit{Actor: actor, Target: targetApp, TargetName: name, App: name}
			if dir == store.PathJobDisabled {
				row.Target, row.App = TargetJob, k.AppNameOf(name)
			}
			rows = append(rows, k.auditOfMark(row, dir, markFor(e.Disabled, e.Shutdown))...)
		}
	}
	return rows
}

// AppNameOf returns the name of the app of a job, "" if the job has no document.
func (k *Set) AppNameOf(job string) string {
	if j := k.jobs[job]; j != nil && j.cfg != nil {
		return j.cfg.AppName
	}
	return ""
}

// auditedOf returns a document of an app or a job for an audit row, nil for none.
func auditedOf[C interface{ WithoutSecrets() C }](cfg *C) *audited {
	if cfg == nil {
		return nil
	}
	return &audited{cfg, (*cfg).WithoutSecrets()}
}

// auditOfDocument returns the row of a registered, updated or removed document; none if nothing differs.
func auditOfDocument(row event.Audit, was, is *audited) []event.Audit {
	switch {
	case is == nil:
		row.Action, row.Before = row.Target+".delete", was.whole()
	case was == nil:
		row.Action, row.After = row.Target+".register", is.whole()
	default:
		var different bool
		if row.Before, row.After, different = was.difference(is); !different {
			return nil
		}
		row.Action = row.Target + ".update"
	}
	return []event.Audit{row}
}

// auditOfMark returns the row of a changed disabled mark; none if the mark stays the same.
func (k *Set) auditOfMark(row event.Audit, dir string, becomes Mark) []event.Audit {
	was := k.marked[store.Under(dir, row.TargetName)]
	if was == becomes {
		return nil
	}
	actions := map[Mark]string{notMarked: ".enable", MarkedDisabled: ".disable", markedShutdown: ".shutdown"}
	row.Action, row.Before, row.After = row.Target+actions[becomes], auditedMark(was), auditedMark(becomes)
	return []event.Audit{row}
}

// auditedMark encodes a disabled mark for an audit row.
func auditedMark(m Mark) string {
	return string(store.Encode(struct {
		Disabled bool `json:"disabled"`
		Shutdown bool `json:"shutdown,omitempty"`
	}{m.Disables(), m == markedShutdown}))
}

package core

import (
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Kinds of things that rows tell of.
const (
	auditApp       = "app"
	auditJob       = "job"
	auditExecution = "execution"
	auditTask      = "task"
	auditCluster   = "cluster"
)

// byRegistry is whoever has edited the registry beside us.
var byRegistry = event.Actor{Kind: "registry"}

// auditOf are the rows of changes of configuration that are about to be taken, whoever makes them. What changes nothing has none.
func (k *configuration) auditOf(by event.Actor, changes ...Event) (rows []event.Audit) {
	for _, e := range changes {
		switch e := e.(type) {
		case AppChanged:
			row := event.Audit{Actor: by, Target: auditApp, TargetName: e.Name, App: e.Name}
			if e.MarkOnly {
				rows = append(rows, k.auditOfMark(row, store.PathAppDisabled, markWhen(e.Disabled, false))...)
				continue
			}
			var was *app.Config
			if a := k.apps[e.Name]; a != nil {
				was = &a.cfg
			}
			rows = append(rows, auditOfDocument(row, auditedApp(was), auditedApp(e.Config))...)
		case JobChanged:
			row := event.Audit{Actor: by, Target: auditJob, TargetName: e.Name, App: k.appNameOf(e.Name)}
			if e.MarkOnly {
				rows = append(rows, k.auditOfMark(row, store.PathJobDisabled, markWhen(e.Disabled, e.Shutdown))...)
				continue
			}
			if e.Config != nil {
				row.App = e.Config.AppName
			}
			var was *jobs.Config
			if j := k.jobs[e.Name]; j != nil {
				was = j.cfg
			}
			rows = append(rows, auditOfDocument(row, auditedJob(was), auditedJob(e.Config))...)
		case MarkChanged:
			dir, name := store.Split(e.Path)
			row := event.Audit{Actor: by, Target: auditApp, TargetName: name, App: name}
			if dir == store.PathJobDisabled {
				row.Target, row.App = auditJob, k.appNameOf(name)
			}
			rows = append(rows, k.auditOfMark(row, dir, markWhen(e.Disabled, e.Shutdown))...)
		}
	}
	return rows
}

// appNameOf is the app of a job, "" where it is not known.
func (k *configuration) appNameOf(job string) string {
	if j := k.jobs[job]; j != nil && j.cfg != nil {
		return j.cfg.AppName
	}
	return ""
}

func auditedApp(cfg *app.Config) *audited {
	if cfg == nil {
		return nil
	}
	return &audited{cfg, cfg.WithoutSecrets()}
}

func auditedJob(cfg *jobs.Config) *audited {
	if cfg == nil {
		return nil
	}
	return &audited{cfg, cfg.WithoutSecrets()}
}

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

// auditOfMark is the row of a disabled mark that becomes another.
func (k *configuration) auditOfMark(row event.Audit, dir string, becomes mark) []event.Audit {
	was := k.marked[store.Under(dir, row.TargetName)]
	if was == becomes {
		return nil
	}
	actions := map[mark]string{notMarked: ".enable", markedDisabled: ".disable", markedShutdown: ".shutdown"}
	row.Action, row.Before, row.After = row.Target+actions[becomes], auditedMark(was), auditedMark(becomes)
	return []event.Audit{row}
}

func auditedMark(m mark) string {
	return string(store.Encode(struct {
		Disabled bool `json:"disabled"`
		Shutdown bool `json:"shutdown,omitempty"`
	}{m.disables(), m == markedShutdown}))
}

// triggered is what a trigger has made, with what was set for it alone.
type triggered struct {
	Execution string `json:"execution"`
	Repeats   string `json:"repeats,omitempty"`
	jobs.Overrides
}

func (c *Core) auditTrigger(t *TriggerRequested, of jobs.Config, id string) {
	c.audited(event.Audit{Actor: t.Actor, Action: "job.trigger", Target: auditJob, TargetName: t.Job, App: c.config.appNameOf(t.Job),
		After: (&audited{shown: triggered{id, t.Again, t.Overrides.WithoutSecrets(of)}}).whole()})
}

func (c *Core) auditPause(p *PauseRequested) {
	row := event.Audit{Actor: p.Actor, Action: "job.resume", Target: auditJob, TargetName: p.Job, App: c.config.appNameOf(p.Job), Before: `{"paused":true}`, After: `{"paused":false}`}
	if p.Paused {
		row.Action, row.Before, row.After = "job.pause", row.After, row.Before
	}
	c.audited(row)
}

// auditKill records that the end of an execution, or of one of its tasks, is wanted.
func (c *Core) auditKill(by event.Actor, e *executions.Execution, target, name string, state executions.State) {
	row := event.Audit{Actor: by, Action: target + ".kill", Target: target, TargetName: name, Before: string(store.Encode(struct {
		Job   string           `json:"job"`
		State executions.State `json:"state"`
	}{e.Job(), state}))}
	if a := c.config.appOf(e); a != nil {
		row.App = a.name
	}
	c.audited(row)
}

func (c *Core) auditForget(by event.Actor, o *orphans.Orphan) {
	c.audited(event.Audit{Actor: by, Action: "task.forget", Target: auditTask, TargetName: o.TaskID, App: c.config.appNameOf(o.Job), Before: string(store.Encode(struct {
		Job   string `json:"job"`
		Agent string `json:"agent"`
	}{o.Job, o.Agent}))})
}

func (c *Core) auditReconcile(r *ReconcileRequested) {
	what := "implicit"
	if r.Explicit {
		what = "explicit"
	}
	c.audited(event.Audit{Actor: r.Actor, Action: "cluster.reconcile", Target: auditCluster, TargetName: what})
}

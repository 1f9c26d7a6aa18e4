package core

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Kinds of things that rows tell of.
const (
	auditExecution = "execution"
	auditTask      = "task"
	auditCluster   = "cluster"
)

// byRegistry is whoever has edited the registry beside us.
var byRegistry = event.Actor{Kind: "registry"}

// triggered is what a trigger has made, with what was set for it alone.
type triggered struct {
	Execution string `json:"execution"`
	Repeats   string `json:"repeats,omitempty"`
	jobs.Overrides
}

func (c *Core) auditTrigger(t *TriggerRequested, of jobs.Config, id string) {
	c.audited(event.Audit{Actor: t.Actor, Action: "job.trigger", Target: config.TargetJob, TargetName: t.Job, App: c.config.AppNameOf(t.Job),
		After: config.AuditSide(triggered{id, t.Again, t.Overrides.WithoutSecrets(of)})})
}

func (c *Core) auditPause(p *PauseRequested) {
	row := event.Audit{Actor: p.Actor, Action: "job.resume", Target: config.TargetJob, TargetName: p.Job, App: c.config.AppNameOf(p.Job), Before: `{"paused":true}`, After: `{"paused":false}`}
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
	if a := c.config.AppOf(e); a != nil {
		row.App = a.Name()
	}
	c.audited(row)
}

func (c *Core) auditForget(by event.Actor, o *orphans.Orphan) {
	c.audited(event.Audit{Actor: by, Action: "task.forget", Target: auditTask, TargetName: o.TaskID, App: c.config.AppNameOf(o.Job), Before: string(store.Encode(struct {
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

package audit

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

// triggered is what a trigger has made, with what was set for it alone.
type triggered struct {
	Execution string `json:"execution"`
	Repeats   string `json:"repeats,omitempty"`
	jobs.Overrides
}

// auditTrigger tells of an execution that somebody has triggered, with settings of its own, which hold no secrets; repeats is
// the one that it runs again, "" for none.
func (a *Log) Trigger(by event.Actor, job, execution, repeats string, own jobs.Overrides) {
	a.Add(event.Audit{Actor: by, Action: "job.trigger", Target: config.TargetJob, TargetName: job, App: a.config.AppNameOf(job),
		After: config.AuditSide(triggered{execution, repeats, own})})
}

// auditPause tells of a job that somebody has paused, or resumed.
func (a *Log) Pause(by event.Actor, job string, paused bool) {
	row := event.Audit{Actor: by, Action: "job.resume", Target: config.TargetJob, TargetName: job, App: a.config.AppNameOf(job), Before: `{"paused":true}`, After: `{"paused":false}`}
	if paused {
		row.Action, row.Before, row.After = "job.pause", row.After, row.Before
	}
	a.Add(row)
}

// auditKill tells of an execution whose end somebody wants, or of one of its tasks unless task is "". state is that of
// what is to end.
func (a *Log) Kill(by event.Actor, e *executions.Execution, task string, state executions.State) {
	target, name := auditExecution, e.ID()
	if task != "" {
		target, name = auditTask, task
	}
	row := event.Audit{Actor: by, Action: target + ".kill", Target: target, TargetName: name, Before: string(store.Encode(struct {
		Job   string           `json:"job"`
		State executions.State `json:"state"`
	}{e.Job(), state}))}
	if of := a.config.AppOf(e); of != nil {
		row.App = of.Name()
	}
	a.Add(row)
}

// auditForget tells of an orphan that somebody says has ended.
func (a *Log) Forget(by event.Actor, o *orphans.Orphan) {
	a.Add(event.Audit{Actor: by, Action: "task.forget", Target: auditTask, TargetName: o.TaskID, App: a.config.AppNameOf(o.Job), Before: string(store.Encode(struct {
		Job   string `json:"job"`
		Agent string `json:"agent"`
	}{o.Job, o.Agent}))})
}

// auditReconcile tells of a reconciliation that somebody has asked for.
func (a *Log) Reconcile(by event.Actor, explicit bool) {
	what := "implicit"
	if explicit {
		what = "explicit"
	}
	a.Add(event.Audit{Actor: by, Action: "cluster.reconcile", Target: auditCluster, TargetName: what})
}

package audit

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machines"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Targets of audit rows.
const (
	auditExecution = "execution"
	auditTask      = "task"
	auditCluster   = "cluster"
	auditMachine   = "machine"
)

// triggered is the content of a row about a trigger: the execution that it made, and the parameters that were set for
// it alone.
type triggered struct {
	Execution string `json:"execution"`
	Repeats   string `json:"repeats,omitempty"`
	jobs.Overrides
}

// Trigger records that a user triggered an execution of a job with parameters of its own, which must not contain
// secrets. repeats is the execution that it runs again, "" for none.
func (a *Log) Trigger(actor event.Actor, job, execution, repeats string, own jobs.Overrides) {
	a.Add(event.Audit{Actor: actor, Action: "job.trigger", Target: config.TargetJob, TargetName: job,
		App: a.config.AppNameOf(job), After: config.AuditSide(triggered{execution, repeats, own})})
}

// Pause records that a user paused or resumed a job.
func (a *Log) Pause(actor event.Actor, job string, paused bool) {
	row := event.Audit{Actor: actor, Action: "job.resume", Target: config.TargetJob, TargetName: job,
		App: a.config.AppNameOf(job), Before: `{"paused":true}`, After: `{"paused":false}`}
	if paused {
		row.Action, row.Before, row.After = "job.pause", row.After, row.Before
	}
	a.Add(row)
}

// Kill records that a user requested the end of an execution or, unless task is "", of one of its tasks. state is the
// state of the execution or task before that.
func (a *Log) Kill(actor event.Actor, e *executions.Execution, task string, state executions.State) {
	target, name := auditExecution, e.ID()
	if task != "" {
		target, name = auditTask, task
	}
	row := event.Audit{Actor: actor, Action: target + ".kill", Target: target, TargetName: name,
		Before: string(store.Encode(struct {
			Job   string           `json:"job"`
			State executions.State `json:"state"`
		}{e.Job(), state}))}
	if of := a.config.AppOf(e); of != nil {
		row.App = of.Name()
	}
	a.Add(row)
}

// Forget records that a user declared a task as ended.
func (a *Log) Forget(actor event.Actor, task, job, agent string) {
	a.Add(event.Audit{Actor: actor, Action: "task.forget", Target: auditTask, TargetName: task,
		App: a.config.AppNameOf(job), Before: string(store.Encode(struct {
			Job   string `json:"job"`
			Agent string `json:"agent"`
		}{job, agent}))})
}

// cordoned is the content of a row about a machine.
type cordoned struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until,omitzero"`
}

func cordonSide(m machines.Mark) string { return string(store.Encode(cordoned{m.Reason, m.Until})) }

// Cordon records that a user cordoned a machine, or changed its cordon. If wasCordoned is set, was is the former
// cordon.
func (a *Log) Cordon(actor event.Actor, machine string, was machines.Mark, wasCordoned bool, now machines.Mark) {
	row := event.Audit{Actor: actor, Action: "machine.cordon", Target: auditMachine, TargetName: machine,
		After: cordonSide(now)}
	if wasCordoned {
		row.Before = cordonSide(was)
	}
	a.Add(row)
}

// Drain records that a user drains a machine. If wasCordoned is set, was is the former cordon. after is the time after
// which the remaining tasks are stopped; 0 for never.
func (a *Log) Drain(
	actor event.Actor, machine string, was machines.Mark, wasCordoned bool, now machines.Mark, after time.Duration,
) {
	row := event.Audit{Actor: actor, Action: "machine.drain", Target: auditMachine, TargetName: machine,
		After: string(store.Encode(struct {
			cordoned
			DeadlineSeconds int64 `json:"deadlineSeconds,omitempty"`
		}{cordoned{now.Reason, now.Until}, int64(after / time.Second)}))}
	if wasCordoned {
		row.Before = cordonSide(was)
	}
	a.Add(row)
}

// Uncordon records that a user ended the cordon of a machine.
func (a *Log) Uncordon(actor event.Actor, machine string, was machines.Mark) {
	a.Add(event.Audit{Actor: actor, Action: "machine.uncordon", Target: auditMachine, TargetName: machine,
		Before: cordonSide(was)})
}

// Dead records that a user declared a machine dead, and how many attempts were thereby lost and orphans forgotten.
func (a *Log) Dead(actor event.Actor, machine, why string, lost, forgotten int) {
	a.Add(event.Audit{Actor: actor, Action: "machine.dead", Target: auditMachine, TargetName: machine,
		After: string(store.Encode(struct {
			Reason    string `json:"reason,omitempty"`
			Lost      int    `json:"lost"`
			Forgotten int    `json:"forgotten"`
		}{why, lost, forgotten}))})
}

// Reconcile records that a user requested a reconciliation; explicit says that it names each task.
func (a *Log) Reconcile(actor event.Actor, explicit bool) {
	mode := "implicit"
	if explicit {
		mode = "explicit"
	}
	a.Add(event.Audit{Actor: actor, Action: "cluster.reconcile", Target: auditCluster, TargetName: mode})
}

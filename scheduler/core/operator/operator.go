// Package operator carries out the requests of users that change no document: triggers, kills, pauses, statements that
// a task has ended or a machine is dead, cordons and drains of machines, and reconciliation. It owns no state. It
// checks each request against the state of the term, calls the transitions of the owners of that state, and adds the
// requester to the audit log. A refused request changes nothing and returns an error that says what to do instead.
package operator

import (
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/attempts"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/reconcile"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Operator carries out requests of users within a step. A refused request changes nothing.
type Operator struct {
	st         *state.State
	audit      *audit.Log
	reconciler reconcile.Reconciler
	attempts   *attempts.Attempts
	// executionNotFound makes the error for an id that names no kept execution.
	executionNotFound func(id string) *problem.Error
}

// New makes an Operator. notFound makes the error for an id that names no kept execution.
func New(
	s *state.State, a *audit.Log, r reconcile.Reconciler, at *attempts.Attempts,
	notFound func(id string) *problem.Error,
) *Operator {
	return &Operator{st: s, audit: a, reconciler: r, attempts: at, executionNotFound: notFound}
}

// Trigger makes an execution now and returns its id, or returns why the request is refused. An accepted trigger is
// never dropped (rule F5). With a Key that was used before, Trigger returns the id that the earlier request got. The
// caller may publish the id once the step is committed.
func (op *Operator) Trigger(t TriggerRequested) (executionID string, refused *problem.Error) {
	if err := op.fillRerun(&t); err != nil {
		return "", err
	}
	id := executions.ID(t.Job, op.st.Wall()) + "-" + op.st.UUID()[:8]
	if t.Key != "" {
		id = keyedID(t.Job) + store.Fingerprint(t.Key)
		if op.st.Executions.KeyKnown(id) {
			return id, nil
		}
	}
	j := op.st.Config.Job(t.Job)
	if j == nil || j.Config() == nil {
		return "", problem.NoJob(t.Job)
	}
	if j.Config().JobExecutionType == jobs.Daemon {
		// The first sentence is that of ElasticJob-Cloud, because clients may look for it.
		return "", problem.Errorf(problem.Conflict, "daemon_trigger",
			"Daemon job '%s' cannot support trigger. Its cron fires it; to run the same on demand, "+
				"register a TRANSIENT job on app %s.", t.Job, j.Config().AppName)
	}
	if op.st.Config.Paused(j) {
		return "", problem.Errorf(problem.Conflict, "job_paused", "job %q cannot be triggered: %s", t.Job,
			op.st.Config.InactiveReason(j))
	}
	if inactive := op.st.Config.InactiveReason(j); !inactive.IsZero() {
		why := inactive.String()
		// If the app is missing, the reason itself says what to do.
		if j.Mark().Disables() || op.st.Config.App(j.Config().AppName) != nil {
			why += "; enable it first"
		}
		return "", problem.Errorf(problem.Conflict, "job_disabled", "job %q cannot be triggered: %s", t.Job, why)
	}
	if op.st.Draining() {
		return "", problem.Errorf(problem.Unavailable, "stopping",
			"the scheduler is shutting down; try again later")
	}
	t.Overrides = t.Overrides.KeepSecrets(*j.Config())
	if bad := t.Overrides.Check(*j.Config()); len(bad) > 0 {
		err := problem.Errorf(problem.Invalid, "invalid", "this request changed nothing: %v", bad)
		err.Violations = bad
		return "", err
	}
	waiting := 0
	for _, e := range op.st.Executions.Queue(j.Name()) {
		if !e.Launched() && (e.Source() == executions.Triggered || j.Config().Misfire) {
			waiting++
		}
	}
	limit := 1
	if j.Config().Misfire {
		limit = op.st.Opt.MaxQueuedFires
	}
	if waiting >= limit {
		return "", problem.Errorf(problem.Conflict, "trigger_waits",
			"job %q has %s waiting already (GET /api/job/%s/explain gives the reason); trigger it again once that has started", t.Job, problem.Counted(waiting, "execution"), t.Job)
	}
	if t.Key != "" {
		op.st.Executions.KeepKey(id, op.st.Now())
	}
	op.st.Numbers.Triggers++
	e := executions.NewExecution{ID: id, Job: t.Job, Fire: op.st.Wall().Truncate(time.Millisecond),
		Source: executions.Triggered}
	if !t.Overrides.IsZero() {
		e.Overrides, e.OverridesOf, e.OverridesTo = &t.Overrides, j.Config().AppName,
			executions.SecretsTo(&t.Overrides, j.Config())
	}
	op.st.Executions.Enqueue(e)
	op.audit.Trigger(t.Actor, t.Job, id, t.RerunOf, t.Overrides.WithoutSecrets(*j.Config()))
	return id, nil
}

// fillRerun completes a request to run an execution again with the job and the overrides of that execution. It refuses
// the request if the overrides have an env that the caller may not set, or if the job now uses another app or address,
// to which the overrides must not be sent.
func (op *Operator) fillRerun(t *TriggerRequested) *problem.Error {
	if t.RerunOf == "" {
		return nil
	}
	e := op.st.Executions.Find(t.RerunOf)
	if e == nil {
		return op.executionNotFound(t.RerunOf)
	}
	t.Job = e.Job()
	if e.Overrides() == nil {
		return nil
	}
	t.Overrides = *e.Overrides()
	j := op.st.Config.Job(e.Job())
	switch {
	case t.NoEnv && len(t.Overrides.Env) > 0:
		return problem.Errorf(problem.Forbidden, "not_allowed",
			"execution %q had an env of its own, which requires the role admin; POST /api/job/%s/trigger runs the job with its own settings", e.ID(), e.Job())
	case j != nil && j.Config() != nil && e.OverridesMoved(j.Config()):
		return problem.Errorf(problem.Conflict, "job_moved",
			"job %q now uses another app or address, so the settings of execution %q are not sent to it: "+
				"trigger the job with new settings, POST /api/job/%s/trigger", e.Job(), e.ID(), e.Job())
	}
	return nil
}

// keyedID returns the common prefix of the ids of a job's executions that were triggered with an Idempotency-Key.
func keyedID(job string) string { return job + "@key-" }

// Kill ends a task or an execution on request (rule K1), or returns why there is nothing to end. The request is
// committed before it is answered. The ended task or execution is neither retried nor failed over, and the job's next
// fire runs as usual.
func (op *Operator) Kill(k KillRequested) *problem.Error {
	if k.ExecutionID != "" {
		return op.killExecution(k.ExecutionID, k.Actor)
	}
	return op.killTask(k.TaskID, k.Actor)
}

func (op *Operator) killExecution(id string, actor event.Actor) *problem.Error {
	e := op.st.Executions.Get(id)
	if e == nil {
		if old := op.st.Executions.EndedByID(id); old != nil {
			return problem.Errorf(problem.Conflict, "execution_ended",
				"execution %q has ended as %s: there is nothing to kill", id, old.State())
		}
		return problem.Errorf(problem.NotFound, "execution_not_found",
			"there is no execution %q; GET /api/executions?state=WAITING,RUNNING lists those that can be killed", id)
	}
	op.st.Note(step.Note{Kind: step.NoteKillRequested, Job: e.Job(), Execution: id})
	op.st.NeedChanged()
	if e.GoesOn() {
		op.audit.Kill(actor, e, "", e.State())
	}
	op.st.Executions.Kill(e, reason.Of(reason.KilledOnRequest))
	return nil
}

func (op *Operator) killTask(id string, actor event.Actor) *problem.Error {
	ref, found := op.st.Executions.Task(id)
	if !found {
		if old := op.st.Executions.EndedRef(id); old.Exec != nil {
			return taskHasEnded(id, old.Shard().State())
		}
		return op.noTaskToKill(id)
	}
	e, s := ref.Exec, ref.Shard()
	if !s.Live() {
		return taskHasEnded(id, s.State())
	}
	op.st.Note(step.Note{Kind: step.NoteKillRequested, Job: e.Job(), Execution: e.ID(), Task: id})
	if !s.Kill().Is(reason.KilledOnRequest) || s.KillSince().IsZero() || s.Drain() {
		op.audit.Kill(actor, e, id, s.State())
	}
	why := reason.Of(reason.KilledOnRequest)
	op.st.Executions.WantKill(ref, executions.WantedKill{Why: why})
	return nil
}

func taskHasEnded(id string, state executions.State) *problem.Error {
	return problem.Errorf(problem.Conflict, "task_ended", "task %q has ended as %s: there is nothing to kill", id,
		state)
}

// noTaskToKill returns the error for a task that cannot be killed, because it is neither the task of an open execution
// nor the last task of a shard of an ended one.
func (op *Operator) noTaskToKill(id string) *problem.Error {
	if o, found := op.st.Orphans.Get(id); found {
		return problem.Errorf(problem.Conflict, "task_orphaned",
			"task %q was abandoned: it is killed as soon as agent %s is seen with it; POST /api/task/%s/forget if you know that it has ended", id, o.Agent, id)
	}
	if parsed, err := jobs.ParseTaskID(id); err == nil && op.st.Config.Job(parsed.Job) != nil {
		for _, e := range op.st.Executions.Queue(parsed.Job) {
			for i := range e.NumShards() {
				if s := e.Shard(i); s.TaskID() == id {
					return problem.Errorf(problem.Conflict, "task_ended",
						"task %q has ended, and its shard waits to be run again: POST /api/execution/%s/kill ends the whole run", id, e.ID())
				}
			}
		}
	}
	return problem.Errorf(problem.NotFound, "task_not_found",
		"there is no task %q; GET /api/job/tasks/running lists those that can be killed", id)
}

// Pause pauses a job or resumes it (rule F10), and reports whether that changes anything. A pause is part of the job's
// record. It stops new fires and the launch of waiting executions, and does not touch launched ones. The caller must
// apply the changed state of the job, so that after a pause fires are made from then on (rule F2).
func (op *Operator) Pause(p PauseRequested) (changed bool, refused *problem.Error) {
	j := op.st.Config.Job(p.Job)
	switch {
	case j == nil || j.Config() == nil:
		return false, problem.NoJob(p.Job)
	case j.Mark().Disables():
		verb := "paused"
		if !p.Paused {
			verb = "resumed"
		}
		return false, problem.Errorf(problem.Conflict, "job_disabled",
			"job %q is disabled and can't be %s: POST /api/job/%s/enable lets it run again", j.Name(), verb, j.Name())
	case j.Stored().Paused == p.Paused:
		return false, nil
	}
	op.st.Config.SetPaused(j, p.Paused)
	op.audit.Pause(p.Actor, p.Job, p.Paused)
	op.st.NeedChanged()
	return true, nil
}

// Reconcile asks the master about all live tasks and orphans if e is explicit, otherwise about all tasks that the
// master knows. It is refused without a subscription.
func (op *Operator) Reconcile(e ReconcileRequested) *problem.Error {
	if !op.st.Subscription.Open() {
		return problem.Errorf(problem.Unavailable, "not_subscribed",
			"there is no subscription to the cluster; every subscription begins with reconciliation")
	}
	op.audit.Reconcile(e.Actor, e.Explicit)
	if e.Explicit {
		op.reconciler.AskAbout(func(*executions.Shard) bool { return true })
	} else {
		op.st.Call(step.CallReconcile{})
	}
	return nil
}

// Forget removes an orphan because an operator states that it has ended (rule E5), which frees the shard that it
// blocks. It also ends an unreachable exclusive task without a lease, whose end nothing else reports (rule K5). It is
// refused for any other task.
func (op *Operator) Forget(f ForgetRequested) *problem.Error {
	o, found := op.st.Orphans.Get(f.TaskID)
	if ref, live := op.st.Executions.Task(f.TaskID); !found && live {
		job, agent := ref.Exec.Job(), ref.Shard().Agent()
		if op.attempts.ForgetUnleased(f.TaskID, reason.EndConfirmed(f.Actor.Name)) {
			op.audit.Forget(f.Actor, f.TaskID, job, agent)
			return nil
		}
	}
	if !found {
		return problem.Errorf(problem.NotFound, "task_not_abandoned",
			"task %q was not abandoned; GET /api/job/{jobName}/explain names those that were", f.TaskID)
	}
	op.audit.Forget(f.Actor, o.TaskID, o.Job, o.Agent)
	op.st.Orphans.Remove(f.TaskID)
	return nil
}

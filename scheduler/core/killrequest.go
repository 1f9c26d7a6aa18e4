package core

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// killRequested ends a task or an execution because somebody asked for it (rule K1). The wish is committed before it is
// answered; what it is about is neither retried nor failed over, and the job's next fire runs as usual.
func (c *Core) killRequested(k KillRequested) {
	var err *problem.Error
	if k.ExecutionID != "" {
		err = c.killExecutionByID(k.ExecutionID, k.Actor)
	} else {
		err = c.killTaskByID(k.TaskID, k.Actor)
	}
	c.reply(Reply{Token: k.Token, Err: err})
}

func (c *Core) killExecutionByID(id string, by event.Actor) *problem.Error {
	e := c.executions.Get(id)
	if e == nil {
		if old := c.executions.EndedByID(id); old != nil {
			return problem.Errorf(problem.Conflict, "execution_ended", "execution %q has ended as %s: there is nothing of it to kill", id, old.State())
		}
		return problem.Errorf(problem.NotFound, "execution_not_found", "there is no execution %q; GET /api/executions?state=WAITING,RUNNING lists those that can be killed", id)
	}
	c.Note(step.Note{Kind: step.NoteKillRequested, Job: e.Job(), Execution: id})
	c.NeedChanged()
	if e.GoesOn() {
		c.audit.Kill(by, e, "", e.State())
	}
	c.executions.Kill(e, reason.Of(reason.KilledOnRequest))
	return nil
}

func (c *Core) killTaskByID(id string, by event.Actor) *problem.Error {
	ref, known := c.executions.Task(id)
	if !known {
		if old := c.executions.MustEndedTask(id); old.Exec != nil {
			return taskHasEnded(id, old.Shard().State())
		}
		return c.noTaskToKill(id)
	}
	e, s := ref.Exec, ref.Shard()
	if !s.Live() {
		return taskHasEnded(id, s.State())
	}
	c.Note(step.Note{Kind: step.NoteKillRequested, Job: e.Job(), Execution: e.ID(), Task: id})
	if !s.Kill().Is(reason.KilledOnRequest) || s.KillSince().IsZero() || s.Drain() {
		c.audit.Kill(by, e, id, s.State())
	}
	why := reason.Of(reason.KilledOnRequest)
	c.executions.WantKill(ref, executions.WantedKill{Why: why})
	return nil
}

func taskHasEnded(id string, state executions.State) *problem.Error {
	return problem.Errorf(problem.Conflict, "task_ended", "task %q has ended as %s: there is nothing to kill", id, state)
}

// noTaskToKill says what is known of a task that is neither on the cluster nor among the ended ones.
func (c *Core) noTaskToKill(id string) *problem.Error {
	if o, orphaned := c.orphans.Get(id); orphaned {
		return problem.Errorf(problem.Conflict, "task_orphaned", "task %q was abandoned: it is killed as soon as agent %s is seen with it; POST /api/task/%s/forget if you know that it has ended", id, o.Agent, id)
	}
	if parsed, err := jobs.ParseTaskID(id); err == nil && c.config.Job(parsed.Job) != nil {
		for _, e := range c.executions.Queue(parsed.Job) {
			for i := range e.NumShards() {
				if s := e.Shard(i); s.TaskID() == id {
					return problem.Errorf(problem.Conflict, "task_ended", "task %q has ended, and its shard waits to be run again: POST /api/execution/%s/kill ends the whole run", id, e.ID())
				}
			}
		}
	}
	return problem.Errorf(problem.NotFound, "task_not_found", "there is no task %q; GET /api/job/tasks/running lists those that can be killed", id)
}

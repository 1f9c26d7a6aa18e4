package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
)

// Sandboxes lists where the executors of an app keep their files, by executor id, or
// returns an *Error.
func (c *Core) Sandboxes(app string) ([]SandboxView, error) {
	if c.config.App(app) == nil {
		return nil, problem.NoApp(app)
	}
	out := []SandboxView{}
	for _, x := range c.executors.Sorted() {
		if x.App() != app {
			continue
		}
		v := SandboxView{Path: x.Sandbox()}
		v.Note, v.NoteCode, v.NoteArgs = inAnswer(c.agents.ClockNote(x.Agent()))
		if v.Path == "" {
			v.Path = sandbox.LatestSandbox(x.Info().Framework, x.ID())
		}
		if a := c.agents.Get(x.Agent()); a != nil {
			v.Hostname = a.Host()
		}
		if !x.ReportedAt().IsZero() {
			at := c.Shown(x.ReportedAt()).UTC().Truncate(time.Millisecond)
			v.LastReport = &at
		}
		out = append(out, v)
	}
	return out, nil
}

// LogPlace says where a task's output is.
func (c *Core) LogPlace(taskID string) (LogPlace, error) {
	if ref, ok := c.executions.Task(taskID); ok {
		return c.placeOf(ref.Shard())
	}
	if ref, ok := c.executions.EndedTask(taskID); ok && ref.Shard().Dir() != "" {
		return c.placeOf(ref.Shard())
	}
	return c.earlierPlace(taskID)
}

// placeOf is where the output of a shard's present attempt is.
func (c *Core) placeOf(s *executions.Shard) (LogPlace, error) {
	switch {
	case s.State().Terminal() && (s.Dir() == "" || s.Start().IsZero()):
		return LogPlace{}, noOutput(s)
	case s.Dir() == "":
		return LogPlace{}, problem.Errorf(problem.Unavailable, "no_output_yet", "task %q has no output yet: its process has not started", s.TaskID())
	}
	return LogPlace{AgentURL: s.AgentURL(), Dir: c.places.Output(s), Live: s.Live()}, nil
}

func noOutput(s *executions.Shard) error {
	return problem.Errorf(problem.LogGone, "no_output", "task %q ended before it had output: %s", s.TaskID(), s.Cause())
}

// earlierPlace is where the output of an attempt is that ended while its shard went on.
func (c *Core) earlierPlace(taskID string) (place LogPlace, err error) {
	err = problem.Errorf(problem.NotFound, "task_not_found", "there is no task %q; of each shard the last attempt, and the last %d before it, are kept as long as its execution: %s", taskID, executions.MostEarlier, c.keptText())
	id, unreadable := jobs.ParseTaskID(taskID)
	if unreadable != nil {
		return place, err
	}
	c.eachExecution(id.Job, func(e *executions.Execution) {
		if id.Item >= e.NumShards() {
			return
		}
		s := e.Shard(id.Item)
		if s.TaskID() == taskID {
			err = noOutput(s)
		}
		for _, a := range s.Earlier() {
			if a.TaskID == taskID {
				place, err = LogPlace{AgentURL: a.AgentURL, Dir: a.Path}, nil
				return
			}
		}
	})
	return place, err
}

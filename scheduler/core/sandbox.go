package core

import (
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/wire"
)

// An agent serves a sandbox at its absolute folder, which names one run of an executor,
//
//	<work_dir>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>
//
// and at a virtual path, /frameworks/<framework>/executors/<executor>/runs/latest, which names the newest run. A virtual
// path with a container id is answered with 404. An executor's id is not used again once its end is known (rule X1),
// but a launch that was sent before that makes the agent start the executor a second time, and "latest" then leads to
// the output of other tasks. So the absolute folder is kept with each attempt, less what the attempt's record has
// anyway: it would be half as long again.

// sandboxRuns is the part of a sandbox's path between the agent's work folder and the container id.
func sandboxRuns(agent, framework, executorID string) string {
	return "/slaves/" + agent + "/frameworks/" + framework + "/executors/" + executorID + "/runs/"
}

// latestSandbox is the virtual path of the newest run of an executor, for one that has reported no folder.
func latestSandbox(framework, executorID string) string {
	return fmt.Sprintf("/frameworks/%s/executors/%s/runs/latest", framework, executorID)
}

// frameworkOf is the framework id that an executor was started under. kept is the one that was written down when it
// stopped being ours.
func (c *Core) frameworkOf(kept, executorID string) string {
	if kept != "" {
		return kept
	}
	if x := c.executors.Get(executorID); x != nil {
		return x.Info().Framework
	}
	return c.subscription.FrameworkID()
}

// learnSandbox keeps where a task writes, and reports whether that was news. A path that is not a run of the attempt's
// own executor is not kept: requests for output must lead nowhere else.
func (c *Core) learnSandbox(ref executions.TaskRef, st *wire.Status) (changed bool) {
	s := ref.Shard()
	changed = c.executions.WritesTo(ref, st.Dir)
	workDir, container, found := strings.Cut(st.Sandbox, sandboxRuns(s.Agent(), c.frameworkOf(s.Framework(), s.Executor()), s.Executor()))
	if !found || container == "" || strings.Contains(container, "/") || !strings.HasPrefix(st.Sandbox, "/") {
		return changed
	}
	changed = c.executions.RanIn(ref, workDir, container) || changed
	if x := c.executors.Get(s.Executor()); x != nil {
		c.executors.ReportedSandbox(x, st.Sandbox)
	}
	return changed
}

// sandboxOf is the sandbox that an attempt ran in, as its agent's files API takes it.
func (c *Core) sandboxOf(s *executions.Shard) string {
	framework := c.frameworkOf(s.Framework(), s.Executor())
	if s.Container() == "" {
		return latestSandbox(framework, s.Executor())
	}
	return s.WorkDir() + sandboxRuns(s.Agent(), framework, s.Executor()) + s.Container()
}

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
			v.Path = latestSandbox(x.Info().Framework, x.ID())
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
	return LogPlace{AgentURL: s.AgentURL(), Dir: c.outputOf(s), Live: s.Live()}, nil
}

// outputOf is where the output of an attempt is, "" if it has none. Where a task has an executor of its own there is no sandbox to find: the cluster's
// driver has said where.
func (c *Core) outputOf(s *executions.Shard) string {
	if s.Executor() == "" || s.Dir() == "" {
		return s.Dir()
	}
	return c.sandboxOf(s) + "/" + s.Dir()
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

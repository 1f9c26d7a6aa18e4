package core

import (
	"fmt"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
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
	if x := c.executors.byID[executorID]; x != nil {
		return x.Info.Framework
	}
	return c.subscription.frameworkID
}

// learnSandbox keeps where a task writes, and reports whether that was news. A path that is not a run of the attempt's
// own executor is not kept: requests for output must lead nowhere else.
func (c *Core) learnSandbox(s *shard, st wire.Status) (changed bool) {
	if st.Dir != "" && s.Dir != st.Dir {
		s.Dir, changed = st.Dir, true
	}
	workDir, container, found := strings.Cut(st.Sandbox, sandboxRuns(s.Agent, c.frameworkOf(s.Framework, s.Executor), s.Executor))
	if !found || container == "" || strings.Contains(container, "/") || !strings.HasPrefix(st.Sandbox, "/") {
		return changed
	}
	if s.WorkDir != workDir || s.Container != container {
		s.WorkDir, s.Container, changed = workDir, container, true
	}
	if x := c.executors.byID[s.Executor]; x != nil && x.Sandbox != st.Sandbox {
		x.Sandbox = st.Sandbox
		c.executors.touch(x)
	}
	return changed
}

// sandboxOf is the sandbox that an attempt ran in, as its agent's files API takes it.
func (c *Core) sandboxOf(s *shard) string {
	framework := c.frameworkOf(s.Framework, s.Executor)
	if s.Container == "" {
		return latestSandbox(framework, s.Executor)
	}
	return s.WorkDir + sandboxRuns(s.Agent, framework, s.Executor) + s.Container
}

// Sandboxes lists where the executors of an app keep their files, by executor id, or
// returns an *Error.
func (c *Core) Sandboxes(app string) ([]SandboxView, error) {
	if c.config.apps[app] == nil {
		return nil, appNotFound(app)
	}
	out := []SandboxView{}
	for _, x := range c.executors.sorted() {
		if x.App != app {
			continue
		}
		v := SandboxView{Path: x.Sandbox, Note: c.clockNote(x.Agent)}
		if v.Path == "" {
			v.Path = latestSandbox(x.Info.Framework, x.Info.ID)
		}
		if a := c.agents.byID[x.Agent]; a != nil {
			v.Hostname = a.host
		}
		if !x.reportedAt.IsZero() {
			at := c.shown(x.reportedAt).UTC().Truncate(time.Millisecond)
			v.LastReport = &at
		}
		out = append(out, v)
	}
	return out, nil
}

// LogPlace says where a task's output is.
func (c *Core) LogPlace(taskID string) (LogPlace, error) {
	ref, live := c.executions.tasks[taskID]
	if !live {
		var ok bool
		if ref, ok = c.executions.ended.tasks[taskID]; !ok {
			ref, ok = c.lastAttempt(taskID)
		}
		if !ok {
			return LogPlace{}, Errorf(NotFound, "task_not_found", "there is no task %q; each shard's last attempt is kept as long as its execution: %s", taskID, c.keptText())
		}
	}
	s := ref.shard()
	if s.Dir == "" || s.State.terminal() && s.Start.IsZero() {
		if s.State.terminal() {
			return LogPlace{}, Errorf(LogGone, "no_output", "task %q ended before it had output: %s", taskID, s.Cause)
		}
		return LogPlace{}, Errorf(Unavailable, "no_output_yet", "task %q has no output yet: its process has not started", taskID)
	}
	return LogPlace{
		AgentURL: s.AgentURL,
		Dir:      c.sandboxOf(s) + "/" + s.Dir,
		Live:     s.live(),
	}, nil
}

// lastAttempt finds a task that has ended while its shard waits for the next attempt.
func (c *Core) lastAttempt(taskID string) (taskRef, bool) {
	id, err := jobs.ParseTaskID(taskID)
	j := c.config.jobs[id.Job]
	if err != nil || j == nil {
		return taskRef{}, false
	}
	for _, e := range j.queue {
		for i := range e.Shards {
			if e.Shards[i].TaskID == taskID {
				return taskRef{e, i}, true
			}
		}
	}
	return taskRef{}, false
}

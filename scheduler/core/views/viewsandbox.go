package views

import (
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
)

// Sandboxes returns where the executors of an app keep their files, sorted by executor id, or a *problem.Error if
// the app is not registered.
func (vs *Views) Sandboxes(app string) ([]SandboxView, error) {
	if vs.st.Config.App(app) == nil {
		return nil, problem.NoApp(app)
	}
	out := []SandboxView{}
	for _, x := range vs.st.Executors.Sorted() {
		if x.App() != app {
			continue
		}
		v := SandboxView{Path: x.Sandbox()}
		v.Note, v.NoteCode, v.NoteArgs = partsOf(vs.st.Agents.ClockNote(x.Agent()))
		if v.Path == "" {
			v.Path = sandbox.LatestSandbox(x.Info().Framework, x.ID())
		}
		if a := vs.st.Agents.Get(x.Agent()); a != nil {
			v.Hostname = a.Host()
		}
		if !x.ReportedAt().IsZero() {
			at := vs.st.Shown(x.ReportedAt()).UTC().Truncate(time.Millisecond)
			v.LastReport = &at
		}
		out = append(out, v)
	}
	return out, nil
}

// LogPlace returns where a task's output is. It returns a *problem.Error if the task is not known, has no output
// yet, or ended without any.
func (vs *Views) LogPlace(taskID string) (LogPlace, error) {
	if ref, ok := vs.st.Executions.Task(taskID); ok {
		return vs.placeOf(ref.Shard())
	}
	if ref, ok := vs.st.Executions.EndedTask(taskID); ok && ref.Shard().Dir() != "" {
		return vs.placeOf(ref.Shard())
	}
	return vs.earlierPlace(taskID)
}

// placeOf returns where the output of a shard's present attempt is.
func (vs *Views) placeOf(s *executions.Shard) (LogPlace, error) {
	switch {
	case s.State().Terminal() && (s.Dir() == "" || s.Start().IsZero()):
		return LogPlace{}, noOutput(s)
	case s.Dir() == "":
		return LogPlace{}, problem.Errorf(problem.Unavailable, "no_output_yet",
			"task %q has no output yet: its process has not started", s.TaskID())
	}
	return LogPlace{AgentURL: s.AgentURL(), Dir: vs.places.Output(s), Live: s.Live()}, nil
}

// noOutput returns the error for an attempt that ended without output.
func noOutput(s *executions.Shard) error {
	return problem.Errorf(problem.LogGone, "no_output", "task %q ended before it had output: %s", s.TaskID(),
		s.Cause())
}

// earlierPlace returns where the output of an attempt is that was followed by another attempt of its shard.
func (vs *Views) earlierPlace(taskID string) (place LogPlace, err error) {
	err = problem.Errorf(problem.NotFound, "task_not_found",
		"there is no task %q; of each shard the last attempt, and the last %d before it, are kept as long as its execution: %s",
		taskID, executions.MaxEarlier, vs.keptText())
	id, invalid := jobs.ParseTaskID(taskID)
	if invalid != nil {
		return place, err
	}
	vs.eachExecution(id.Job, func(e *executions.Execution) {
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

package sandbox

import (
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/wire"
)

// Places says where the output of tasks is.
type Places struct{ *state.State }

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
func LatestSandbox(framework, executorID string) string {
	return fmt.Sprintf("/frameworks/%s/executors/%s/runs/latest", framework, executorID)
}

// frameworkOf is the framework id that an executor was started under. kept is the one that was written down when it
// stopped being ours.
func (p *Places) FrameworkOf(kept, executorID string) string {
	if kept != "" {
		return kept
	}
	if x := p.Executors.Get(executorID); x != nil {
		return x.Info().Framework
	}
	return p.Subscription.FrameworkID()
}

// learnSandbox keeps where a task writes, and reports whether that was news. A path that is not a run of the attempt's
// own executor is not kept: requests for output must lead nowhere else.
func (p *Places) Reported(ref executions.TaskRef, st *wire.Status) (changed bool) {
	s := ref.Shard()
	changed = p.Executions.WritesTo(ref, st.Dir)
	workDir, container, found := strings.Cut(st.Sandbox, sandboxRuns(s.Agent(), p.FrameworkOf(s.Framework(), s.Executor()), s.Executor()))
	if !found || container == "" || strings.Contains(container, "/") || !strings.HasPrefix(st.Sandbox, "/") {
		return changed
	}
	changed = p.Executions.RanIn(ref, workDir, container) || changed
	if x := p.Executors.Get(s.Executor()); x != nil {
		p.Executors.ReportedSandbox(x, st.Sandbox)
	}
	return changed
}

// sandboxOf is the sandbox that an attempt ran in, as its agent's files API takes it.
func (p *Places) Of(s *executions.Shard) string {
	framework := p.FrameworkOf(s.Framework(), s.Executor())
	if s.Container() == "" {
		return LatestSandbox(framework, s.Executor())
	}
	return s.WorkDir() + sandboxRuns(s.Agent(), framework, s.Executor()) + s.Container()
}

// outputOf is where the output of an attempt is, "" if it has none. Where a task has an executor of its own there is no sandbox to find: the cluster's
// driver has said where.
func (p *Places) Output(s *executions.Shard) string {
	if s.Executor() == "" || s.Dir() == "" {
		return s.Dir()
	}
	return p.Of(s) + "/" + s.Dir()
}

// Package sandbox locates the output of tasks: the folders of executors on their agents, and the parts of a path that
// are stored with each attempt. It owns no state: Record passes the reports of executors to packages executions and
// executors, after a check that the path belongs to the attempt's own executor. The package reads no file: requests
// for output go from the API to the agent.
package sandbox

import (
	"fmt"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
)

// Places locates the output of tasks, from the state of a term.
type Places struct{ st *state.State }

// New returns the Places of a state.
func New(st *state.State) Places { return Places{st: st} }

// An agent serves a sandbox at its absolute folder, which names one run of an executor,
//
// 	<work_dir>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container>
//
// and at a virtual path, /frameworks/<framework>/executors/<executor>/runs/latest, which names the newest run. It
// answers a virtual path with a container id with 404. An executor's id is not reused once its end is known (rule X1),
// but a launch that was sent before that makes the agent start the executor a second time, and "latest" then leads to
// the output of other tasks. So the absolute folder is stored with each attempt, without the parts that the attempt's
// record has anyway: with them the record would be half as long again.

// sandboxRuns is the part of a sandbox's path between the agent's work folder and the container id.
func sandboxRuns(agent, framework, executorID string) string {
	return "/slaves/" + agent + "/frameworks/" + framework + "/executors/" + executorID + "/runs/"
}

// LatestSandbox returns the virtual path of the newest run of an executor. It is for an executor that has not reported
// its folder.
func LatestSandbox(framework, executorID string) string {
	return fmt.Sprintf("/frameworks/%s/executors/%s/runs/latest", framework, executorID)
}

// frameworkOf returns the framework id under which an executor was started. stored is the id that was stored with its
// attempt when that framework was removed, or "".
func (p *Places) frameworkOf(stored, executorID string) string {
	if stored != "" {
		return stored
	}
	if x := p.st.Executors.Get(executorID); x != nil {
		return x.Info().Framework
	}
	return p.st.Subscription.FrameworkID()
}

// Record stores where a task writes, as its executor reports it, and returns whether that changed anything. It
// ignores a path that is not a run of the attempt's own executor, so that requests for output cannot lead anywhere
// else.
func (p *Places) Record(ref executions.TaskRef, st *wire.Status) (changed bool) {
	s := ref.Shard()
	changed = p.st.Executions.RecordDir(ref, st.Dir)
	workDir, container, found := strings.Cut(st.Sandbox,
		sandboxRuns(s.Agent(), p.frameworkOf(s.Framework(), s.Executor()), s.Executor()))
	if !found || container == "" || strings.Contains(container, "/") || !strings.HasPrefix(st.Sandbox, "/") {
		return changed
	}
	changed = p.st.Executions.RecordSandbox(ref, workDir, container) || changed
	if x := p.st.Executors.Get(s.Executor()); x != nil {
		p.st.Executors.RecordSandbox(x, st.Sandbox)
	}
	return changed
}

// of returns the sandbox that an attempt ran in, in the form that the files API of its agent expects: the absolute
// folder if it was reported, otherwise the virtual path of the newest run.
func (p *Places) of(s *executions.Shard) string {
	framework := p.frameworkOf(s.Framework(), s.Executor())
	if s.Container() == "" {
		return LatestSandbox(framework, s.Executor())
	}
	return s.WorkDir() + sandboxRuns(s.Agent(), framework, s.Executor()) + s.Container()
}

// Output returns where the output of an attempt is, "" if it has none. A task with its own executor has no sandbox:
// the driver of the cluster has reported the place of its output.
func (p *Places) Output(s *executions.Shard) string {
	if s.Executor() == "" || s.Dir() == "" {
		return s.Dir()
	}
	return p.of(s) + "/" + s.Dir()
}

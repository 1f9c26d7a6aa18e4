package explain

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Core is the source of a Reader; *views.Views implements it. For an object that does not exist it returns a
// *problem.Error.
type Core interface {
	Apps() []views.AppView
	App(name string) (views.AppView, error)
	Sandboxes(app string) ([]views.SandboxView, error)

	Jobs() []views.JobView
	Job(name string) (views.JobView, error)
	CheckJob(ch config.Change) (views.JobCheck, error)
	Explain(job string) (views.Explanation, error)
	FaultyDocuments() []views.FaultyView
	Audits(q search.Audits) []event.Audit

	Executions(f views.ExecutionFilter) ([]views.ExecutionSummary, error)
	Execution(id string) (views.ExecutionView, error)
	Cells(job string, ids []string) map[string][]search.Cell
	RunningTasks() []views.TaskView
	ReadyJobs() []views.ReadyView
	FailoverShards() []views.FailoverView
	LogPlace(taskID string) (views.LogPlace, error)
	LongestKillGrace() time.Duration

	AgentNames() []views.AgentName
	Cluster(agents []string) views.ClusterView
	Agent(id string) (views.AgentDetail, error)
	Schedules() []config.ScheduleView
	Activity(from time.Time) []search.Activity
}

// Reader shows the core at one moment, restricted to a scope. It may be used only within the call to which it was
// passed; its results may be kept. For its methods, objects outside of the scope do not exist.
type Reader struct {
	core  Core
	scope Scope
}

// NewReader makes a Reader of a core that does not change meanwhile. It fails with ErrNotAuthenticated for the zero
// Scope.
func NewReader(c Core, scope Scope) (Reader, error) {
	return Reader{c, scope}, scope.Check()
}

// find returns the object of a kind with that name, if it exists and is covered, otherwise the error Hidden. With a
// scope of all apps it returns the answer of the core.
func find[V any](r Reader, kind, name string, get func(string) (V, error), covered func(*V) bool) (none V, err error) {
	v, err := get(name)
	if !r.scope.all && (err != nil || !covered(&v)) {
		return none, Hidden(kind, name)
	}
	return v, err
}

// SeesApp returns an error for an app that does not exist in the scope. With a scope of all apps, SeesApp and the
// other methods with this prefix never fail, because the answer of the core then has the error.
func (r Reader) SeesApp(name string) error { return sees(r, name, r.App) }

// SeesJob is SeesApp for a job.
func (r Reader) SeesJob(name string) error { return sees(r, name, r.Job) }

// SeesExecution is SeesApp for an execution.
func (r Reader) SeesExecution(id string) error { return sees(r, id, r.Execution) }

// SeesTask is SeesApp for a task, by its job, which its id names. The task itself need not exist.
func (r Reader) SeesTask(id string) error {
	if task, err := jobs.ParseTaskID(id); !r.scope.all && (err != nil || r.SeesJob(task.Job) != nil) {
		return Hidden("task", id)
	}
	return nil
}

// MayPublish refuses an app that must not be published with the scope, whether it exists or not.
func (r Reader) MayPublish(app string) error { return r.scope.MayPublish(app) }

// sees returns the error with which get answers for a name, nil with a scope of all apps.
func sees[V any](r Reader, name string, get func(string) (V, error)) error {
	if r.scope.all {
		return nil
	}
	_, err := get(name)
	return err
}

// answerIf returns the answer of the core, unless the object is hidden from the requester.
func answerIf[V any](hidden error, name string, answer func(string) (V, error)) (none V, err error) {
	if hidden != nil {
		return none, hidden
	}
	return answer(name)
}

// ofAll returns an answer that requires a scope of all apps.
func ofAll[V any](r Reader, answer func() V) (none V, err error) {
	if err := r.scope.RequireAll(); err != nil {
		return none, err
	}
	return answer(), nil
}

// filter removes the elements that are not covered from a list.
func filter[V any](r Reader, list []V, covered func(V) bool) []V {
	if r.scope.all {
		return list
	}
	return slices.DeleteFunc(list, func(v V) bool { return !covered(v) })
}

// covered returns the names of the jobs in the scope, nil with a scope of all apps.
func (r Reader) covered() map[string]bool {
	if r.scope.all {
		return nil
	}
	names := map[string]bool{}
	for _, v := range r.Jobs() {
		names[v.JobName] = true
	}
	return names
}

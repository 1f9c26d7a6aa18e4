package explain

import (
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Executions lists runs that live or are kept, the newest fire first. With a scope of some apps a job that is named
// must be there, Known or not.
func (r Reader) Executions(f views.ExecutionFilter) ([]views.ExecutionSummary, error) {
	if f.Job != "" {
		if err := r.SeesJob(f.Job); err != nil {
			return nil, err
		}
	} else if !r.scope.all {
		covered := r.covered()
		f.May = func(job string) bool { return covered[job] }
	}
	return r.core.Executions(f)
}

// Execution is one that lives or is kept.
func (r Reader) Execution(id string) (views.ExecutionView, error) {
	ofCoveredJob := func(v *views.ExecutionView) bool { return r.SeesJob(v.JobName) == nil }
	return find(r, "execution", id, r.core.Execution, ofCoveredJob)
}

// Cells are the shards of some executions of a job, by the executions' ids: of those that live or are kept.
func (r Reader) Cells(job string, ids []string) (map[string][]search.Cell, error) {
	if err := r.SeesJob(job); err != nil {
		return nil, err
	}
	return r.core.Cells(job, ids), nil
}

// RunningTasks lists the tasks on the cluster, by id.
func (r Reader) RunningTasks() []views.TaskView {
	covered := r.covered()
	return filter(r, r.core.RunningTasks(), func(v views.TaskView) bool { return covered[v.JobName] })
}

// ReadyJobs lists the jobs with executions that wait, and how many.
func (r Reader) ReadyJobs() []views.ReadyView {
	covered := r.covered()
	return filter(r, r.core.ReadyJobs(), func(v views.ReadyView) bool { return covered[v.JobName] })
}

// FailoverShards lists the shards that wait to be run again after a loss.
func (r Reader) FailoverShards() []views.FailoverView {
	covered := r.covered()
	return filter(r, r.core.FailoverShards(), func(v views.FailoverView) bool { return covered[v.JobName] })
}

// LogPlace says where a task's output is.
func (r Reader) LogPlace(taskID string) (views.LogPlace, error) {
	return ifSeen(r.SeesTask(taskID), taskID, r.core.LogPlace)
}

package explain

import (
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Executions lists executions that are open or kept, the newest fire first. With a scope of some apps a named job must
// exist even if MustExist is not set.
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

// Execution returns an execution that is open or kept.
func (r Reader) Execution(id string) (views.ExecutionView, error) {
	ofCoveredJob := func(v *views.ExecutionView) bool { return r.SeesJob(v.JobName) == nil }
	return find(r, "execution", id, r.core.Execution, ofCoveredJob)
}

// Cells returns the shards of the named executions of a job that are open or kept, by execution id.
func (r Reader) Cells(job string, ids []string) (map[string][]search.Cell, error) {
	if err := r.SeesJob(job); err != nil {
		return nil, err
	}
	return r.core.Cells(job, ids), nil
}

// RunningTasks lists the tasks on the cluster, sorted by id.
func (r Reader) RunningTasks() []views.TaskView {
	covered := r.covered()
	return filter(r, r.core.RunningTasks(), func(v views.TaskView) bool { return covered[v.JobName] })
}

// ReadyJobs lists the jobs with waiting executions, and their number.
func (r Reader) ReadyJobs() []views.ReadyView {
	covered := r.covered()
	return filter(r, r.core.ReadyJobs(), func(v views.ReadyView) bool { return covered[v.JobName] })
}

// FailoverShards lists the shards that wait for another attempt after a loss.
func (r Reader) FailoverShards() []views.FailoverView {
	covered := r.covered()
	return filter(r, r.core.FailoverShards(), func(v views.FailoverView) bool { return covered[v.JobName] })
}

// LogPlace returns where a task's output is.
func (r Reader) LogPlace(taskID string) (views.LogPlace, error) {
	return answerIf(r.SeesTask(taskID), taskID, r.core.LogPlace)
}

package explain

import (
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// App returns one app.
func (r Reader) App(name string) (views.AppView, error) {
	return find(r, "app", name, r.core.App, func(v *views.AppView) bool { return r.scope.Covers(v.AppName) })
}

// Apps lists all apps, sorted by name.
func (r Reader) Apps() []views.AppView {
	return filter(r, r.core.Apps(), func(v views.AppView) bool { return r.scope.Covers(v.AppName) })
}

// Job returns one job.
func (r Reader) Job(name string) (views.JobView, error) {
	return find(r, "job", name, r.core.Job, func(v *views.JobView) bool { return r.scope.Covers(v.AppName) })
}

// Jobs lists all jobs, sorted by name.
func (r Reader) Jobs() []views.JobView {
	return filter(r, r.core.Jobs(), func(v views.JobView) bool { return r.scope.Covers(v.AppName) })
}

// Explain returns what a job is doing and why.
func (r Reader) Explain(job string) (views.Explanation, error) {
	return answerIf(r.SeesJob(job), job, r.core.Explain)
}

// CheckJob returns the result that the registration of a job would have. cfg must have been checked. If the scope does
// not allow the registration, the error says so.
func (r Reader) CheckJob(cfg jobs.Config) (views.JobCheck, error) {
	if err := r.scope.MayPublish(cfg.AppName); err != nil {
		return views.JobCheck{}, err
	}
	return r.core.CheckJob(config.RegisterJob{Config: cfg})
}

// JobToUpdate returns the job from which an update is made. Its error for an unknown job is the same as that of the
// update.
func (r Reader) JobToUpdate(name string) (views.JobView, error) {
	v, err := r.Job(name)
	if err != nil && r.scope.all {
		_, err = r.core.CheckJob(config.UpdateJob{Config: jobs.Config{JobName: name}})
	}
	return v, err
}

// CheckJobUpdate returns the result that an update of a job would have.
func (r Reader) CheckJobUpdate(name string, change func(jobs.Config) (jobs.Config, error)) (views.JobCheck, error) {
	old, err := r.JobToUpdate(name)
	if err != nil {
		return views.JobCheck{}, err
	}
	update, err := r.scope.Update(old, change)
	if err != nil {
		return views.JobCheck{}, err
	}
	return r.core.CheckJob(update)
}

// FaultyDocuments lists the documents in the registry that cannot be used, sorted by path. The app of a job that never
// had a good document is not known, so the list leaves out such jobs for a scope of some apps.
func (r Reader) FaultyDocuments() []views.FaultyView {
	covered := r.covered()
	return filter(r, r.core.FaultyDocuments(), func(v views.FaultyView) bool {
		if v.Kind == "app" {
			return r.scope.Covers(v.Name)
		}
		return covered[v.Name]
	})
}

// Sandboxes lists where the executors of an app keep their files.
func (r Reader) Sandboxes(app string) ([]views.SandboxView, error) {
	return answerIf(r.SeesApp(app), app, r.core.Sandboxes)
}

// Audits lists the audit rows that the scheduler keeps, the newest first: without a history the newest rows, otherwise
// those that the history does not have yet. Rows about users and tokens belong to no app. So with a scope of some apps
// q must name a job, and the result has only the rows of that job from the time when it belonged to these apps.
func (r Reader) Audits(q search.Audits) ([]event.Audit, error) {
	if !r.scope.all {
		if q.Target != "job" || q.TargetName == "" {
			return nil, r.scope.RequireAll()
		}
		if err := r.SeesJob(q.TargetName); err != nil {
			return nil, err
		}
		q.May = r.scope.Covers
	}
	return r.core.Audits(q), nil
}

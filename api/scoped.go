package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// scoped is a Scheduler that shows everybody the apps of their grant, by the caller in the context: who has a grant for all apps
// gets what the scheduler says, unchanged. To others what their grant does not cover is not there: both are looked for in the same way and have the same answer.
// What texts say of it is hidden in the answer (others.go).
//
// The scheduler is a field, and not embedded: a method that the interface gets has no meaning here until it is given one.
type scoped struct{ all Scheduler }

// errNobody is for a call that no request was admitted for. There is none; without it nobody would count as everybody.
var errNobody = errors.New("the scheduler was asked for somebody who was not let in")

// grant is that of the caller; free says that it is for all apps.
func (s scoped) grant(ctx context.Context) (g auth.Grant, free bool, err error) {
	who := callerOf(ctx)
	if !who.letIn() {
		return g, false, errNobody
	}
	return who.Grant, who.Unrestricted(), nil
}

// hidden is the answer for what is not there, or not for the caller.
func hidden(what, name string) error {
	return core.Errorf(core.NotFound, what+"_not_found", "there is no %s %q among those of your apps", what, name)
}

// job is a job of the caller's apps.
func (s scoped) job(ctx context.Context, g auth.Grant, name string) (core.JobView, error) {
	v, err := s.all.Job(ctx, name)
	if refusal(err).Kind == core.NotFound || err == nil && !g.Covers(v.AppName) {
		return core.JobView{}, hidden("job", name)
	}
	return v, err
}

// covered are the names of the jobs of the caller's apps.
func (s scoped) covered(ctx context.Context, g auth.Grant) (map[string]bool, error) {
	all, err := s.all.Jobs(ctx)
	names := map[string]bool{}
	for _, v := range all {
		if g.Covers(v.AppName) {
			names[v.JobName] = true
		}
	}
	return names, err
}

// ofApp does what is about one app.
func ofApp[V any](ctx context.Context, s scoped, name string, do func() (V, error)) (none V, err error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return none, err
	}
	if !free {
		if _, err := s.all.App(ctx, name); !g.Covers(name) || refusal(err).Kind == core.NotFound {
			return none, hidden("app", name)
		}
	}
	return do()
}

// ofJob does what is about one job.
func ofJob[V any](ctx context.Context, s scoped, name string, do func() (V, error)) (none V, err error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return none, err
	}
	if !free {
		if _, err := s.job(ctx, g, name); err != nil {
			return none, err
		}
	}
	return do()
}

// ofTask does what is about one task. Its id names its job.
func ofTask[V any](ctx context.Context, s scoped, id string, do func() (V, error)) (none V, err error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return none, err
	}
	if !free {
		task, err := jobs.ParseTaskID(id)
		if err != nil {
			return none, hidden("task", id)
		}
		if _, err := s.job(ctx, g, task.Job); err != nil {
			return none, orHidden(err, "task", id)
		}
	}
	return do()
}

// orHidden says of what belongs to something hidden that it is not there either.
func orHidden(err error, what, name string) error {
	if refusal(err).Kind == core.NotFound {
		return hidden(what, name)
	}
	return err
}

// onlyJobs lists what belongs to jobs of the caller's apps.
func onlyJobs[V any](ctx context.Context, s scoped, list func(context.Context) ([]V, error), job func(V) string) ([]V, error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	if free {
		return list(ctx)
	}
	names, err := s.covered(ctx, g)
	if err != nil {
		return nil, err
	}
	all, err := list(ctx)
	return slices.DeleteFunc(all, func(v V) bool { return !names[job(v)] }), err
}

// maySee refuses a job, for what the scheduler does not answer, unless the caller's grant covers its app.
func (s *Server) maySee(ctx context.Context, job string) error {
	if who := callerOf(ctx); who.letIn() && who.Unrestricted() {
		return nil
	}
	_, err := s.opts.Scheduler.Job(ctx, job)
	return err
}

// mayPublish refuses an app that the caller may not publish, whether it is there or not.
func mayPublish(ctx context.Context, app string) error {
	if who := callerOf(ctx); !who.Covers(app) {
		return notAllowed(who.Principal, "a grant for the app "+quoted(app))
	}
	return nil
}

func (s scoped) Apps(ctx context.Context) ([]core.AppView, error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.all.Apps(ctx)
	if free {
		return all, err
	}
	return slices.DeleteFunc(all, func(v core.AppView) bool { return !g.Covers(v.AppName) }), err
}

func (s scoped) App(ctx context.Context, name string) (core.AppView, error) {
	return ofApp(ctx, s, name, func() (core.AppView, error) { return s.all.App(ctx, name) })
}

func (s scoped) RegisterApp(ctx context.Context, c app.Config) (core.AppView, error) {
	if _, _, err := s.grant(ctx); err != nil {
		return core.AppView{}, err
	}
	if err := mayPublish(ctx, c.AppName); err != nil {
		return core.AppView{}, err
	}
	return s.all.RegisterApp(ctx, c)
}

func (s scoped) UpdateApp(ctx context.Context, name string, change func(app.Config) (app.Config, error)) (core.AppView, error) {
	return ofApp(ctx, s, name, func() (core.AppView, error) { return s.all.UpdateApp(ctx, name, change) })
}

func (s scoped) SetAppDisabled(ctx context.Context, name string, disabled bool) (core.AppView, error) {
	return ofApp(ctx, s, name, func() (core.AppView, error) { return s.all.SetAppDisabled(ctx, name, disabled) })
}

func (s scoped) DeleteApp(ctx context.Context, name string, withJobs bool) (core.AppView, error) {
	return ofApp(ctx, s, name, func() (core.AppView, error) { return s.all.DeleteApp(ctx, name, withJobs) })
}

func (s scoped) Jobs(ctx context.Context) ([]core.JobView, error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.all.Jobs(ctx)
	if free {
		return all, err
	}
	return slices.DeleteFunc(all, func(v core.JobView) bool { return !g.Covers(v.AppName) }), err
}

func (s scoped) Job(ctx context.Context, name string) (core.JobView, error) {
	return ofJob(ctx, s, name, func() (core.JobView, error) { return s.all.Job(ctx, name) })
}

func (s scoped) RegisterJob(ctx context.Context, c jobs.Config) (core.JobView, error) {
	if _, _, err := s.grant(ctx); err != nil {
		return core.JobView{}, err
	}
	if err := mayPublish(ctx, c.AppName); err != nil {
		return core.JobView{}, err
	}
	return s.all.RegisterJob(ctx, c)
}

func (s scoped) CheckJob(ctx context.Context, c jobs.Config) (core.JobCheck, error) {
	if _, _, err := s.grant(ctx); err != nil {
		return core.JobCheck{}, err
	}
	if err := mayPublish(ctx, c.AppName); err != nil {
		return core.JobCheck{}, err
	}
	return s.all.CheckJob(ctx, c)
}

func (s scoped) UpdateJob(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) (core.JobView, error) {
	return ofJob(ctx, s, name, func() (core.JobView, error) { return s.all.UpdateJob(ctx, name, covering(ctx, name, change)) })
}

func (s scoped) CheckJobUpdate(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) (core.JobCheck, error) {
	return ofJob(ctx, s, name, func() (core.JobCheck, error) {
		return s.all.CheckJobUpdate(ctx, name, covering(ctx, name, change))
	})
}

// covering demands that the caller's grant covers the app that the job is of, and the one that it comes to, in the version that is changed.
func covering(ctx context.Context, name string, change func(jobs.Config) (jobs.Config, error)) func(jobs.Config) (jobs.Config, error) {
	return func(stored jobs.Config) (jobs.Config, error) {
		if !callerOf(ctx).Covers(stored.AppName) {
			return stored, hidden("job", name)
		}
		changed, err := change(stored)
		if err == nil {
			err = mayPublish(ctx, changed.AppName)
		}
		return changed, err
	}
}

func (s scoped) SetJobDisabled(ctx context.Context, name string, disabled bool) (core.JobView, error) {
	return ofJob(ctx, s, name, func() (core.JobView, error) { return s.all.SetJobDisabled(ctx, name, disabled) })
}

func (s scoped) SetJobPaused(ctx context.Context, name string, paused bool) (core.JobView, error) {
	return ofJob(ctx, s, name, func() (core.JobView, error) { return s.all.SetJobPaused(ctx, name, paused) })
}

func (s scoped) ShutDownJob(ctx context.Context, name string) (core.JobView, error) {
	return ofJob(ctx, s, name, func() (core.JobView, error) { return s.all.ShutDownJob(ctx, name) })
}

func (s scoped) DeregisterJob(ctx context.Context, name string) (core.JobView, error) {
	return ofJob(ctx, s, name, func() (core.JobView, error) { return s.all.DeregisterJob(ctx, name) })
}

func (s scoped) TriggerWith(ctx context.Context, job, idempotencyKey string, own jobs.Overrides) (string, error) {
	return ofJob(ctx, s, job, func() (string, error) { return s.all.TriggerWith(ctx, job, idempotencyKey, own) })
}

func (s scoped) Leader() (scheduler.LeaderView, bool) { return s.all.Leader() }
func (s scoped) Health() scheduler.Health             { return s.all.Health() }
func (s scoped) Stats() core.Stats                    { return s.all.Stats() }

// forAll refuses who has a grant for some apps. Rules of routes demand the same.
func forAll(ctx context.Context) error {
	if who := callerOf(ctx); !who.letIn() || !who.Unrestricted() {
		return failed(http.StatusForbidden, "not_allowed", "this needs a grant for all apps")
	}
	return nil
}

// Audits has rows of users and tokens, too, which belong to no app: who has a grant for some must ask about a job of theirs, and gets the rows
// of their apps.
func (s scoped) Audits(ctx context.Context, q search.Audits) ([]event.Audit, error) {
	g, free, err := s.grant(ctx)
	switch {
	case err != nil:
		return nil, err
	case !free && (q.Target != "job" || q.TargetName == ""):
		return nil, forAll(ctx)
	case !free:
		if _, err := s.job(ctx, g, q.TargetName); err != nil {
			return nil, err
		}
		q.May = g.Covers
	}
	return s.all.Audits(ctx, q)
}

// Reconcile asks about all tasks, and Sandboxes shows where agents keep files: rules of their routes demand a grant for all apps.
func (s scoped) Reconcile(ctx context.Context, explicit bool) error {
	if err := forAll(ctx); err != nil {
		return err
	}
	return s.all.Reconcile(ctx, explicit)
}

func (s scoped) Sandboxes(ctx context.Context, name string) ([]core.SandboxView, error) {
	return ofApp(ctx, s, name, func() ([]core.SandboxView, error) { return s.all.Sandboxes(ctx, name) })
}

// FaultyDocuments are those of the caller's apps. Of a job that has no good document nobody knows the app: it is shown to those whose grant is for all apps only.
func (s scoped) FaultyDocuments(ctx context.Context) ([]core.FaultyView, error) {
	g, free, err := s.grant(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.all.FaultyDocuments(ctx)
	if free || err != nil {
		return all, err
	}
	names, err := s.covered(ctx, g)
	return slices.DeleteFunc(all, func(v core.FaultyView) bool {
		return v.Kind == "app" && !g.Covers(v.Name) || v.Kind != "app" && !names[v.Name]
	}), err
}

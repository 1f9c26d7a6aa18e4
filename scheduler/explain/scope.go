package explain

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Scope determines which apps the requester may see. The functions All and Apps make a Scope. Every request with the
// zero Scope is refused.
type Scope struct {
	all    bool
	covers func(app string) bool
	deny   func(app string) error
}

// All returns the scope of requesters who may see all apps, and everything that belongs to no app.
func All() Scope { return Scope{all: true} }

// Apps returns the scope of requesters who may see some apps, which covers reports. deny returns the error for the
// publication of any other app.
func Apps(covers func(app string) bool, deny func(app string) error) Scope {
	return Scope{covers: covers, deny: deny}
}

// ErrNotAuthenticated is the error of every request with the zero Scope: the requester was not authenticated.
var ErrNotAuthenticated = errors.New("the request is not authenticated")

// Check fails with ErrNotAuthenticated for the zero Scope.
func (s Scope) Check() error {
	if !s.all && s.covers == nil {
		return ErrNotAuthenticated
	}
	return nil
}

// IsAll reports whether the scope is that of all apps.
func (s Scope) IsAll() bool { return s.all }

// Covers reports whether an app is in the scope, whether the app exists or not.
func (s Scope) Covers(app string) bool { return s.all || s.covers != nil && s.covers(app) }

// MayPublish refuses an app that must not be published with this scope, whether it exists or not.
func (s Scope) MayPublish(app string) error {
	if err := s.Check(); err != nil || s.Covers(app) {
		return err
	}
	return s.deny(app)
}

// RequireAll returns an error unless the scope is that of all apps. It is for objects that belong to no app.
func (s Scope) RequireAll() error {
	if err := s.Check(); err != nil || s.all {
		return err
	}
	return problem.Errorf(problem.Forbidden, "not_allowed", "this requires a grant for all apps")
}

// Update returns the update that replaces a job's document by the result of change. The scope must allow the app to
// which the job then belongs.
func (s Scope) Update(old views.JobView, change func(jobs.Config) (jobs.Config, error)) (config.UpdateJob, error) {
	cfg, err := change(old.Config)
	if err == nil {
		err = s.MayPublish(cfg.AppName)
	}
	return config.UpdateJob{Config: cfg, Version: old.Version}, err
}

// Hidden returns the error for an object that does not exist or is not in the requester's scope. kind is one of the
// words app, job, execution and task.
func Hidden(kind, name string) error {
	return problem.Errorf(problem.NotFound, kind+"_not_found", "there is no %s %q among those of your apps", kind,
		name)
}

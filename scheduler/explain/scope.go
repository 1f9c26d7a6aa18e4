package explain

import (
	"errors"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// Scope says for whom the scheduler does something: which apps they may see. All and Apps make one; the zero Scope is
// nobody's, and whatever is asked for with it is refused.
type Scope struct {
	all    bool
	covers func(app string) bool
	deny   func(app string) error
}

// All is the scope of those who may see all apps, and what belongs to none.
func All() Scope { return Scope{all: true} }

// Apps is the scope of those who may see some apps. covers says which, deny what they are answered who would publish
// another one.
func Apps(covers func(app string) bool, deny func(app string) error) Scope {
	return Scope{covers: covers, deny: deny}
}

// ErrNobody is for what is asked with the zero Scope: for somebody who was not let in.
var ErrNobody = errors.New("the scheduler was asked for somebody who was not let in")

// Check fails with ErrNobody for the zero Scope.
func (s Scope) Check() error {
	if !s.all && s.covers == nil {
		return ErrNobody
	}
	return nil
}

// IsAll reports whether the scope is that of all apps.
func (s Scope) IsAll() bool { return s.all }

// Covers reports whether an app is in the scope, there or not.
func (s Scope) Covers(app string) bool { return s.all || s.covers != nil && s.covers(app) }

// MayPublish refuses an app that may not be published with this scope, there or not.
func (s Scope) MayPublish(app string) error {
	if err := s.Check(); err != nil || s.Covers(app) {
		return err
	}
	return s.deny(app)
}

// RequireAll refuses those who may not see all apps, for what belongs to no app.
func (s Scope) RequireAll() error {
	if err := s.Check(); err != nil || s.all {
		return err
	}
	return problem.Errorf(problem.Forbidden, "not_allowed", "this needs a grant for all apps")
}

// Update makes an update of a job as it is by what change makes of its document. The scope must allow the app that the
// job comes to.
func (s Scope) Update(old views.JobView, change func(jobs.Config) (jobs.Config, error)) (config.UpdateJob, error) {
	cfg, err := change(old.Config)
	if err == nil {
		err = s.MayPublish(cfg.AppName)
	}
	return config.UpdateJob{Config: cfg, Version: old.Version}, err
}

// Hidden is the answer for what is not there, or not in the asker's scope. What is one of the words app, job,
// execution and task.
func Hidden(what, name string) error {
	return problem.Errorf(problem.NotFound, what+"_not_found", "there is no %s %q among those of your apps", what,
		name)
}

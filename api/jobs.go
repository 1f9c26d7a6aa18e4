package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// newJobs are the routes of jobs.
func (s *Server) newJobs() documents[jobs.Config, views.JobView] {
	of := s.opts.Scheduler
	return documents[jobs.Config, views.JobView]{
		server: s, kind: "job", schema: jobs.Schema,
		check: func(c jobs.Config) (document.Violations, []string) {
			return c.Check(s.jobOptions())
		},
		all: explain.Reader.Jobs, one: explain.Reader.Job,
		add: of.RegisterJob, change: of.UpdateJob, setDisabled: of.SetJobDisabled,
		config: func(v views.JobView) jobs.Config { return v.Config.WithoutSecrets() },
		name:   func(v views.JobView) string { return v.Config.JobName },
		answer: func(v views.JobView, read []string) any {
			v.Config, v.NotesView = v.Config.WithoutSecrets(), v.After(read)
			return v
		},
	}
}

// jobOptions are those of a job's rules, now.
func (s *Server) jobOptions() jobs.CheckOptions {
	return jobs.CheckOptions{Reserved: s.reserved("jobName"), Now: s.opts.Now(), Local: s.opts.Zone}
}

// isJobDisabled is true, as in the original, if the job or its app is.
func (s *Server) isJobDisabled(c *gin.Context) (any, error) {
	name, err := request.PathName("job")(c)
	if err != nil {
		return nil, err
	}
	return caller.See(c.Request.Context(), s.opts.Scheduler, func(r explain.Reader) (bool, error) {
		view, err := r.Job(name)
		if err != nil || view.Disabled {
			return view.Disabled, err
		}
		owner, err := r.App(view.AppName)
		return owner.Disabled, err
	})
}

// pauseJob makes the handler that pauses a job or ends its pause.
func (s *Server) pauseJob(paused bool) route.Handler {
	do := func(ctx context.Context, scope explain.Scope, name string) (views.JobView, error) {
		return s.opts.Scheduler.SetJobPaused(ctx, scope, name, paused)
	}
	return s.jobs.command(request.PathName("job"), do)
}

func (s *Server) shutDownJob(c *gin.Context) (any, error) {
	return s.jobs.command(request.PathName("job"), s.opts.Scheduler.ShutDownJob)(c)
}

func (s *Server) deregisterJob(name request.Naming) route.Handler {
	return func(c *gin.Context) (any, error) { return s.jobs.command(name, s.opts.Scheduler.DeregisterJob)(c) }
}

// trigger asks for a run. With ownSettings the body says what the run has instead of the job's settings.
func (s *Server) trigger(name request.Naming, ownSettings bool) route.Handler {
	return func(c *gin.Context) (any, error) {
		key, err := request.IdempotencyKey(c)
		if err != nil {
			return nil, err
		}
		name, err := name(c)
		if err != nil {
			return nil, err
		}
		var own jobs.Overrides
		if ownSettings {
			if own, err = s.overrides(c, name); err != nil {
				return nil, err
			}
			// With variables such as LD_PRELOAD or PATH whoever sets them says what is run.
			if who := caller.Of(c.Request.Context()); len(own.Env) > 0 && !who.Includes(auth.Admin) {
				return nil, caller.NotAllowed(who.Principal, "the role admin, as env says what is run: trigger without it")
			}
		}
		ctx := c.Request.Context()
		id, err := s.opts.Scheduler.TriggerWith(ctx, caller.ScopeOf(ctx), name, key, own)
		return route.Triggered{ExecutionID: id}, err
	}
}

// overrides reads the body of a trigger. What can't be read is reported together with the rules that the rest breaks.
func (s *Server) overrides(c *gin.Context, job string) (jobs.Overrides, error) {
	if c.Request.ContentLength == 0 {
		return jobs.Overrides{}, nil // no body is of no type either
	}
	body, err := request.Body(c)
	if err != nil {
		return jobs.Overrides{}, err
	}
	own, err := jobs.DecodeOverrides(body)
	unread, ok := err.(document.Violations)
	if !ok {
		return own, err // nil, or no object at all
	}
	view, err := caller.SeeOf(c.Request.Context(), s.opts.Scheduler, explain.Reader.Job, job)
	if err != nil {
		return own, err
	}
	return own, unread.And(own.KeepSecrets(view.Config).Check(view.Config)).OrNil()
}

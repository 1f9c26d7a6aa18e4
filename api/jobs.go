package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// jobAnswer is what a command on a job is answered with.
type jobAnswer struct {
	jobs.Config
	Disabled bool     `json:"disabled"`
	Notes    []string `json:"notes,omitempty"`
}

func answerJob(view core.JobView, read []string) any {
	return jobAnswer{Config: view.Config, Disabled: view.Disabled, Notes: joinNotes(read, view.Notes)}
}

func (s *Server) checkJob(c jobs.Config, notes []string, err error) (jobs.Config, []string, error) {
	rules, hints := c.Check(jobs.CheckOptions{Reserved: s.reserved("jobName"), Now: s.opts.Now(), Local: s.opts.Zone})
	return checked(c, append(notes, hints...), err, rules)
}

func (s *Server) registerJob(c *gin.Context) (any, error) {
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	config, notes, err := s.checkJob(jobs.Decode(body, jobs.Default()))
	if err != nil {
		return nil, err
	}
	view, err := s.opts.Scheduler.RegisterJob(c.Request.Context(), config)
	return answerJob(view, notes), err
}

func (s *Server) updateJob(c *gin.Context) (any, error) {
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	name, err := jobs.Name(body)
	if err != nil {
		return nil, err
	}
	if err := app.CheckName("jobName", name, nil).OrNil(); err != nil {
		return nil, err
	}
	isAbout(c, "job", name)
	var notes []string
	view, err := s.opts.Scheduler.UpdateJob(c.Request.Context(), name, func(stored jobs.Config) (changed jobs.Config, err error) {
		changed, notes, err = s.checkJob(jobs.Decode(body, stored))
		return changed, err
	})
	if err != nil {
		return nil, err
	}
	return answerJob(view, notes), nil
}

func (s *Server) listJobs(c *gin.Context) (any, error) {
	views, err := s.opts.Scheduler.Jobs(c.Request.Context())
	list := make([]jobs.Config, len(views))
	for i, view := range views {
		list[i] = view.Config
	}
	return list, err
}

func (s *Server) getJob(c *gin.Context) (any, error) {
	view, err := s.findJob(c)
	return view.Config, err
}

// isJobDisabled is true, as in the original, if the job or its app is.
func (s *Server) isJobDisabled(c *gin.Context) (any, error) {
	view, err := s.findJob(c)
	if err != nil || view.Disabled {
		return view.Disabled, err
	}
	owner, err := s.opts.Scheduler.App(c.Request.Context(), view.Config.AppName)
	return owner.Disabled, err
}

func (s *Server) findJob(c *gin.Context) (core.JobView, error) {
	name, err := jobName(c)
	if err != nil {
		return core.JobView{}, err
	}
	return s.opts.Scheduler.Job(c.Request.Context(), name)
}

// jobNamed says which job a request is about: jobName or bodyJobName.
type jobNamed func(c *gin.Context) (string, error)

func (s *Server) setJobDisabled(disabled bool) handler {
	return jobCommand(jobName, func(ctx context.Context, name string) (core.JobView, error) {
		return s.opts.Scheduler.SetJobDisabled(ctx, name, disabled)
	})
}

func (s *Server) deregisterJob(named jobNamed) handler {
	return jobCommand(named, func(ctx context.Context, name string) (core.JobView, error) {
		return s.opts.Scheduler.DeregisterJob(ctx, name)
	})
}

// jobCommand is a handler that does something to the job that is named.
func jobCommand(named jobNamed, do func(ctx context.Context, name string) (core.JobView, error)) handler {
	return func(c *gin.Context) (any, error) {
		name, err := named(c)
		if err != nil {
			return nil, err
		}
		view, err := do(c.Request.Context(), name)
		return answerJob(view, nil), err
	}
}

// triggered is the answer to a trigger: the way to follow its run [D18].
type triggered struct {
	ExecutionID string `json:"executionId"`
}

// maxKey bounds the Idempotency-Key header, which is stored.
const maxKey = 200

// trigger asks for a run. With ownSettings the body says what the run has instead of the job's settings.
func (s *Server) trigger(named jobNamed, ownSettings bool) handler {
	return func(c *gin.Context) (any, error) {
		key := c.GetHeader("Idempotency-Key")
		if len(key) > maxKey {
			return nil, badRequest("bad_idempotency_key", "the Idempotency-Key header has %d characters; %d are the most", len(key), maxKey)
		}
		name, err := named(c)
		if err != nil {
			return nil, err
		}
		var own jobs.Overrides
		if ownSettings {
			if own, err = s.overrides(c, name); err != nil {
				return nil, err
			}
		}
		id, err := s.opts.Scheduler.TriggerWith(c.Request.Context(), name, key, own)
		return triggered{ExecutionID: id}, err
	}
}

// overrides reads the body of a trigger. What can't be read is reported together with the rules that the rest breaks.
func (s *Server) overrides(c *gin.Context, job string) (jobs.Overrides, error) {
	if c.Request.ContentLength == 0 {
		return jobs.Overrides{}, nil // no body is of no type either
	}
	body, err := readBody(c)
	if err != nil {
		return jobs.Overrides{}, err
	}
	own, err := jobs.DecodeOverrides(body)
	unread, ok := err.(document.Violations)
	if !ok {
		return own, err // nil, or no object at all
	}
	view, err := s.opts.Scheduler.Job(c.Request.Context(), job)
	if err != nil {
		return own, err
	}
	return own, unread.And(own.Check(view.Config)).OrNil()
}

package api

import (
	"context"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/document"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// appAnswer is what a command on an app is answered with: the document's own
// fields, and what is not part of it.
type appAnswer struct {
	app.Config
	Disabled bool     `json:"disabled"`
	Notes    []string `json:"notes,omitempty"`
}

// answerApp gives the notes of reading a document before those of the view.
func answerApp(view core.AppView, read []string) any {
	return appAnswer{Config: view.Config, Disabled: view.Disabled, Notes: joinNotes(read, view.Notes)}
}

// joinNotes has each note once: the scheduler may repeat what a check found.
func joinNotes(read, more []string) []string {
	var all []string
	for _, note := range slices.Concat(read, more) {
		if !slices.Contains(all, note) {
			all = append(all, note)
		}
	}
	return all
}

// checkApp is the whole judgement of a document that was just read with err.
func (s *Server) checkApp(c app.Config, notes []string, err error) (app.Config, []string, error) {
	return checked(c, notes, err, c.Check(app.CheckOptions{Reserved: s.reserved("appName"), AllowFile: s.opts.AllowFile}))
}

// checked joins what could not be read with the rules that the rest breaks.
func checked[C any](c C, notes []string, err error, rules document.Violations) (C, []string, error) {
	unread, ok := err.(document.Violations)
	if err != nil && !ok {
		return c, nil, err
	}
	return c, notes, unread.And(rules).OrNil()
}

func (s *Server) registerApp(c *gin.Context) (any, error) {
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	config, notes, err := s.checkApp(app.Decode(body, app.Default()))
	if err != nil {
		return nil, err
	}
	view, err := s.opts.Scheduler.RegisterApp(c.Request.Context(), config)
	return answerApp(view, notes), err
}

func (s *Server) updateApp(c *gin.Context) (any, error) {
	body, err := readBody(c)
	if err != nil {
		return nil, err
	}
	name, err := app.Name(body)
	if err != nil {
		return nil, err
	}
	if err := app.CheckName("appName", name, nil).OrNil(); err != nil {
		return nil, err
	}
	isAbout(c, "app", name)
	var notes []string
	view, err := s.opts.Scheduler.UpdateApp(c.Request.Context(), name, func(stored app.Config) (changed app.Config, err error) {
		changed, notes, err = s.checkApp(app.Decode(body, stored))
		return changed, err
	})
	if err != nil {
		return nil, err
	}
	return answerApp(view, notes), nil
}

func (s *Server) listApps(c *gin.Context) (any, error) {
	views, err := s.opts.Scheduler.Apps(c.Request.Context())
	list := make([]app.Config, len(views))
	for i, view := range views {
		list[i] = view.Config
	}
	return list, err
}

func (s *Server) getApp(c *gin.Context) (any, error) {
	view, err := s.findApp(c)
	return view.Config, err
}

func (s *Server) isAppDisabled(c *gin.Context) (any, error) {
	view, err := s.findApp(c)
	return view.Disabled, err
}

func (s *Server) findApp(c *gin.Context) (core.AppView, error) {
	name, err := appName(c)
	if err != nil {
		return core.AppView{}, err
	}
	return s.opts.Scheduler.App(c.Request.Context(), name)
}

// setAppDisabled makes the handler that disables or enables.
func (s *Server) setAppDisabled(disabled bool) handler {
	return appCommand(func(ctx context.Context, name string) (core.AppView, error) {
		return s.opts.Scheduler.SetAppDisabled(ctx, name, disabled)
	})
}

func (s *Server) deleteApp(c *gin.Context) (any, error) {
	q, err := readQuery(c.Request, []string{"jobs"})
	if err != nil {
		return nil, err
	}
	withJobs := q.flag("jobs")
	if err := q.err(); err != nil {
		return nil, err
	}
	return appCommand(func(ctx context.Context, name string) (core.AppView, error) {
		return s.opts.Scheduler.DeleteApp(ctx, name, withJobs)
	})(c)
}

// appCommand is a handler that does something to the app that the path names.
func appCommand(do func(ctx context.Context, name string) (core.AppView, error)) handler {
	return func(c *gin.Context) (any, error) {
		name, err := appName(c)
		if err != nil {
			return nil, err
		}
		view, err := do(c.Request.Context(), name)
		return answerApp(view, nil), err
	}
}

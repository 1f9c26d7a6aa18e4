package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

type appAnswer struct {
	app.Config
	Disabled bool     `json:"disabled"`
	Notes    []string `json:"notes,omitempty"`
}

// newApps are the routes of apps.
func (s *Server) newApps() documents[app.Config, core.AppView] {
	of := s.opts.Scheduler
	return documents[app.Config, core.AppView]{
		kind: "app", initial: app.Default(), nameIn: app.Name,
		read: func(body []byte, base app.Config) (app.Config, []string, error) {
			c, notes, err := app.Decode(body, base)
			return checked(c, notes, err, c.Check(app.CheckOptions{Reserved: s.reserved("appName"), AllowFile: s.opts.AllowFile}))
		},
		add: of.RegisterApp, change: of.UpdateApp, all: of.Apps, one: of.App, setDisabled: of.SetAppDisabled,
		config: func(v core.AppView) app.Config { return v.Config },
		answer: func(v core.AppView, read []string) any {
			return appAnswer{Config: v.Config, Disabled: v.Disabled, Notes: joinNotes(read, v.Notes)}
		},
	}
}

func (s *Server) isAppDisabled(c *gin.Context) (any, error) {
	view, err := s.apps.find(c)
	return view.Disabled, err
}

func (s *Server) deleteApp(c *gin.Context) (any, error) {
	q := readQuery(c.Request, "jobs")
	withJobs := q.flag("jobs")
	if err := q.err(); err != nil {
		return nil, err
	}
	return s.apps.command(pathName("app"), func(ctx context.Context, name string) (core.AppView, error) {
		return s.opts.Scheduler.DeleteApp(ctx, name, withJobs)
	})(c)
}

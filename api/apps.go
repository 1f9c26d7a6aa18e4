package api

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// newApps are the routes of apps.
func (s *Server) newApps() documents[app.Config, views.AppView] {
	of := s.opts.Scheduler
	return documents[app.Config, views.AppView]{
		server: s, kind: "app", schema: app.Schema,
		check: func(c app.Config) (document.Violations, []string) {
			return c.Check(app.CheckOptions{
				Reserved: s.reserved("appName"), AllowFile: s.opts.AllowFile, PodTemplate: s.opts.PodTemplate,
				NoContainers: s.opts.PodTemplate == nil,
			}), c.ExposureNotes()
		},
		all: explain.Reader.Apps, one: explain.Reader.App,
		add: of.RegisterApp, change: of.UpdateApp, setDisabled: of.SetAppDisabled,
		config: func(v views.AppView) app.Config { return v.Config.WithoutSecrets() },
		name:   func(v views.AppView) string { return v.Config.AppName },
		answer: func(v views.AppView, read []string) any {
			v.Config, v.NotesView = v.Config.WithoutSecrets(), v.After(read)
			return v
		},
	}
}

func (s *Server) isAppDisabled(c *gin.Context) (any, error) {
	view, err := s.apps.find(c)
	return view.Disabled, err
}

var withItsJobs = request.Flag("jobs", "Deletes the app's jobs, too. Without it an app that has jobs is refused.")

func (s *Server) deleteApp(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	withJobs := withItsJobs.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	do := func(ctx context.Context, scope explain.Scope, name string) (views.AppView, error) {
		return s.opts.Scheduler.DeleteApp(ctx, scope, name, withJobs)
	}
	return s.apps.command(request.PathName("app"), do)(c)
}

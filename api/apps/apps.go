// Package apps handles the routes of apps and checks their packages.
package apps

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/documents"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Scheduler is the part of the scheduler that the handlers of apps use.
type Scheduler interface {
	caller.Scheduler
	RegisterApp(ctx context.Context, scope explain.Scope, c app.Config) (views.AppView, error)
	UpdateApp(
		ctx context.Context, scope explain.Scope, name string, change func(app.Config) (app.Config, error),
	) (views.AppView, error)
	SetAppDisabled(ctx context.Context, scope explain.Scope, name string, disabled bool) (views.AppView, error)
	// DeleteApp deletes an app. If the app has jobs, it fails with Conflict and names them, unless withJobs is set:
	// then it deletes the jobs too.
	DeleteApp(ctx context.Context, scope explain.Scope, name string, withJobs bool) (views.AppView, error)
}

// Options are the dependencies of the handlers of apps.
type Options struct {
	Scheduler Scheduler
	// Reserved reports whether the name is reserved, so that no app may have it.
	Reserved func(name string) bool
	// AllowFile accepts apps with file URLs. It may be set only if all jobs run on this machine.
	AllowFile bool
	// PodTemplate returns all violations in the podTemplate of an app, on a cluster that runs each shard in its own
	// pod. It is nil on other clusters; there the fields about containers are refused.
	PodTemplate func(template []byte) document.Violations
	// Packages fetches packages to check them. If it is nil, a check answers 503.
	Packages Packages
}

// Handlers handles the routes of apps.
type Handlers struct {
	Options
	documents     documents.Handlers[app.Config, views.AppView]
	packageChecks *limit.Quota // limits the package checks that run at the same time
}

// New returns the handlers.
func New(o Options) *Handlers {
	return &Handlers{Options: o, documents: appDocuments(o),
		packageChecks: limit.NewQuota("check_running", "package checks", 5*time.Second)}
}

// Routes returns the routes of apps.
func (h *Handlers) Routes() []route.Route {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return slices.Concat(route.Group("Apps", []route.Route{
		{Method: post, Path: "/api/app", Rule: route.Publishers,
			Answer: withOptionalCheck(h.documents.Register, h.checkAndRegisterApp),
			Takes:  []request.Declared{checkFirst},
			Does: route.Does("Publishes a new app").Reads(route.JSONBody("App", exampleApp)).
				Gives(PublishedApp{}).Fails(http.StatusTooManyRequests)},
		{Method: put, Path: "/api/app", Rule: route.Publishers,
			Answer: withOptionalCheck(h.documents.Update, h.checkAndUpdateApp),
			Takes:  []request.Declared{checkFirst},
			Does: route.Does("Changes the given fields of an app; null sets the default").
				Reads(route.JSONBody("AppChange", exampleAppChange)).
				Gives(PublishedApp{}).Fails(http.StatusNotFound, http.StatusTooManyRequests)},
		{Method: get, Path: "/api/app/list", Rule: route.Viewers, Answer: h.documents.List,
			Takes: documents.ListTakes,
			Does:  route.Does("Lists all apps, by name").Gives([]app.Config{}, route.LinkHeader)},
		{Method: get, Path: "/api/app/{appName}", Rule: route.Viewers, Answer: h.documents.Get,
			Does: route.Does("Returns one app").Gives(app.Config{})},
		{Method: del, Path: "/api/app/{appName}", Rule: route.Publishers, Answer: h.deleteApp,
			Takes: []request.Declared{deleteJobs}, Does: route.Does("Deletes an app").Gives(views.AppView{})},
		{Method: get, Path: "/api/app/{appName}/disable", Rule: route.Viewers, Answer: h.isAppDisabled,
			Does: route.Does("Reports whether an app is disabled").Gives(true)},
		{Method: post, Path: "/api/app/{appName}/disable", Rule: route.Operators, Answer: h.documents.Disable(true),
			Does: route.Does("Disables an app and with it all its jobs").Gives(views.AppView{})},
		{Method: post, Path: "/api/app/{appName}/enable", Rule: route.Operators, Answer: h.documents.Disable(false),
			Does: route.Does("Enables an app").Gives(views.AppView{})},
		{Method: del, Path: "/api/app/{appName}/disable", Rule: route.Operators, Answer: h.documents.Disable(false),
			Does: route.Does("Enables an app, in the original's form").Gives(views.AppView{})},
	}),
		route.Group("Checks before registration", []route.Route{
			{Method: post, Path: "/api/app/check", Rule: route.Publishers, Answer: h.checkApp,
				Takes: []request.Declared{documents.UpdateFlag},
				Does: route.Does("Fetches an app's package as an executor would, and reports its contents").
					Reads(route.JSONBody("AppChange", exampleApp)).Gives(PackageFacts{}).
					Fails(http.StatusNotFound, http.StatusTooManyRequests)},
			{Method: get, Path: "/api/schema/app", Rule: route.Viewers, Answer: h.schemaOfApp, Local: true,
				Does: route.Does("Returns the JSON Schema of an app's document").GivesSchema()},
		}))
}

// appDocuments returns the handlers of the routes that apps share with jobs.
func appDocuments(o Options) documents.Handlers[app.Config, views.AppView] {
	return documents.Handlers[app.Config, views.AppView]{
		Scheduler: o.Scheduler, Kind: "app", Schema: app.Schema,
		Check: func(c, _ app.Config) (document.Violations, []string) {
			return c.Check(app.CheckOptions{
				Reserved: o.Reserved, AllowFile: o.AllowFile, PodTemplate: o.PodTemplate,
				NoContainers: o.PodTemplate == nil,
			}), c.ExposureNotes()
		},
		All: explain.Reader.Apps, One: explain.Reader.App,
		Add: o.Scheduler.RegisterApp, Change: o.Scheduler.UpdateApp, SetDisabled: o.Scheduler.SetAppDisabled,
		Config: func(v views.AppView) app.Config { return v.Config.WithoutSecrets() },
		Name:   func(v views.AppView) string { return v.Config.AppName },
		Answer: func(v views.AppView, read []string) any {
			v.Config, v.NotesView = v.Config.WithoutSecrets(), v.After(read)
			return v
		},
	}
}

func (h *Handlers) isAppDisabled(c *gin.Context) (any, error) {
	view, err := h.documents.Find(c)
	return view.Disabled, err
}

var deleteJobs = request.Flag("jobs", "Also deletes the app's jobs. Without it, an app that has jobs is not deleted.")

func (h *Handlers) deleteApp(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	withJobs := deleteJobs.Of(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	deleteIt := func(ctx context.Context, scope explain.Scope, name string) (views.AppView, error) {
		return h.Scheduler.DeleteApp(ctx, scope, name, withJobs)
	}
	return h.documents.Command(request.PathName("app"), deleteIt)(c)
}

// schemaOfApp returns the JSON Schema of an app's document, from which forms and editors are built. It leaves out the
// fields that this server refuses.
func (h *Handlers) schemaOfApp(*gin.Context) (any, error) {
	schema := app.Schema.JSONSchema("App", app.Hints())
	if h.PodTemplate == nil {
		schema = schema.Without(app.ContainerFields()...)
	}
	return schema, nil
}

var (
	exampleApp = map[string]any{"appName": "my_app", "appURL": "http://127.0.0.1:8080/my-job.tar.gz",
		"bootstrapScript": "bin/start.sh", "cpuCount": 0.1, "memoryMB": 64}
	exampleAppChange = map[string]any{"appName": "my_app", "appCacheEnable": false, "memoryMB": nil}
)

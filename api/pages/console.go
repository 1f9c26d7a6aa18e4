// Package pages answers browsers with the console, and other clients with a short text about the API.
package pages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
)

// Console serves the web console: one page, whose script reads the URL, another page that shows the API's description,
// and the files of both pages. Nothing in them may reveal anything about this server, because they are public: users
// log in on the first page.
type Console interface {
	// Page answers with the page of the console.
	Page(w http.ResponseWriter, r *http.Request)
	// Docs answers with the page that shows the API's description.
	Docs(w http.ResponseWriter, r *http.Request)
	// Static answers with the file whose URL is the request's path. If there is no such file, it returns false and
	// writes no answer.
	Static(w http.ResponseWriter, r *http.Request) bool
}

// Options are the dependencies of the handlers of pages.
type Options struct {
	Answers *answer.Writer
	// Console may be nil. Then there are no pages.
	Console Console
	Version string
	// State returns whether a login is required.
	State func() auth.State
}

// Handlers handles the routes of pages.
type Handlers struct{ Options }

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Routes returns the routes of pages.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("The server", []route.Route{
		{Method: get, Path: "/", Rule: route.Public, Raw: h.front, Local: true,
			Does: route.Does("Describes this server; a browser gets the console").Streams("text/plain; charset=utf-8",
				"Some lines for people.", nil).OrGives("text/html; charset=utf-8")},
		{Method: get, Path: "/static/{hash}/{file}", Rule: route.Public, Raw: h.static, Local: true,
			Does: route.Does("Returns a file of the console; its path may contain slashes").Streams("*/*", "The file.", nil)},
		{Method: get, Path: "/api/docs", Rule: route.Public, Raw: h.docs, Local: true,
			Does: route.Does("Shows the API's description in a browser").
				Streams("text/html; charset=utf-8", "A page.", nil).Fails(http.StatusNotFound)},
	})
}

// notPages are paths that are not pages of the console. The same holds for all paths below them.
var notPages = []string{"/api", "/artifacts", "/static", "/metrics", "/healthz", "/readyz"}

// OpensConsole reports whether a browser requests a page of the console.
func (h *Handlers) OpensConsole(r *http.Request) bool {
	return h.Console != nil && failure.WantsPage(r) && !slices.ContainsFunc(notPages, func(p string) bool {
		return r.URL.Path == p || strings.HasPrefix(r.URL.Path, p+"/")
	})
}

// RoutePath returns the router's path of a request's route, or "" if no route matches. All pages of the console belong
// to the route /.
func (h *Handlers) RoutePath(c *gin.Context) string {
	if c.FullPath() == "" && h.OpensConsole(c.Request) {
		return "/"
	}
	return c.FullPath()
}

// Page answers with the page of the console.
func (h *Handlers) Page(c *gin.Context) {
	c.Header("Content-Security-Policy", pagePolicy)
	c.Status(http.StatusOK)
	h.Console.Page(c.Writer, c.Request)
}

func (h *Handlers) static(c *gin.Context) {
	c.Header("Content-Security-Policy", filePolicy)
	if h.Console == nil || !h.Console.Static(c.Writer, c.Request) {
		h.Answers.Fail(c.Writer, c.Request,
			failure.NotFound("static_not_found",
				"there is no file %s here: a page of another version of the server may have asked for it; load that page again",
				failure.Quoted(c.Request.URL.Path)))
	}
}

// docs answers with the page that shows the API's description. The page is public, like the console: its script
// fetches the description with the user's login.
func (h *Handlers) docs(c *gin.Context) {
	if h.Console == nil {
		h.Answers.Fail(c.Writer, c.Request,
			failure.NotFound("no_console",
				"this server has no pages for browsers; GET /api/openapi.json has what this one would show"))
		return
	}
	c.Header("Content-Security-Policy", pagePolicy)
	c.Status(http.StatusOK)
	h.Console.Docs(c.Writer, c.Request)
}

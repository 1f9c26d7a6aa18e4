// Package pages answers browsers with the console, and others with some lines about the API.
package pages

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/gin-gonic/gin"
)

// Console is what browsers are shown: one page, whose script reads the address, another one that shows the API's
// description, and the files of both. All are open to everybody, as the first is where one logs in; none tells
// anything of this server.
type Console interface {
	// Page answers with the page.
	Page(w http.ResponseWriter, r *http.Request)
	// Docs answers with the page that shows the API's description.
	Docs(w http.ResponseWriter, r *http.Request)
	// Static answers with the file whose address is the request's path, or reports false and answers nothing.
	Static(w http.ResponseWriter, r *http.Request) bool
}

// Options are what the handlers of pages need.
type Options struct {
	Answers *answer.Writer
	// Console may be nil: then there are no pages.
	Console Console
	Version string
	// State is whether a login is needed.
	State func() auth.State
}

// Handlers answer with pages for browsers, and lines for others.
type Handlers struct{ Options }

// New makes the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Routes are those of pages.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("The server", []route.Route{
		{Method: get, Path: "/", Rule: route.Everybody, Raw: h.front, Local: true,
			Does: route.Does("Says what this is; a browser gets the console").Streams("text/plain; charset=utf-8",
				"Some lines for people.", nil).OrGives("text/html; charset=utf-8")},
		{Method: get, Path: "/static/{hash}/{file}", Rule: route.Everybody, Raw: h.static, Local: true,
			Does: route.Does("Gives a file of the console; the file may be in folders, and then has slashes").Streams("*/*", "The file.", nil)},
		{Method: get, Path: "/api/docs", Rule: route.Everybody, Raw: h.docs, Local: true,
			Does: route.Does("Shows that description in a browser").Streams("text/html; charset=utf-8", "A page.",
				nil).Fails(http.StatusNotFound)},
	})
}

// notPages are the paths at which, and below which, there are no pages of the console.
var notPages = []string{"/api", "/artifacts", "/static", "/metrics", "/healthz", "/readyz"}

// Opens reports whether a browser opens an address of the console: it alone asks for text/html.
func (h *Handlers) Opens(r *http.Request) bool {
	if h.Console == nil || !failure.IsRead(r.Method) || slices.ContainsFunc(notPages, func(p string) bool {
		return r.URL.Path == p || strings.HasPrefix(r.URL.Path, p+"/")
	}) {
		return false
	}
	for one := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if kind, _, err := mime.ParseMediaType(one); err == nil && kind == "text/html" {
			return true
		}
	}
	return false
}

// RoutePath is the router's path of a request's route, empty without one. All addresses of the console are one route,
// that of /.
func (h *Handlers) RoutePath(c *gin.Context) string {
	if c.FullPath() == "" && h.Opens(c.Request) {
		return "/"
	}
	return c.FullPath()
}

// Page answers with the console.
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
				"there is no file %s here: a page of another version of the server may have asked for it; load that page again", failure.Quoted(c.Request.URL.Path)))
	}
}

// docs is the page that shows the description. It is as open as the console, and tells as little: what it shows it
// asks for, as its reader.
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

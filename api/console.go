package api

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/api/failure"
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

// notPages are the paths at which, and below which, there are no pages of the console.
var notPages = []string{"/api", "/artifacts", "/static", "/metrics", "/healthz", "/readyz"}

// opensPage reports whether a browser opens an address of the console: it alone asks for text/html.
func (s *Server) opensPage(r *http.Request) bool {
	if s.opts.Console == nil || !failure.IsRead(r.Method) || slices.ContainsFunc(notPages, func(p string) bool {
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

// routePath is the router's path of a request's route, empty without one. All addresses of the console are one route,
// that of /.
func (s *Server) routePath(c *gin.Context) string {
	if c.FullPath() == "" && s.opensPage(c.Request) {
		return "/"
	}
	return c.FullPath()
}

func (s *Server) page(c *gin.Context) {
	c.Header("Content-Security-Policy", pagePolicy)
	c.Status(http.StatusOK)
	s.opts.Console.Page(c.Writer, c.Request)
}

func (s *Server) static(c *gin.Context) {
	c.Header("Content-Security-Policy", filePolicy)
	if s.opts.Console == nil || !s.opts.Console.Static(c.Writer, c.Request) {
		s.answers.Fail(c.Writer, c.Request,
			failure.NotFound("static_not_found",
				"there is no file %s here: a page of another version of the server may have asked for it; load that page again", failure.Quoted(c.Request.URL.Path)))
	}
}

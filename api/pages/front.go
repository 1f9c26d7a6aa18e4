package pages

import (
	"io"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/auth"
)

// front answers a request for /: a browser gets the console, any other client a short text about the API.
func (h *Handlers) front(c *gin.Context) {
	if h.OpensConsole(c.Request) {
		h.Page(c)
		return
	}
	c.Header("Content-Type", "text/plain; charset=utf-8")
	who := caller.Of(c.Request.Context())
	name, hint, address := "ElasticJob", "", caller.Scheme(c.Request)+"://"+c.Request.Host
	target := address
	if who.CanSeeAll() {
		name += " " + h.Version
	}
	if who.Kind != auth.Machine { // the commands require a token
		target = `-H "Authorization: Bearer $TOKEN" ` + address
	}
	switch {
	case h.State() == auth.Empty && who.Kind == auth.Machine:
		hint = "Everyone on this machine has all rights until there is a user: scheduler user add NAME --role admin, with the --registry, --zk, --zk-namespace or --data-dir that the server has\n"
	case h.State() == auth.Empty && !who.IsAuthenticated():
		hint = "There are no users yet. Create the first on the server's machine: scheduler user add NAME --role admin, with the --registry, --zk, --zk-namespace or --data-dir that the server has\n"
	}
	console := ""
	if h.Console != nil {
		console = "Its console is for a browser, at " + address + "\n"
	}
	_, _ = io.WriteString(c.Writer, strings.Join([]string{
		name + ": a scheduler for batch jobs. This is its REST API; docs/api.md has all of it.",
		console + hint,
		"curl " + target + "/api/app/list",
		"curl " + target + "/api/job/jobs",
		"curl -X POST " + target + "/api/job/my_job/trigger",
		"curl " + target + "/api/executions",
		"",
	}, "\n"))
}

package api

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// faulty lists the documents in the registry that can't be used ([D15]).
func (s *Server) faulty(c *gin.Context) (any, error) {
	all, err := list(c.Request.Context(), s, explain.Reader.FaultyDocuments)
	return each(all, err, func(v views.FaultyView) views.FaultyView {
		v.Path = s.opts.RegistryRoot + v.Path
		return v
	})
}

// These keys of a request's context hold what it is about, as far as it names it: "app" or "job", and the name.
const askedWhat, askedName = "asked what", "asked name"

func isAbout(c *gin.Context, what, name string) {
	c.Set(askedWhat, what)
	c.Set(askedName, name)
}

// orFaulty is what to say instead of an error: that the app or job is not known may only mean that its document
// can't be used.
func (s *Server) orFaulty(c *gin.Context, err error) error {
	what, name := c.GetString(askedWhat), c.GetString(askedName)
	refused := refusal(err)
	if refused.Kind != problem.NotFound || refused.Code != what+"_not_found" {
		return err
	}
	views, failed := list(c.Request.Context(), s, explain.Reader.FaultyDocuments)
	if failed != nil {
		return err
	}
	for _, view := range views {
		if view.Kind == what && view.Name == name {
			return notFound(refused.Code,
				"the %s %s is in the registry and can't be used: %s%s: %s; GET /api/operate/faulty lists all such, and docs/api.md says what to do",
				what, quoted(name), s.opts.RegistryRoot, view.Path, view.Reason)
		}
	}
	return err
}

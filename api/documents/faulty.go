package documents

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// Faulty are the documents in the registry that can't be used.
type Faulty struct {
	Scheduler caller.Scheduler
	// RegistryRoot is what stands before the registry's own paths where people look at them, such as
	// "/elasticjob-cloud"; empty without ZooKeeper.
	RegistryRoot string
}

// List lists the documents in the registry that can't be used ([D15]).
func (f Faulty) List(c *gin.Context) (any, error) {
	all, err := caller.List(c.Request.Context(), f.Scheduler, explain.Reader.FaultyDocuments)
	return answer.Each(all, err, func(v views.FaultyView) views.FaultyView {
		v.Path = f.RegistryRoot + v.Path
		return v
	})
}

// Explain is what to say instead of an error: that the app or job is not known may only mean that its document
// can't be used.
func (f Faulty) Explain(c *gin.Context, err error) error {
	what, name := request.Subject(c)
	refused := failure.Refusal(err)
	if refused.Kind != problem.NotFound || refused.Code != what+"_not_found" {
		return err
	}
	views, failed := caller.List(c.Request.Context(), f.Scheduler, explain.Reader.FaultyDocuments)
	if failed != nil {
		return err
	}
	for _, view := range views {
		if view.Kind == what && view.Name == name {
			return failure.NotFound(refused.Code,
				"the %s %s is in the registry and can't be used: %s%s: %s; GET /api/operate/faulty lists all such, and docs/api.md says what to do",
				what, failure.Quoted(name), f.RegistryRoot, view.Path, view.Reason)
		}
	}
	return err
}

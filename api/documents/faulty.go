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

// Faulty handles the documents in the registry that cannot be used.
type Faulty struct {
	Scheduler caller.Scheduler
	// RegistryRoot is the prefix that the registry's paths have in ZooKeeper, such as "/elasticjob-cloud". It is ""
	// without ZooKeeper.
	RegistryRoot string
}

// List answers with these documents [D15].
func (f Faulty) List(c *gin.Context) (any, error) {
	all, err := caller.ReadList(c.Request.Context(), f.Scheduler, explain.Reader.FaultyDocuments)
	return answer.Each(all, err, func(v views.FaultyView) views.FaultyView {
		v.Path = f.RegistryRoot + v.Path
		return v
	})
}

// Explain replaces an error that the request's app or job does not exist, if its document is in the registry but
// cannot be used. It returns any other error unchanged.
func (f Faulty) Explain(c *gin.Context, err error) error {
	kind, name := request.Subject(c)
	refusal := failure.Refusal(err)
	if refusal.Kind != problem.NotFound || refusal.Code != kind+"_not_found" {
		return err
	}
	views, readErr := caller.ReadList(c.Request.Context(), f.Scheduler, explain.Reader.FaultyDocuments)
	if readErr != nil {
		return err
	}
	for _, view := range views {
		if view.Kind == kind && view.Name == name {
			return failure.NotFound(refusal.Code,
				"the %s %s is in the registry and can't be used: %s%s: %s; GET /api/operate/faulty lists all such, and docs/api.md says what to do",
				kind, failure.Quoted(name), f.RegistryRoot, view.Path, view.Reason)
		}
	}
	return err
}

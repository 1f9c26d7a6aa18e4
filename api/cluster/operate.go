package cluster

import (
	"cmp"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// leader answers with the leader as this server knows it, or with 503 if this server knows none.
func (h *Handlers) leader(*gin.Context) (any, error) {
	l, ok := h.Scheduler.Leader()
	if !ok {
		return nil, failure.Unavailable("no_leader", "no leader is known: %s",
			cmp.Or(h.Scheduler.Health().Detail, "waiting for an election"))
	}
	l.Since = l.Since.UTC()
	return l, nil
}

// reconcile returns the handler that reconciles the tasks with the cluster now, explicitly or implicitly. It answers
// 429 if a reconciliation was requested a moment ago [D20].
func (h *Handlers) reconcile(explicit bool) route.Handler {
	return func(c *gin.Context) (any, error) {
		ctx := c.Request.Context()
		return true, h.Scheduler.Reconcile(ctx, caller.ScopeOf(ctx), explicit)
	}
}

var sandboxApp = request.Text("appName", "The app whose executors are listed.").WithExample("my_app").Mandatory()

// sandbox answers with the directories of an app's executors. The scheduler knows the directories from offers and
// status updates, so no request to an agent is required [D21].
func (h *Handlers) sandbox(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	if err := q.Err(); err != nil {
		return nil, err
	}
	name := sandboxApp.Of(q)
	if name == "" {
		return nil, failure.BadRequest("app_name_missing",
			"Lack param 'appName': name the app, as in /api/operate/sandbox?appName=my_app")
	}
	name, err := request.CheckName(c, "app", name)
	if err != nil {
		return nil, err
	}
	views, err := caller.ReadWith(c.Request.Context(), h.Scheduler, explain.Reader.Sandboxes, name)
	return answer.OrEmpty(views), err
}

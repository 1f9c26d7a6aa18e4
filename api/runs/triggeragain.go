package runs

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
)

// triggerAgain requests another run of an execution's job with the settings that were given when the execution was
// triggered. As with a trigger, only an admin may do so if these settings include env.
func (h *Handlers) triggerAgain(c *gin.Context) (any, error) {
	key, err := request.IdempotencyKey(c)
	if err != nil {
		return nil, err
	}
	id, err := request.PathValue(c, "executionId")
	if err != nil {
		return nil, err
	}
	ctx := c.Request.Context()
	mayGiveEnv := caller.Of(ctx).Includes(auth.Admin)
	newID, err := h.Scheduler.TriggerAgain(ctx, caller.ScopeOf(ctx), id, key, mayGiveEnv)
	if failure.Refusal(err).Code == "execution_not_found" {
		err = h.forgottenError(ctx, id, err)
	}
	return route.Triggered{ExecutionID: newID}, err
}

// forgottenError returns the error for an execution that only the history still has: it says how to run the job
// instead. For an execution that the history does not have, or of a job that the caller may not see, it returns
// notFound.
func (h *Handlers) forgottenError(ctx context.Context, id string, notFound error) error {
	if h.History == nil {
		return notFound
	}
	ctx, cancel := context.WithTimeout(ctx, history.ReadTimeout)
	defer cancel()
	stored, found, err := h.History.Execution(ctx, id)
	if err != nil || !found || caller.MaySee(ctx, h.Scheduler, stored.Job) != nil {
		return notFound
	}
	return failure.New(http.StatusConflict, "execution_forgotten",
		"only the history has execution %s, without the settings of its own: trigger its job with the settings that you want, POST /api/job/%s/trigger",
		failure.Quoted(id), stored.Job)
}

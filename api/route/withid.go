package route

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/request"
)

// WithID returns a handler that passes the id in the path variable to do.
func WithID(variable string, do func(ctx context.Context, id string) (any, error)) Handler {
	return func(c *gin.Context) (any, error) {
		id, err := request.PathValue(c, variable)
		if err != nil {
			return nil, err
		}
		return do(c.Request.Context(), id)
	}
}

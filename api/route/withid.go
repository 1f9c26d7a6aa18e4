package route

import (
	"context"

	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/gin-gonic/gin"
)

// WithID makes a handler of what has an id in the path.
func WithID(variable string, do func(ctx context.Context, id string) (any, error)) Handler {
	return func(c *gin.Context) (any, error) {
		id, err := request.PathValue(c, variable)
		if err != nil {
			return nil, err
		}
		return do(c.Request.Context(), id)
	}
}

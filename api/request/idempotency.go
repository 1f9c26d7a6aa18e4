package request

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// maxKey is the maximum length of the Idempotency-Key header, in bytes. It is bounded because the scheduler stores
// keys.
const maxKey = 200

// IdempotencyHeader is the header that makes it safe to repeat a request.
var IdempotencyHeader = openapi.Parameter{Name: "Idempotency-Key", In: "header",
	Schema:  openapi.Schema{"type": "string", "maxLength": maxKey},
	About:   "A repeated request with the same key returns the first one's execution.",
	Example: "2026-05-01-billing"}

// IdempotencyKey returns the request's idempotency key, or "" if the request has none.
func IdempotencyKey(c *gin.Context) (string, error) {
	key := c.GetHeader("Idempotency-Key")
	if len(key) > maxKey {
		return "", failure.BadRequest("bad_idempotency_key",
			"the Idempotency-Key header has %d characters; the maximum is %d",
			len(key), maxKey)
	}
	return key, nil
}

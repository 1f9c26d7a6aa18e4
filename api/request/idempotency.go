package request

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/openapi"
)

// maxKey bounds the Idempotency-Key header, which is stored.
const maxKey = 200

// IdempotencyHeader is the header of requests that may be sent again.
var IdempotencyHeader = openapi.Parameter{Name: "Idempotency-Key", In: "header",
	Schema:  openapi.Schema{"type": "string", "maxLength": maxKey},
	About:   "With one the request may be sent again: it gives the first one's execution.",
	Example: "2026-05-01-billing"}

// IdempotencyKey is the key that a request may be sent again with; empty for none.
func IdempotencyKey(c *gin.Context) (string, error) {
	key := c.GetHeader("Idempotency-Key")
	if len(key) > maxKey {
		return "", failure.BadRequest("bad_idempotency_key",
			"the Idempotency-Key header has %d characters; %d are the most",
			len(key), maxKey)
	}
	return key, nil
}

package answer

import "github.com/gin-gonic/gin"

// unmeasured is the key of a mark in a request's context, which ExcludeFromMetrics sets.
const unmeasured = "unmeasured"

// ExcludeFromMetrics excludes a request from the duration metrics, because its answer lasts as long as the client
// wants.
func ExcludeFromMetrics(c *gin.Context) { c.Set(unmeasured, true) }

// CountsInMetrics reports whether a request counts in the duration metrics.
func CountsInMetrics(c *gin.Context) bool { return !c.GetBool(unmeasured) }

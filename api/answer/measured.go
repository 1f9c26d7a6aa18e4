package answer

import "github.com/gin-gonic/gin"

// unmeasured marks requests that last as long as their client likes.
const unmeasured = "unmeasured"

// LeaveUnmeasured leaves a request, whose answer lasts as long as its client likes, out of the metrics of durations.
func LeaveUnmeasured(c *gin.Context) { c.Set(unmeasured, true) }

// Measured reports whether a request belongs in the metrics of durations.
func Measured(c *gin.Context) bool { return !c.GetBool(unmeasured) }

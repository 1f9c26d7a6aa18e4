package request

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// packageTime bounds a request that fetches a package; the fetch itself is bounded closer.
const packageTime = 2*time.Minute + 15*time.Second

// FetchesPackage reports whether a request may take so long.
func FetchesPackage(c *gin.Context) bool {
	asked, err := strconv.ParseBool(c.Query("check"))
	return c.FullPath() == "/api/app/check" || c.FullPath() == "/api/app" && err == nil && asked
}

// TimeFor is how long a request may take that usually has so much time.
func TimeFor(c *gin.Context, usual time.Duration) time.Duration {
	if FetchesPackage(c) {
		return max(packageTime, usual)
	}
	return usual
}

// LastLonger lets the connection wait for a package. The body must have been read.
func LastLonger(c *gin.Context) {
	line := http.NewResponseController(c.Writer)
	_ = line.SetReadDeadline(time.Time{})
	_ = line.SetWriteDeadline(time.Now().Add(packageTime + 15*time.Second))
}

package request

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// packageTimeout bounds a request that fetches a package. The fetch itself has a shorter timeout.
const packageTimeout = 2*time.Minute + 15*time.Second

// FetchesPackage reports whether a request fetches a package and so may take up to packageTimeout.
func FetchesPackage(c *gin.Context) bool {
	asked, err := strconv.ParseBool(c.Query("check"))
	return c.FullPath() == "/api/app/check" || c.FullPath() == "/api/app" && err == nil && asked
}

// Timeout returns the timeout of a request: the usual one, or more if it fetches a package.
func Timeout(c *gin.Context, usual time.Duration) time.Duration {
	if FetchesPackage(c) {
		return max(packageTimeout, usual)
	}
	return usual
}

// ExtendDeadlines extends the connection's deadlines for the fetch of a package. It may be called only after the body
// has been read.
func ExtendDeadlines(c *gin.Context) {
	line := http.NewResponseController(c.Writer)
	_ = line.SetReadDeadline(time.Time{})
	_ = line.SetWriteDeadline(time.Now().Add(packageTimeout + 15*time.Second))
}

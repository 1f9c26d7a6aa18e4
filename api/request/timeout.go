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
	check, err := strconv.ParseBool(c.Query("check"))
	return c.FullPath() == "/api/app/check" || c.FullPath() == "/api/app" && err == nil && check
}

// Timeout returns the timeout of a request: usual, or at least packageTimeout if the request fetches a package.
func Timeout(c *gin.Context, usual time.Duration) time.Duration {
	if FetchesPackage(c) {
		return max(packageTimeout, usual)
	}
	return usual
}

// ExtendDeadlines extends the connection's deadlines for the fetch of a package. It removes the deadline for reading,
// so it may be called only after the body has been read.
func ExtendDeadlines(c *gin.Context) {
	conn := http.NewResponseController(c.Writer)
	_ = conn.SetReadDeadline(time.Time{})
	_ = conn.SetWriteDeadline(time.Now().Add(packageTimeout + 15*time.Second))
}

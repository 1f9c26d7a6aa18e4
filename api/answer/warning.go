package answer

import (
	"strconv"

	"github.com/gin-gonic/gin"
)

// Warn sets the header Warning, which says what the answer lacks and why.
func Warn(c *gin.Context, text string) {
	c.Header("Warning", "199 elasticjob "+strconv.QuoteToASCII(text))
}

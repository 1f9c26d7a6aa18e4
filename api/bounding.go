package api

import (
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/gin-gonic/gin"
)

// bounding refuses answers that last when there are Options.MaxStreams of their kind, or the caller has a share of
// them, or while the process has no descriptors left.
func (s *Server) bounding(n *limit.Streams, lasts func(*gin.Context) bool, work gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !lasts(c) {
			work(c)
			return
		}
		if s.opts.Descriptors != nil && s.opts.Descriptors.Out() {
			s.answers.Fail(c.Writer, c.Request, n.OutOfDescriptors())
			return
		}
		leave, err := n.Enter(caller.Of(c.Request.Context()), s.opts.MaxStreams)
		if err != nil {
			s.answers.Fail(c.Writer, c.Request, err)
			return
		}
		defer leave()
		work(c)
	}
}

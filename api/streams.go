package api

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/limit"
)

// limitStreams wraps the handler of a route whose answers may last. It refuses such an answer if Options.MaxStreams of
// its kind are open, if the caller's share of them is used up, or if the process has no descriptors left.
func (s *Server) limitStreams(n *limit.Streams, lasts func(*gin.Context) bool, work gin.HandlerFunc) gin.HandlerFunc {
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

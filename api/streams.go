package api

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/limit"
)

// limitStreams returns a handler that calls work, unless the request is for a stream and there are too many: then it
// answers with an error. There are too many if Options.MaxStreams of them are open, if the caller has as many as one
// caller may have, or if the process has no descriptors left.
func (s *Server) limitStreams(
	streams *limit.Streams, isStream func(*gin.Context) bool, work gin.HandlerFunc,
) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !isStream(c) {
			work(c)
			return
		}
		if s.opts.Descriptors != nil && s.opts.Descriptors.Out() {
			s.answers.Fail(c.Writer, c.Request, streams.OutOfDescriptors())
			return
		}
		leave, err := streams.Enter(caller.Of(c.Request.Context()), s.opts.MaxStreams)
		if err != nil {
			s.answers.Fail(c.Writer, c.Request, err)
			return
		}
		defer leave()
		work(c)
	}
}

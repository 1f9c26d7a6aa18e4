package api

import (
	"strconv"
	"sync/atomic"

	"github.com/gin-gonic/gin"
)

// streams counts the answers of a kind that last as long as their clients like, each of which holds descriptors: this
// server's own, and those that it passes on from the leader.
type streams struct {
	// what they follow, as messages have it.
	what string
	open atomic.Int64
}

// enter reports whether there is room for one more, which leave makes again.
func (n *streams) enter(most int) bool {
	if n.open.Add(1) > int64(most) {
		n.leave()
		return false
	}
	return true
}

func (n *streams) leave() { n.open.Add(-1) }

// always is for routes all of whose answers last.
func always(*gin.Context) bool { return true }

// follows reports whether output is to be followed. What can't be read is refused later.
func follows(c *gin.Context) bool {
	follow, err := strconv.ParseBool(c.Query("follow"))
	return err == nil && follow
}

// bounding refuses answers that last when there are Options.MaxStreams of their kind, or while the process has no
// descriptors left.
func (s *Server) bounding(n *streams, lasts func(*gin.Context) bool, work gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !lasts(c) {
			work(c)
			return
		}
		if s.opts.Descriptors != nil && s.opts.Descriptors.Out() {
			out := unavailable("out_of_descriptors", "this server has no file descriptors left, and so lets nobody follow %s: "+
				"ask without following, or try again later; its log has the limit", n.what)
			out.retryAfter = aliveEvery
			fail(c.Writer, c.Request, s.log, out)
			return
		}
		if !n.enter(s.opts.MaxStreams) {
			full := unavailable("too_many_streams", "%d clients follow %s of this server already: close some, or ask for what "+
				"you need without following", s.opts.MaxStreams, n.what)
			full.retryAfter = aliveEvery
			fail(c.Writer, c.Request, s.log, full)
			return
		}
		defer n.leave()
		work(c)
	}
}

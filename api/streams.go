package api

import (
	"strconv"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/auth"
)

// leastStreams is how many streams one caller may have, however few a server has.
const leastStreams = 4

// streams counts the answers of a kind that last as long as their clients like, each of which holds descriptors: this
// server's own, and those that it passes on from the leader.
type streams struct {
	// what they follow, as messages have it.
	what string

	mu   sync.Mutex
	open int
	of   map[holder]int
}

// enter takes a place for a stream of that caller, which leave gives back. There are most, and one caller has a
// quarter of them at most; on a machine that is its only user, all.
func (n *streams) enter(who caller.Caller, most int) (leave func(), err error) {
	by, share := holder{who.Kind, who.Name}, most
	if who.Kind != auth.Machine {
		share = min(most, max(most/4, leastStreams))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.of[by] >= share:
		return nil, n.refuse("you follow %s of this server %d times already, as often as one caller may", n.what,
			share)
	case n.open >= most:
		return nil, n.refuse("%[2]d clients follow %[1]s of this server already, as many as may", n.what, most)
	}
	if n.of == nil {
		n.of = map[holder]int{}
	}
	n.open++
	n.of[by]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.open--
		if n.of[by]--; n.of[by] == 0 {
			delete(n.of, by)
		}
	}, nil
}

func (n *streams) refuse(why string, args ...any) error {
	f := failure.Unavailable("too_many_streams", why+": close some, or ask for what you need without following", args...)
	f.RetryAfter = aliveEvery
	return f
}

// count is how many are open.
func (n *streams) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// always is for routes all of whose answers last.
func always(*gin.Context) bool { return true }

// follows reports whether output is to be followed. What can't be read is refused later.
func follows(c *gin.Context) bool {
	follow, err := strconv.ParseBool(c.Query("follow"))
	return err == nil && follow
}

// bounding refuses answers that last when there are Options.MaxStreams of their kind, or the caller has a share of
// them, or while the process has no descriptors left.
func (s *Server) bounding(n *streams, lasts func(*gin.Context) bool, work gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		if !lasts(c) {
			work(c)
			return
		}
		if s.opts.Descriptors != nil && s.opts.Descriptors.Out() {
			out := failure.Unavailable("out_of_descriptors",
				"this server has no file descriptors left, and so lets nobody follow %s: "+
					"ask without following, or try again later; its log has the limit", n.what)
			out.RetryAfter = aliveEvery
			s.answers.Fail(c.Writer, c.Request, out)
			return
		}
		leave, err := n.enter(caller.Of(c.Request.Context()), s.opts.MaxStreams)
		if err != nil {
			s.answers.Fail(c.Writer, c.Request, err)
			return
		}
		defer leave()
		work(c)
	}
}

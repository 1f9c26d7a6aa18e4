package api

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/pages"
)

// observe logs and measures every request by its route's template, and sets the headers of every answer.
func (s *Server) observe(c *gin.Context) {
	begin := time.Now()
	pages.Guard(c.Writer.Header())
	ctx, refused := answer.WithRefusal(c.Request.Context())
	c.Request = c.Request.WithContext(ctx)
	defer func() {
		took := time.Since(begin)
		if answer.CountsInMetrics(c) {
			s.durations.WithLabelValues(methodLabel(c.Request.Method), s.template(c),
				fmt.Sprint(c.Writer.Status())).Observe(took.Seconds())
		}
		who, path := caller.Of(c.Request.Context()), s.template(c) // a stranger could put anything into the path
		if who.IsAuthenticated() {
			path = answer.LoggedPath(c.Request)
		}
		s.logRefusal(c, who, refused())
		s.log.DebugContext(c.Request.Context(), "request", "method", methodLabel(c.Request.Method), "path", path,
			"status", c.Writer.Status(), "bytes", max(0, c.Writer.Size()), "took", took, "who", who.Name, "kind",
			who.Kind, "from", caller.Address(c.Request))
	}()
	c.Next()
}

func (s *Server) template(c *gin.Context) string {
	return cmp.Or(s.byPath[s.pages.RoutePath(c)].Path, "none")
}

// methodLabel keeps methods that clients invent out of the metrics.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

// refusals bounds how many refused requests are logged, so that a client that guesses passwords cannot fill the disk.
type refusals struct {
	mu       sync.Mutex
	since    time.Time
	logged   int
	unlogged int
}

// In each refusalWindow, maxRefusals refusals are logged one by one; the others are only counted.
const (
	refusalWindow = 10 * time.Second
	maxRefusals   = 20
)

// take reports whether a refusal is to be logged. left is the number of refusals of the last window that were not
// logged, if a new window begins.
func (r *refusals) take(now time.Time) (log bool, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= refusalWindow || now.Before(r.since) {
		left, r.since, r.logged, r.unlogged = r.unlogged, now, 0, 0
	}
	if r.logged == maxRefusals {
		r.unlogged++
		return false, left
	}
	r.logged++
	return true, left
}

// logRefusal logs that a request was refused because of its caller: 401, 403 or 429.
func (s *Server) logRefusal(c *gin.Context, who caller.Caller, f *failure.Failure) {
	if f == nil || f.Status != http.StatusUnauthorized && f.Status != http.StatusForbidden &&
		f.Status != http.StatusTooManyRequests {
		return
	}
	log, left := s.refusals.take(s.opts.Now())
	if left > 0 {
		s.log.InfoContext(c.Request.Context(), "requests refused", "count", left)
	}
	if log {
		s.log.InfoContext(c.Request.Context(), "request refused", "reason", f.Code, "method",
			methodLabel(c.Request.Method), "route", s.template(c),
			"who", who.Name, "kind", who.Kind, "from", caller.Address(c.Request))
	}
}

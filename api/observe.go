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

// observe logs and measures every request under the path of its route, and sets the security headers of the answer.
func (s *Server) observe(c *gin.Context) {
	begin := time.Now()
	pages.SetSecurityHeaders(c.Writer.Header())
	ctx, refusal := answer.WithFailureRecorder(c.Request.Context())
	c.Request = c.Request.WithContext(ctx)
	defer func() {
		took := time.Since(begin)
		if answer.CountsInMetrics(c) {
			s.durations.WithLabelValues(methodLabel(c.Request.Method), s.template(c),
				fmt.Sprint(c.Writer.Status())).Observe(took.Seconds())
		}
		who, path := caller.Of(c.Request.Context()), s.template(c)
		if who.IsAuthenticated() { // the path of any other request may contain anything
			path = answer.LoggedPath(c.Request)
		}
		s.logRefusal(c, who, refusal())
		s.log.DebugContext(c.Request.Context(), "request", "method", methodLabel(c.Request.Method), "path", path,
			"status", c.Writer.Status(), "bytes", max(0, c.Writer.Size()), "took", took, "who", who.Name, "kind",
			who.Kind, "from", caller.Address(c.Request))
	}()
	c.Next()
}

// template returns the path of a request's route with its variables in braces, or "none".
func (s *Server) template(c *gin.Context) string {
	return cmp.Or(s.byPath[s.pages.RoutePath(c)].Path, "none")
}

// methodLabel returns the method, or "other" for a method without routes. Clients could otherwise create any number of
// metrics.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete:
		return method
	}
	return "other"
}

// refusals limits the log lines about refused requests, so that a client that guesses passwords cannot fill the disk.
// In each refusalWindow, maxRefusals refusals are logged; the others are only counted.
type refusals struct {
	mu       sync.Mutex
	since    time.Time // when the current window began
	logged   int       // in the current window
	unlogged int
}

const (
	refusalWindow = 10 * time.Second
	maxRefusals   = 20
)

// count counts a refusal, and reports whether it is to be logged. If the refusal begins a new window, unlogged is the
// number of refusals in the last window that were not logged.
func (r *refusals) count(now time.Time) (log bool, unlogged int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= refusalWindow || now.Before(r.since) {
		unlogged, r.since, r.logged, r.unlogged = r.unlogged, now, 0, 0
	}
	if r.logged == maxRefusals {
		r.unlogged++
		return false, unlogged
	}
	r.logged++
	return true, unlogged
}

// logRefusal logs a request that was refused because of its caller (401, 403 or 429). f is the failure with which the
// request was answered, or nil.
func (s *Server) logRefusal(c *gin.Context, who caller.Caller, f *failure.Failure) {
	if f == nil {
		return
	}
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
	default:
		return
	}
	log, unlogged := s.refusals.count(s.opts.Now())
	if unlogged > 0 {
		s.log.InfoContext(c.Request.Context(), "requests refused", "count", unlogged)
	}
	if log {
		s.log.InfoContext(c.Request.Context(), "request refused", "reason", f.Code, "method",
			methodLabel(c.Request.Method), "route", s.template(c),
			"who", who.Name, "kind", who.Kind, "from", caller.Address(c.Request))
	}
}

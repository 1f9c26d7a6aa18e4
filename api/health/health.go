// Package health handles the probes /healthz and /readyz.
package health

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// Options are the dependencies of the handlers of health.
type Options struct {
	Scheduler interface {
		Leader() (scheduler.LeaderView, bool)
		Health() scheduler.Health
	}
	Version string
	// Warning returns the problems that require an operator's attention although the server works, separated by
	// semicolons, or "".
	Warning func() string
	// Advertise is the host:port under which others reach this server.
	Advertise string
	// State says whether requests must be authenticated, or that this is unknown.
	State func() auth.State
}

// Handlers handles the probes.
type Handlers struct{ Options }

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Routes returns the routes of the probes.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("The server", []route.Route{
		{Method: get, Path: "/healthz", Rule: route.Public, Answer: h.healthz, Local: true, AnyQuery: true,
			Does: route.Does("Reports that the process is alive").Gives(health{})},
		{Method: get, Path: "/readyz", Rule: route.Public, Answer: h.readyz, Local: true, AnyQuery: true,
			Does: route.Does("Reports whether this server can do its work now").
				Gives(health{}).Fails(http.StatusServiceUnavailable)},
	})
}

// health is the answer to both probes.
type health struct {
	Status     string `json:"status"`
	Version    string `json:"version,omitempty"`
	Leading    bool   `json:"leading"`
	Subscribed bool   `json:"subscribed"`
	Leader     string `json:"leader,omitempty"`
	Detail     string `json:"detail,omitempty"`
	Warning    string `json:"warning,omitempty"`
}

// report returns the state of this server, with a status.
func (h *Handlers) report(status string) health {
	now := h.Scheduler.Health()
	l, _ := h.Scheduler.Leader()
	return health{Status: status, Version: h.Version, Leading: now.Leading, Subscribed: now.Subscribed,
		Leader: l.Address, Detail: now.Detail, Warning: h.Warning()}
}

// shownTo returns the part of the answer that the caller may see. Every caller may see the state of this server; the
// version, the leader, the detail and the warning are only for callers who may read everything. While the users cannot
// be read, nobody can log in; then requests from this machine get these fields too, so that an operator can find the
// cause.
func (h *Handlers) shownTo(c *gin.Context, all health) health {
	if caller.Of(c.Request.Context()).CanSeeAll() || h.State() == auth.Unknown && caller.IsLocal(c.Request) {
		return all
	}
	return health{Status: all.Status, Leading: all.Leading, Subscribed: all.Subscribed}
}

// healthz answers as long as the process is alive.
func (h *Handlers) healthz(c *gin.Context) (any, error) {
	return h.shownTo(c, h.report("ok")), nil
}

// readyz reports whether this server can do its work now: a leader must be subscribed to the cluster, and a follower
// must know another server as the leader.
func (h *Handlers) readyz(c *gin.Context) (any, error) {
	now := h.report("ready")
	follows := !now.Leading && now.Leader != "" && now.Leader != h.Advertise
	if !follows && !(now.Leading && now.Subscribed) {
		return nil, failure.Unavailable("not_ready", "%s",
			cmp.Or(h.shownTo(c, now).Detail, "this server cannot do its work now"))
	}
	return h.shownTo(c, now), nil
}

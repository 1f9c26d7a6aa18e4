// Package health answers probes.
package health

import (
	"cmp"
	"net/http"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/failure"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/gin-gonic/gin"
)

// Options are what the handlers of health need.
type Options struct {
	Scheduler interface {
		Leader() (scheduler.LeaderView, bool)
		Health() scheduler.Health
	}
	Version string
	// Warning says what an operator should look at though work goes on.
	Warning func() string
	// Advertise is the host:port at which others find this server.
	Advertise string
	// State is whether a login is needed.
	State func() auth.State
}

// Handlers say how the server does.
type Handlers struct{ Options }

// New makes the handlers.
func New(o Options) *Handlers { return &Handlers{o} }

// Routes are those of health.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	return route.Group("The server", []route.Route{
		{Method: get, Path: "/healthz", Rule: route.Everybody, Answer: h.healthz, Local: true, AnyQuery: true,
			Does: route.Does("Answers while the process lives").Gives(health{})},
		{Method: get, Path: "/readyz", Rule: route.Everybody, Answer: h.readyz, Local: true, AnyQuery: true,
			Does: route.Does("Says whether this server can do its work now").Gives(health{}).Fails(http.StatusServiceUnavailable)},
	})
}

// health is what the probes answer.
type health struct {
	Status     string `json:"status"`
	Version    string `json:"version,omitempty"`
	Leading    bool   `json:"leading"`
	Subscribed bool   `json:"subscribed"`
	Leader     string `json:"leader,omitempty"`
	Detail     string `json:"detail,omitempty"`
	Warning    string `json:"warning,omitempty"`
}

func (h *Handlers) health(status string) health {
	now := h.Scheduler.Health()
	l, _ := h.Scheduler.Leader()
	return health{Status: status, Version: h.Version, Leading: now.Leading, Subscribed: now.Subscribed,
		Leader: l.Address, Detail: now.Detail, Warning: h.Warning()}
}

// shownTo is what a caller sees of it: how this server does, everybody; of the others, and of what is wrong, only who
// may read all. While nobody can be let in, as the registry does not answer, this machine sees why on a loopback
// address.
func (h *Handlers) shownTo(c *gin.Context, all health) health {
	if caller.Of(c.Request.Context()).SeesAll() || h.State() == auth.Unknown && caller.IsOfThisMachine(c.Request) {
		return all
	}
	return health{Status: all.Status, Leading: all.Leading, Subscribed: all.Subscribed}
}

// healthz says that the process answers.
func (h *Handlers) healthz(c *gin.Context) (any, error) {
	return h.shownTo(c, h.health("ok")), nil
}

// readyz says whether it can do its work now: a leader, when the cluster's events
// come in, a follower, when there is a leader to forward requests to.
func (h *Handlers) readyz(c *gin.Context) (any, error) {
	now := h.health("ready")
	follows := !now.Leading && now.Leader != "" && now.Leader != h.Advertise
	if !follows && !(now.Leading && now.Subscribed) {
		return nil, failure.Unavailable("not_ready", "%s",
			cmp.Or(h.shownTo(c, now).Detail, "the scheduler cannot do its work yet"))
	}
	return h.shownTo(c, now), nil
}

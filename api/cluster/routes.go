// Package cluster handles the routes for watching and operating the cluster: the overview, the page of jobs, events,
// agents, reconciliation.
package cluster

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/api/answer"
	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/documents"
	"github.com/elasticjob-go/elasticjob/api/limit"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/scheduler"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// Scheduler is the part of the scheduler that the handlers of the cluster use.
type Scheduler interface {
	caller.Scheduler
	// JobPage, Summary, Overview and Follow return the jobs within the scope, or their changes.
	JobPage(ctx context.Context, scope explain.Scope, q view.Query) (view.Page, error)
	Summary(ctx context.Context, scope explain.Scope) (view.Summary, error)
	Overview(ctx context.Context, scope explain.Scope) (view.Overview, error)
	Follow(ctx context.Context, scope explain.Scope) (*view.Stream, error)
	// Reconcile reconciles the tasks with the cluster. It fails with TooSoon if it was requested a moment ago.
	Reconcile(ctx context.Context, scope explain.Scope, explicit bool) error
	// Cordon and Uncordon change the cordon of a machine, and return the machine after the change.
	Cordon(ctx context.Context, scope explain.Scope, r operator.CordonRequested) (views.MachineView, error)
	Uncordon(ctx context.Context, scope explain.Scope, machine string) (views.MachineView, error)
	// DrainMachine cordons a machine and begins to empty it. It returns the cordoned machine.
	DrainMachine(ctx context.Context, scope explain.Scope, r operator.DrainRequested) (views.MachineView, error)
	// DeclareDead ends all attempts on a machine, and returns how many it has ended.
	DeclareDead(ctx context.Context, scope explain.Scope, r operator.DeadRequested) (views.DeadView, error)
	// Leader and Health return at once, in every state of the scheduler. Leader returns the leader as this process
	// knows it, or false if it knows none.
	Leader() (scheduler.LeaderView, bool)
	Health() scheduler.Health
}

// Options are the dependencies of the handlers of the cluster.
type Options struct {
	Answers   *answer.Writer
	Scheduler Scheduler
	Faulty    documents.Faulty
	// Followed counts the event streams.
	Followed *limit.Streams
	// FrameworkName is the name under which the cluster knows this scheduler.
	FrameworkName string
	Version       string
	// Warning returns a problem that requires an operator's attention although the server works, or "".
	Warning func() string
	// Zone is the time zone of the crons of jobs without a time zone; nil means UTC.
	Zone *time.Location
	Now  func() time.Time
	// ShuttingDown is closed when the server shuts down. Event streams then end.
	ShuttingDown <-chan struct{}
}

// Handlers handles the routes for watching and operating the cluster.
type Handlers struct {
	Options
	fires firesCache
}

// New returns the handlers.
func New(o Options) *Handlers {
	return &Handlers{Options: o, fires: newFiresCache()}
}

// Routes returns the routes for watching and operating the cluster.
func (h *Handlers) Routes() []route.Route {
	const get, post = http.MethodGet, http.MethodPost
	return slices.Concat(route.Group("Live", []route.Route{
		{Method: get, Path: "/api/events", Rule: route.Viewers, Raw: h.events, IsStream: route.Always,
			Streams: h.Followed,
			Does: route.Does("Streams changes as server-sent events").Streams("text/event-stream",
				"Events hello, summary and changed, and comments, until the connection ends.", exampleEvents)},
		{Method: get, Path: "/api/jobs", Rule: route.Viewers, Answer: h.jobPage,
			Takes: jobPageTakes,
			Does:  route.Does("Returns one page of jobs: searched, filtered, sorted").Gives(view.Page{})},
		{Method: get, Path: "/api/overview", Rule: route.Viewers, Answer: h.overview,
			Does: route.Does("Returns a summary of the cluster and what needs attention").Gives(overviewAnswer{})},
	}), route.Group("Cluster", []route.Route{
		{Method: get, Path: "/api/cluster", Rule: route.ViewersOfAll, Answer: h.cluster,
			Takes: []request.Declared{agentSearch, agentPage, agentsPerPage},
			Does: route.Does("Returns the cluster as the leader knows it, with one page of its agents").
				Gives(views.ClusterView{})},
		{Method: get, Path: "/api/cluster/agents/{agentId}", Rule: route.ViewersOfAll,
			Answer: route.WithID("agentId", h.agent),
			Does:   route.Does("Returns one agent, its executors and its running tasks").Gives(views.AgentDetail{})},
		{Method: get, Path: "/api/overview/fires", Rule: route.ViewersOfAll, Answer: h.firesAhead,
			Does: route.Does("Counts the fires in each minute of the next hour").Gives(firesAhead{})},
	}), route.Group("Operation", []route.Route{
		{Method: post, Path: "/api/agent/{agent}/cordon", Rule: route.OperatorsOfAll, Answer: h.cordon,
			Does: route.Does("Cordons a machine: nothing new is placed there").Reads(route.BodyOf(cordonBody{})).
				Gives(views.MachineView{})},
		{Method: post, Path: "/api/agent/{agent}/dead", Rule: route.OperatorsOfAll, Answer: h.declareDead,
			Does: route.Does("Declares a machine dead: all attempts there are over").
				MayRead(route.BodyOf(deadBody{})).Gives(views.DeadView{})},
		{Method: post, Path: "/api/agent/{agent}/drain", Rule: route.OperatorsOfAll, Answer: h.drain,
			Does: route.Does("Drains a machine: nothing new is placed there, and its tasks move or end").
				Reads(route.BodyOf(drainBody{})).Gives(views.MachineView{})},
		{Method: post, Path: "/api/agent/{agent}/uncordon", Rule: route.OperatorsOfAll,
			Answer: h.uncordon,
			Does: route.Does("Ends the cordon of a machine").
				Gives(views.MachineView{})},
		{Method: post, Path: "/api/operate/reconcile/explicit", Rule: route.OperatorsOfAll, Answer: h.reconcile(true),
			Does: route.Does("Reconciles explicitly: asks the cluster about every known task").
				Gives(true).Fails(http.StatusTooManyRequests)},
		{Method: post, Path: "/api/operate/reconcile/implicit", Rule: route.OperatorsOfAll, Answer: h.reconcile(false),
			Does: route.Does("Reconciles implicitly: asks the cluster for all tasks of the framework").
				Gives(true).Fails(http.StatusTooManyRequests)},
		{Method: get, Path: "/api/operate/sandbox", Rule: route.ViewersOfAll, Answer: h.sandbox,
			Takes: []request.Declared{sandboxApp},
			Does: route.Does("Lists the sandboxes of an app's executors").
				Gives([]views.SandboxView{}).Fails(http.StatusNotFound)},
		{Method: get, Path: "/api/operate/faulty", Rule: route.ViewersOfAll, Answer: h.Faulty.List,
			Does: route.Does("Lists the documents in the registry that can't be used").Gives([]views.FaultyView{})},
		{Method: get, Path: "/api/leader", Rule: route.ViewersOfAll, Answer: h.leader, Local: true,
			Does: route.Does("Returns the leader, as far as this server knows").Gives(scheduler.LeaderView{})},
	}))
}

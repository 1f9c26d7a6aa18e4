package core

import (
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/attempts"
	"github.com/elasticjob-go/elasticjob/scheduler/core/audit"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/daemons"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/fires"
	"github.com/elasticjob-go/elasticjob/scheduler/core/imports"
	"github.com/elasticjob-go/elasticjob/scheduler/core/incidents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machinedrain"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machines"
	"github.com/elasticjob-go/elasticjob/scheduler/core/minutes"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/placement"
	"github.com/elasticjob-go/elasticjob/scheduler/core/reconcile"
	"github.com/elasticjob-go/elasticjob/scheduler/core/recording"
	"github.com/elasticjob-go/elasticjob/scheduler/core/retire"
	"github.com/elasticjob-go/elasticjob/scheduler/core/sandbox"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/state"
	"github.com/elasticjob-go/elasticjob/scheduler/core/stats"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/core/watch"
)

// Core holds one term's state and decides. It is pure: time, randomness and events come in with Step, and all effects
// are part of its result. It must not be used concurrently.
type Core struct {
	shared *step.Shared
	// decision is the decision of the present step, without the effects of the parts.
	decision Decision
	// commit has the writes of the present step. It is a field so that no step allocates it.
	commit store.Commit
	// st is the state of the term. The fields after it are the owners of its parts.
	st            *state.State
	config        *config.Set
	executions    *executions.Set
	agents        *agents.Set
	machines      *machines.Set
	startFailures *startfailures.Set
	executors     *executors.Set
	orphans       *orphans.Set
	subscription  *subscription.Subscription

	fires *fires.Fires
	// pending is the change of configuration that is being committed, or nil.
	pending       *pendingChange
	imports       *imports.Imports
	notifications *notifications.Notifications
	incidents     *incidents.Incidents
	daemons       *daemons.Daemons
	recording     *recording.Recording
	minutes       *minutes.Minutes
	audit         *audit.Log
	stateVersion  stateVersion

	placement  *placement.Placement
	places     sandbox.Places
	attempts   *attempts.Attempts
	retirer    *retire.Retirer
	drainer    *machinedrain.Drainer
	reconciler reconcile.Reconciler
	views      *views.Views
	watch      *watch.Watch
	operator   *operator.Operator
}

// New returns an empty core; Load fills it.
func New(opt step.Options) *Core {
	shared := &step.Shared{Opt: opt, JobStats: stats.NewPerJob(opt.JobMetrics), Numbers: stats.New()}
	st := state.New(shared)
	c := &Core{
		shared: shared, st: st, config: st.Config, executions: st.Executions, agents: st.Agents, machines: st.Machines,
		startFailures: st.StartFailures, executors: st.Executors, orphans: st.Orphans, subscription: st.Subscription,
		notifications: notifications.New(shared, st.Config),
		recording:     recording.New(shared, st.Executions),
	}
	c.incidents = incidents.New(shared, st.Machines, c.notifications)
	c.fires = fires.New(st, c.recording)
	c.places = sandbox.New(st)
	c.daemons = daemons.New(st, c.recording, c.notifications)
	c.attempts = attempts.New(st, c.places, c.daemons, c.recording)
	c.placement = placement.New(st, c.daemons.Describer(), c.daemons, c.fires)
	c.drainer = machinedrain.New(st, c.placement, c.daemons)
	c.reconciler = reconcile.New(st)
	c.retirer = retire.New(st, c.placement.Probe)
	c.minutes = minutes.New(st, c.recording.Sampled)
	c.audit = audit.New(shared, st.Config, func(r audit.Row) { c.recording.Audited(r) })
	c.views = views.New(st, views.Parts{Placement: c.placement, Fires: c.fires, Daemons: c.daemons, Places: c.places,
		Notifications: c.notifications, Audit: c.audit, Minutes: c.minutes, Drainer: c.drainer,
		Silence: c.attempts})
	c.imports, c.watch = imports.New(st), watch.New(st, c.placement, c.fires)
	c.operator = operator.New(st, c.audit, c.reconciler, c.attempts, c.views.ExecutionNotFound)
	st.Executions.Observe(c.follow)
	return c
}

// Views returns the views of the core, which may be read between two steps.
func (c *Core) Views() *views.Views { return c.views }

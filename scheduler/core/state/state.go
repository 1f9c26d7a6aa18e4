// Package state puts together everything that a leader term knows of the cluster and of the registered apps and jobs.
// A State holds the owners of that knowledge: each is a package whose state changes only by its own methods. The
// packages that decide are given the State; questions that need several owners are answered here. The package itself
// owns nothing and decides nothing.
package state

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/fencing"
	"github.com/elasticjob-go/elasticjob/scheduler/core/leases"
	"github.com/elasticjob-go/elasticjob/scheduler/core/machines"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
)

// State holds the owners of a term's state, and the data that the parts of a step share.
type State struct {
	*step.Shared
	// Config owns apps, jobs and disabled marks.
	Config *config.Set
	// Executions owns executions with their shards and attempts, open and ended.
	Executions *executions.Set
	// Agents owns the state of each agent.
	Agents *agents.Set
	// Machines owns the marks of cordoned machines.
	Machines *machines.Set
	// Executors owns the executors that were launched and have not ended.
	Executors *executors.Set
	// Orphans owns abandoned attempts that may still run.
	Orphans *orphans.Set
	// Fencing owns the counter of fencing tokens.
	Fencing *fencing.Tokens
	// Leases owns when leases of exclusive tasks were asked for.
	Leases *leases.Set
	// StartFailures owns the failed starts that keep apps off agents.
	StartFailures *startfailures.Set
	// Subscription owns the framework id, the session and the takeover.
	Subscription *subscription.Subscription
}

// New makes the empty state of a term. Loading fills it.
func New(s *step.Shared) *State {
	st := &State{Shared: s, Config: config.New(s), Executions: executions.New(s), Agents: agents.New(s),
		Machines:  machines.New(s),
		Executors: executors.New(s), Orphans: orphans.New(s), Fencing: fencing.New(s), Leases: leases.New(s),
		Subscription: subscription.New(s)}
	st.StartFailures = startfailures.New(s, func(id string) bool { return st.Executions.Get(id) != nil })
	return st
}

// CanLaunch reports whether the first execution of a job's queue may be launched: the job is active and no orphan
// blocks one of its shards. It is false for a nil job. It does not consider resources.
func (s *State) CanLaunch(j *config.Job) bool {
	if j == nil || j.Config() == nil || s.Config.Inactive(j) != config.Active {
		return false
	}
	_, blocked := s.Orphans.BlockingAmong(j.Name(), j.Config().ShardingTotalCount)
	return !blocked
}

// HeldBack reports whether the waiting shards of a daemon's execution must not be placed now, because its job is not
// active. It is false for any other execution.
func (s *State) HeldBack(e *executions.Execution) bool {
	j := s.Config.Job(e.Job())
	return e.Daemon() && (j == nil || s.Config.Inactive(j) != config.Active)
}

// IsExcluded reports whether nothing is placed on an agent: it is in maintenance, its executors are silent, or its
// machine is cordoned.
func (s *State) IsExcluded(agentID string) bool {
	if s.Agents.IsExcluded(agentID) {
		return true
	}
	a := s.Agents.Get(agentID)
	return a != nil && s.Machines.IsCordoned(a.Host())
}

// Excluded returns, by id, the known agents for which IsExcluded holds, with the reason that users see; nil if there
// are none. The reason of a cordon takes precedence, because an operator may have written it.
func (s *State) Excluded() map[string]reason.Reason {
	excluded := s.Agents.Excluded()
	for _, machine := range s.Machines.Names() {
		why := s.Machines.Why(machine)
		for _, id := range s.Agents.OnHost(machine) {
			if excluded == nil {
				excluded = map[string]reason.Reason{}
			}
			excluded[id] = why
		}
	}
	return excluded
}

// OnlySilent reports whether nothing but the silence of its executor makes an attempt unreachable. What the cluster said
// of its agent before is void once the agent has registered again.
func (s *State) OnlySilent(sh *executions.Shard) bool {
	return sh.OnlySilent() || sh.Silent() && s.Agents.Registered(sh.Agent())
}

// AllAvoided returns why nothing is placed on any registered agent: each is cordoned, in maintenance or silent, so that
// its offers are declined. It returns the zero Reason if one may be used, or none is registered.
func (s *State) AllAvoided() reason.Reason {
	excluded, avoided := s.Excluded(), 0
	var first reason.Agent
	var why reason.Reason
	for _, id := range s.Agents.IDs() {
		if !s.Agents.Registered(id) {
			continue
		}
		of, found := excluded[id]
		if !found {
			return reason.Reason{}
		}
		if avoided++; avoided == 1 {
			first, why = reason.Agent{ID: id, Host: s.Agents.Get(id).Host()}, of
		}
	}
	if avoided == 0 {
		return reason.Reason{}
	}
	return reason.AgentsAvoided(avoided, first, why)
}

// AppOf returns the app's document that an execution runs with, or will run with; nil if the app is not registered.
func (s *State) AppOf(e *executions.Execution) *app.Config { return s.Config.AppOf(e).Config() }

// ExecutorSize returns the resources that an app's executor takes on each agent in addition to the app's tasks. They
// are zero where each task has an executor of its own.
func (s *State) ExecutorSize(a *app.Config) resources.Amount {
	if s.Opt.TaskExecutors {
		return resources.Amount{}
	}
	return a.Resources()
}

// Allot puts a task on the account of its executor or, if x is nil because the task has an executor of its own, of its
// agent.
func (s *State) Allot(agentID string, x *executors.Executor, need resources.Amount, daemon bool) {
	if x == nil {
		s.Agents.Allot(agentID, need, daemon)
		return
	}
	s.Executors.Allot(x, need, daemon)
}

// TakesTasks reports whether an executor may get new tasks: it is not closing and has no orphans.
func (s *State) TakesTasks(x *executors.Executor) bool {
	return !x.IsClosing() && !s.Orphans.ExistOn(x.ID())
}

// RemovedWait returns how long an agent must have been registered before the tasks of a removed framework must have
// ended on it (rule T7).
func (s *State) RemovedWait() time.Duration {
	return s.Opt.RemovedWait + max(s.Opt.KillGrace, s.Opt.ExecutorShutdown)
}

// Package state is all that a leader term knows of the cluster and of what people have registered, by its owners: each is a
// package whose state nothing else can change except by the transitions that it names. What decides has the State; what
// several of them need to know together is asked here.
package state

import (
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/orphans"
	"github.com/elasticjob-go/elasticjob/scheduler/core/startfailures"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/subscription"
)

// State has the owners of a term's state.
type State struct {
	*step.Shared
	Config       *config.Set
	Executions   *executions.Set
	Agents       *agents.Set
	Executors    *executors.Set
	Orphans      *orphans.Set
	Starts       *startfailures.Set
	Subscription *subscription.Subscription
}

// New makes the state of a term that knows nothing yet.
func New(s *step.Shared) *State {
	st := &State{Shared: s, Config: config.New(s), Executions: executions.New(s), Agents: agents.New(s), Executors: executors.New(s),
		Orphans: orphans.New(s), Subscription: subscription.New(s)}
	st.Starts = startfailures.New(s, func(id string) bool { return st.Executions.Get(id) != nil })
	return st
}

// CanLaunch reports whether the first execution of a job's queue may be launched.
func (s *State) CanLaunch(j *config.Job) bool {
	if j == nil || j.Config() == nil || s.Config.Inactive(j) != config.Active {
		return false
	}
	_, blocked := s.Orphans.BlockingAmong(j.Name(), j.Config().ShardingTotalCount)
	return !blocked
}

// HeldBack reports whether the waiting shards of a standing execution are not to be placed now: its job is paused, or can't be run.
func (s *State) HeldBack(e *executions.Execution) bool {
	j := s.Config.Job(e.Job())
	return e.Daemon() && (j == nil || s.Config.Inactive(j) != config.Active)
}

// AppOf is the document of the app that an execution runs, or will run, with; nil if the app is not registered.
func (s *State) AppOf(e *executions.Execution) *app.Config {
	if e.Launched() {
		return s.Config.App(e.Settings().App.AppName).Config()
	}
	if j := s.Config.Job(e.Job()); j != nil && j.Config() != nil {
		return s.Config.App(j.Config().AppName).Config()
	}
	return nil
}

// ExecutorSize is what an app takes once per agent, beside its tasks.
func (s *State) ExecutorSize(a *app.Config) resources.Amount {
	if s.Opt.TaskExecutors {
		return resources.Amount{}
	}
	return a.Resources()
}

// Allot puts a task on the account of its executor or, if the task has one of its own, of its agent.
func (s *State) Allot(agentID string, x *executors.Executor, need resources.Amount, daemon bool) {
	if x == nil {
		s.Agents.Allot(agentID, need, daemon)
		return
	}
	s.Executors.Allot(x, need, daemon)
}

// RemovedWait is how long an agent must have been registered for the tasks of a removed framework to be over.
func (s *State) RemovedWait() time.Duration {
	return s.Opt.RemovedWait + max(s.Opt.KillGrace, s.Opt.ExecutorShutdown)
}

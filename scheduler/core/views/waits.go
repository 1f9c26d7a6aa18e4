package views

import (
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// WaitReason returns the reason why an execution, which was not launched yet, waits. j is its job, in whose queue it
// must be.
func (vs *Views) WaitReason(j *config.Job, e *executions.Execution) reason.Reason {
	if first := vs.st.Executions.First(j.Name()); first != e {
		if j.Config() != nil && first.Launched() && first.Settings().Job.JobName == j.Name() &&
			!first.Kill().IsZero() {
			return reason.BeingEnded(first.ID(), first.Kill())
		}
		if first.Daemon() {
			return reason.DaemonBeingEnded(first.ID())
		}
		return reason.OneAtATime(first.ID(), strings.ToLower(string(first.State())))
	}
	if why := vs.st.Config.InactiveReason(j); !why.IsZero() {
		return why
	}
	if o, blocks := vs.st.Orphans.BlockingAmong(j.Name(), j.Config().ShardingTotalCount); blocks {
		return vs.orphanReason(&o)
	}
	return vs.unplacedReason(e)
}

// ShardWaitReason returns the reason why a waiting shard of a launched execution waits, and why its last attempt
// ended.
func (vs *Views) ShardWaitReason(e *executions.Execution, s *executions.Shard) reason.Reason {
	if !e.Kill().IsZero() {
		return e.Kill()
	}
	if j := vs.st.Config.Job(e.Job()); j != nil && vs.st.HeldBack(e) {
		return vs.st.Config.InactiveReason(j)
	}
	if o, blocks := vs.st.Orphans.Blocking(e.Job(), s.Item()); blocks {
		return reason.AfterAttempt(vs.orphanReason(&o), s.Cause())
	}
	why := vs.unplacedReason(e)
	if s.NotBefore().After(vs.st.Now()) {
		why = reason.RetryAt(vs.st.Shown(s.NotBefore()))
	}
	return reason.AfterAttempt(why, s.Cause())
}

// unplacedReason returns why no match has placed an execution yet.
func (vs *Views) unplacedReason(e *executions.Execution) reason.Reason {
	switch why := vs.noLaunches(); {
	case !why.IsZero():
		return why
	case vs.placement.Held().Len() == 0 && !vs.st.Agents.AllClosed().IsZero():
		return vs.st.Agents.AllClosed()
	case !e.Unplaced().Why.IsZero():
		return e.Unplaced().Why
	case vs.placement.Held().Len() == 0:
		return vs.st.AllAvoided().Or(reason.Of(reason.NothingOffered))
	}
	return reason.Of(reason.AboutToPlace)
}

// noLaunches returns why no launch is possible now; the zero Reason if launches are possible.
func (vs *Views) noLaunches() reason.Reason {
	switch {
	case vs.st.Draining():
		return reason.Of(reason.Stopping)
	case vs.st.Opt.Held != "":
		return reason.LaunchesHeld(vs.st.Opt.Held)
	case vs.st.Subscription.InTakeover():
		return vs.st.Subscription.TakeoverReason()
	case !vs.st.Subscription.Open():
		return reason.NotConnected(vs.st.Subscription.Reason())
	}
	return reason.Reason{}
}

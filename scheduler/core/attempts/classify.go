package attempts

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// outcome says what the end of an attempt means (rules E1-E3).
type outcome int

const (
	outcomeFinished             outcome = iota
	outcomeFailed                       // E3: by itself; maxRetries runs it again
	outcomeLost                         // E2: failover runs it again
	outcomeNeverStarted                 // E1: launched again
	outcomeRejected                     // E1: the master's ERROR, launched again a few times
	outcomeExecutorInfoMismatch         // X1: the master has its executor otherwise; launched again on a new one
	outcomeExecutorStartFailed          // L6: its executor did not start on that agent
	outcomeKilled                       // as wanted
)

// progressSoFar is what is known of an attempt before its end: how far it was seen to go, whether its executor
// fetches its package, whether a master had its agent marked unreachable, and whether its kill is wanted.
type progressSoFar struct {
	seen                       int
	fetching, away, killWanted bool
}

func soFar(s *executions.Shard) progressSoFar {
	return progressSoFar{seen: s.Seen(), fetching: s.Fetching(), away: s.Away(), killWanted: !s.KillSince().IsZero()}
}

// classify says what a terminal update means for an attempt. heard is whether an update of the attempt's executor,
// about any of its tasks, was committed before (executors.Executor.Heard).
func classify(s progressSoFar, u cluster.Update, heard bool) outcome {
	began := mayHaveBegun(s, u, heard)
	switch u.State {
	case cluster.Finished:
		return outcomeFinished
	case cluster.Failed:
		switch u.Reason {
		case cluster.ReasonContainerMemory, cluster.ReasonContainerDisk:
			return outcomeFailed
		}
		if u.Source == cluster.FromExecutor {
			if u.Status != nil && u.Status.SupervisorLost {
				return outcomeLost
			}
			return outcomeFailed
		}
		if !began {
			return outcomeExecutorStartFailed
		}
		return outcomeLost
	case cluster.Killed:
		switch {
		case s.killWanted:
			return outcomeKilled
		case !began:
			return outcomeNeverStarted
		}
		return outcomeLost
	case cluster.Error:
		if !began && len(u.UUID) == 0 {
			if u.ExecutorMismatch {
				return outcomeExecutorInfoMismatch
			}
			return outcomeRejected
		}
		return outcomeFailed
	}
	// DROPPED, LOST, GONE, GONE_BY_OPERATOR and a final UNKNOWN.
	switch {
	case began:
		return outcomeLost
	case u.Source == cluster.FromAgent && u.Reason == cluster.ReasonExecutorTerminated:
		// The executor ended, or was never made, before the agent could hand the task over.
		return outcomeExecutorStartFailed
	}
	return outcomeNeverStarted
}

// mayHaveBegun is rule E1: what may have begun counts as begun. An attempt counts as never begun only where that is
// known, and silence alone proves nothing: a process runs for 25 ms before its executor reports it, and a report can
// be lost with the machine that holds it.
//
// What can be known follows from what executors promise. No process is made before the agent has a STARTING of its
// task, unless the scheduler has acknowledged an update of that executor before; and after a fetch, which is
// reported as STARTING in the phase FETCH, none is made before the agent has another STARTING. The agent delivers
// the updates of one task in order, its own about the task's end included. So an end that the agent itself reports,
// of a task whose executor has not been heard, or whose last word was that it fetches, is the end of a task without
// a process.
func mayHaveBegun(s progressSoFar, u cluster.Update, heard bool) bool {
	if u.Source == cluster.FromExecutor {
		if st := u.Status; st != nil {
			return !st.StartTime.IsZero() || st.SupervisorLost
		}
	}
	ofStream := u.Source == cluster.FromAgent && len(u.UUID) > 0
	switch {
	case s.fetching:
		return !ofStream
	case s.seen >= executions.SeenStarting:
		return true
	case u.State == cluster.Error && len(u.UUID) == 0:
		return false // the master refused the launch
	case u.Reason == cluster.ReasonReconciliation, u.Reason == cluster.ReasonAgentReregistered:
		switch u.State {
		case cluster.Gone, cluster.Unknown, cluster.Dropped:
			// The task's agent is registered and does not know it. An agent writes a task down before it hands it
			// over, so the launch was lost on the way there. Where the agent was away for long enough to be marked
			// unreachable, its machine may have been started again, which loses what was written down.
			return s.away
		}
	case u.State == cluster.Dropped, u.Reason == cluster.ReasonKilledDuringLaunch:
		return false // Mesos says so of tasks that were not handed to their executor
	case ofStream:
		return heard
	}
	return true
}

package attempts

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// outcome is the meaning of the end of an attempt (rules E1-E3).
type outcome int

const (
	outcomeFinished     outcome = iota
	outcomeFailed               // the task failed by itself; maxRetries allows another attempt (E3)
	outcomeLost                 // the task was lost; failover allows another attempt (E2)
	outcomeNeverStarted         // no process began; launched again (E1)
	outcomeRejected             // the master answered ERROR; launched again a few times (E1)
	// The master knows its executor with another ExecutorInfo; launched again on a new one (X1).
	outcomeExecutorInfoMismatch
	outcomeExecutorStartFailed // its executor did not start on that agent (L6)
	outcomeKilled              // it ended after a wanted kill
)

// progressSoFar is what was known of an attempt before the report of its end: the furthest reported state (seen),
// whether its executor fetches its package, whether a master has marked its agent as unreachable (away), and whether
// its kill is wanted.
type progressSoFar struct {
	seen                       int
	fetching, away, killWanted bool
}

func soFar(s *executions.Shard) progressSoFar {
	return progressSoFar{seen: s.Seen(), fetching: s.Fetching(), away: s.Away(), killWanted: !s.KillSince().IsZero()}
}

// classify returns what a terminal update means for an attempt. heard says that an update from the attempt's executor,
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
		// The executor ended, or did not come up, before the agent could hand the task over.
		return outcomeExecutorStartFailed
	}
	return outcomeNeverStarted
}

// mayHaveBegun reports whether a process of the attempt may have begun (rule E1). An attempt counts as never begun
// only if that is certain. Silence alone proves nothing: a process runs for 25 ms before its executor reports it, and
// a report can be lost with the machine that holds it.
//
// The certainty comes from what executors promise. An executor starts no process before the agent has a STARTING of
// its task, unless the scheduler has acknowledged an update of that executor before. A fetch is reported as STARTING
// in the phase FETCH; after it, the executor starts no process before the agent has another STARTING. The agent
// delivers the updates of one task in order, including its own about the task's end. So there was no process if the
// agent itself reports the end of a task, and either the executor was never heard or the last update of the task said
// that its package is being fetched.
func mayHaveBegun(s progressSoFar, u cluster.Update, heard bool) bool {
	if u.Source == cluster.FromExecutor {
		if st := u.Status; st != nil {
			return !st.StartTime.IsZero() || st.SupervisorLost
		}
	}
	// inOrder is set for an update of the agent itself, which it delivers after the executor's updates of the task.
	inOrder := u.Source == cluster.FromAgent && len(u.UUID) > 0
	switch {
	case s.fetching:
		return !inOrder
	case s.seen >= executions.SeenStarting:
		return true
	case u.State == cluster.Error && len(u.UUID) == 0:
		return false // the master refused the launch
	case u.Reason == cluster.ReasonReconciliation, u.Reason == cluster.ReasonAgentReregistered:
		switch u.State {
		case cluster.Gone, cluster.Unknown, cluster.Dropped:
			// The task's agent is registered and does not know the task. An agent writes a task down before it hands
			// it over, so the launch was lost on the way to the agent. If the agent was away for long enough to be
			// marked unreachable, its machine may have rebooted, which loses what was written down.
			return s.away
		}
	case u.State == cluster.Dropped, u.Reason == cluster.ReasonKilledDuringLaunch:
		return false // Mesos says so of tasks that were not handed to their executor
	case inOrder:
		return heard
	}
	return true
}

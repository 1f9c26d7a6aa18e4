package attempts

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// endOf collects what an update says about the end of an attempt: the time of the end, the exit status and the cause.
// It also records the place of the attempt's output, the start of its process and its last progress.
func (as *Attempts) endOf(ref executions.TaskRef, u cluster.Update) executions.End {
	s := ref.Shard()
	end := executions.End{UUID: u.UUID, Complete: as.st.ReportedTime(u.Timestamp)}
	if u.ExecutorID == "" {
		u.ExecutorID = s.Executor()
	}
	// If the kill was wanted, its reason is known here, and the cause is what the task said last.
	wantedKill := u.State == cluster.Killed && u.Status != nil && !s.KillSince().IsZero()
	if st := u.Status; st != nil {
		as.places.Record(ref, st)
		if !st.StartTime.IsZero() {
			as.st.Executions.RecordStart(ref, st.StartTime)
		}
		if !st.CompleteTime.IsZero() {
			end.Complete = st.CompleteTime
		}
		end.Exit, end.Cause = st.ExitStatus, reason.FromText(st.Cause)
		if wantedKill {
			end.Cause = reason.FromText(st.LastWords())
		}
		if st.Progress != nil {
			as.st.Executions.SetProgress(ref, as.boundedProgress(st.Progress))
		}
		if st.Forced {
			end.Cause = reason.EndedByForce(end.Cause)
		}
	}
	if u.State == cluster.Killed && s.KillSince().IsZero() && u.Reason != "" {
		end.Cause = describeEnd(u) // the executor knows only that a kill was requested, not why
	}
	if end.Cause.IsZero() && u.State != cluster.Finished && !wantedKill {
		end.Cause = describeEnd(u)
	}
	if u.State == cluster.Unreachable || u.State == cluster.Unknown {
		end.Complete = as.st.Wall() // the reported time is that of the answer, not of the end
	}
	return end
}

// describeEnd returns the cause of an end in the words of the cluster.
func describeEnd(u cluster.Update) reason.Reason {
	switch u.Reason {
	case cluster.ReasonContainerMemory:
		return reason.OverMemoryLimit(u.Message)
	case cluster.ReasonContainerDisk:
		return reason.OverDiskLimit(u.Message)
	case cluster.ReasonExecutorTerminated:
		executor := u.ExecutorID
		if _, err := jobs.ParseExecutorID(executor); err != nil {
			executor = "" // the task has its own executor, whose id means nothing to people
		}
		return reason.ExecutorEnded(executor, u.AgentID, string(u.State), string(u.Reason), u.Message)
	case cluster.ReasonAgentDraining:
		return reason.AgentDraining(string(u.Reason), u.Message)
	}
	return reason.ClusterReported(string(u.State), string(u.Reason), u.Message)
}

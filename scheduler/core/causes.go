package core

import (
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// readEnd takes from a terminal update what people want to know.
func (c *Core) readEnd(ref taskRef, u cluster.Update) {
	s := ref.shard()
	s.UUID = u.UUID
	s.Complete = c.timeOf(u)
	s.Exit, s.Cause = nil, reason.Reason{}
	if u.ExecutorID == "" {
		u.ExecutorID = s.Executor
	}
	if st := u.Status; st != nil {
		c.learnSandbox(s, st)
		if !st.StartTime.IsZero() {
			c.learnStart(ref, st.StartTime)
		}
		if !st.CompleteTime.IsZero() {
			s.Complete = st.CompleteTime
		}
		s.Exit, s.Cause = st.ExitStatus, reason.FromText(st.Cause)
	}
	if u.State == cluster.Killed && s.KillSince.IsZero() && u.Reason != "" {
		s.Cause = describeEnd(u) // its executor only knows that somebody asked for it
	}
	if s.Cause.IsZero() && u.State != cluster.Finished {
		s.Cause = describeEnd(u)
	}
	s.Cause = s.Cause.Shortened(store.Shorten)
}

// describeEnd says what the cluster reported of an end.
func describeEnd(u cluster.Update) reason.Reason {
	switch u.Reason {
	case cluster.ReasonContainerMemory:
		return reason.OverMemoryLimit(u.Message)
	case cluster.ReasonContainerDisk:
		return reason.OverDiskLimit(u.Message)
	case cluster.ReasonExecutorTerminated:
		executor := u.ExecutorID
		if _, err := jobs.ParseExecutorID(executor); err != nil {
			executor = "" // it brings its own, which has no name for people
		}
		return reason.ExecutorEnded(executor, u.AgentID, string(u.State), string(u.Reason), u.Message)
	case cluster.ReasonAgentDraining:
		return reason.AgentDraining(string(u.Reason), u.Message)
	}
	return reason.ClusterReported(string(u.State), string(u.Reason), u.Message)
}

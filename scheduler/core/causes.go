package core

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// readEnd takes from a terminal update what people want to know.
func (c *Core) readEnd(ref taskRef, u cluster.Update) {
	s := ref.shard()
	s.UUID = u.UUID
	s.Complete = c.timeOf(u)
	s.Exit, s.Cause = nil, ""
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
		s.Exit, s.Cause = st.ExitStatus, st.Cause
	}
	if u.State == cluster.Killed && s.KillSince.IsZero() && u.Reason != "" {
		s.Cause = describeEnd(u) // its executor only knows that somebody asked for it
	}
	if s.Cause == "" && u.State != cluster.Finished {
		s.Cause = describeEnd(u)
	}
	s.Cause = shorten(s.Cause)
}

// describeEnd says what the cluster reported of an end.
func describeEnd(u cluster.Update) string {
	text := u.Message
	if text == "" {
		text = "the cluster gave no message"
	}
	switch u.Reason {
	case cluster.ReasonContainerMemory:
		return "over the memory limit of its container, which executor and tasks share: " + text
	case cluster.ReasonContainerDisk:
		return "over the disk limit of its container, which executor and tasks share: " + text
	case cluster.ReasonExecutorTerminated:
		return executorDied(u, text)
	case cluster.ReasonAgentDraining:
		return fmt.Sprintf("killed because an operator drains its agent (%s): %s", u.Reason, text)
	case "":
		return fmt.Sprintf("%s: %s", u.State, text)
	}
	return fmt.Sprintf("%s (%s): %s", u.State, u.Reason, text)
}

// executorDied says what ended a task whose executor ended: what, where, and where to look.
func executorDied(u cluster.Update, text string) string {
	which, where := "its executor", "its sandbox"
	if _, err := jobs.ParseExecutorID(u.ExecutorID); err == nil {
		// The app is not named but by the id: the job may be of another app when this is read.
		which, where = which+" "+u.ExecutorID, "GET /api/operate/sandbox with the app's name"
	}
	return fmt.Sprintf("%s on agent %s ended before the task did (%s, %s: %s): it was killed, was over a limit, or had a fault; its stderr (%s) and that agent's log tell more",
		which, u.AgentID, u.State, u.Reason, text, where)
}

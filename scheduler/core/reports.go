package core

import (
	"fmt"
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// handleClusterEvent applies an event of the open session.
func (c *Core) handleClusterEvent(e cluster.Event) {
	c.watch.MarkCluster(e)
	switch e := e.(type) {
	case cluster.Offers:
		c.addOffers(e)
	case cluster.Closed:
		if len(e.AgentID) <= jobs.MaxAgentIDBytes && c.agents.RecordClosed(e) {
			// The reasons of waiting shards may change, although no offer has changed.
			c.shared.RequestMatch()
		}
	case cluster.Rescind:
		c.placement.Rescind(e.OfferID)
	case cluster.Update:
		c.shared.Numbers.StatusUpdates++
		c.attempts.Update(e)
	case cluster.Failure:
		c.applyFailure(e)
	case cluster.Message:
		c.attempts.Message(e)
	}
}

// addOffers adds new offers, and records what they show of agents and executors.
func (c *Core) addOffers(e cluster.Offers) {
	c.placement.RecordReviveAnswer()
	executorsOn := map[string][]string{} // as the last offer of each agent names them
	var empty []string
	for _, o := range e.Offers {
		c.shared.Numbers.OffersReceived++
		if c.agents.RecordOffer(o) {
			for _, x := range c.executors.On(o.AgentID) {
				c.executors.RepeatShutdown(x)
			}
		}
		c.checkExecutorsOnOffer(o)
		executorsOn[o.AgentID] = o.ExecutorIDs
		if isUnusable(o) {
			empty = append(empty, o.ID)
			continue
		}
		c.placement.Offer(o)
	}
	for _, agent := range step.SortedKeys(executorsOn) {
		largest, settled := c.placement.MeasureAgent(agent, executorsOn[agent])
		c.agents.RaiseCapacity(agent, largest)
		c.agents.RaiseTotal(agent, settled)
		c.attempts.AgentRegistered(agent)
	}
	c.placement.DeclineEmpty(empty)
}

// checkExecutorsOnOffer compares the records of executors with those that an offer names (rule X3). An executor
// without a record is shut down. A recorded one that the offer does not name has ended, unless its launch may still be
// on the way: its record is removed or, while it has tasks, closed.
func (c *Core) checkExecutorsOnOffer(o cluster.Offer) {
	for _, id := range o.ExecutorIDs {
		if x := c.executors.Get(id); x == nil && !c.subscription.InTakeover() {
			c.shared.Note(step.Note{Kind: step.NoteExecutor,
				Detail:  fmt.Sprintf("%s runs on agent %s and has no record: it is shut down", id, o.AgentID),
				Problem: true})
			c.shared.Call(step.CallShutdown{ExecutorID: id, AgentID: o.AgentID})
		}
	}
	for _, x := range slices.Clone(c.executors.On(o.AgentID)) {
		if x.Pending() > 0 || slices.Contains(o.ExecutorIDs, x.ID()) {
			continue
		}
		switch {
		case x.Tasks() == 0:
			// The master handled all ACCEPTs that name it before it made this offer. If the executor exists
			// nevertheless, a later offer names it.
			c.executors.Remove(x)
		case x.Confirmed():
			// The executor existed and has ended, and the reports of its tasks' ends are on their way. Its record
			// stays until all its tasks have ended; otherwise the executor would count as unknown while one of them
			// may live.
			c.executors.Close(x)
		}
	}
}

// isUnusable reports whether an offer has neither CPU nor memory that a task could use, for instance because all of it
// is revocable.
func isUnusable(o cluster.Offer) bool { return o.Resources == resources.Amount{} }

// applyFailure applies the report that an agent was removed, or that an executor ended. The tasks of an agent end by
// updates of their own (attempts.Update) or by timeouts (attempts.Sweep). Its executors stay until they are idle and
// SHUTDOWN was repeated often enough (package retire).
func (c *Core) applyFailure(f cluster.Failure) {
	c.shared.NeedChanged()
	if f.ExecutorID == "" {
		c.placement.RemoveAgent(f.AgentID)
		c.agents.MarkRemoved(f.AgentID, f.Gone)
		return
	}
	c.shared.Note(step.Note{Kind: step.NoteExecutor,
		Detail: fmt.Sprintf("%s ended (wait status %d)", f.ExecutorID, f.Status)})
	if x := c.executors.Get(f.ExecutorID); x != nil {
		if x.Pending() > 0 || x.Tasks() > 0 {
			// An ACCEPT that was on its way makes the agent start the executor again under this id. The record stays
			// until the launched tasks have ended (X1, X2).
			c.executors.Close(x)
			return
		}
		c.executors.Remove(x)
	}
}

// answerAccept applies the answer to an ACCEPT. After a 202 the master has the tasks; if it refused the ACCEPT, they
// were never launched (rules L3, L4).
func (c *Core) answerAccept(a LaunchAnswered) {
	if !c.subscription.IsOpen(a.Session) {
		return // the session of the ACCEPT has ended, which voids it
	}
	tasks, executorIDs, ok := c.placement.TakeAnswered(a.Seq)
	if !ok {
		return
	}
	for _, id := range executorIDs {
		if x := c.executors.Get(id); x != nil {
			c.executors.RecordAnswer(x)
			c.retirer.CheckIdle(x)
		}
	}
	c.attempts.AnswerLaunch(tasks, a.Seq, a.OK, a.Message)
}

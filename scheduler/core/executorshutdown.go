package core

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// shutDownClosing sends SHUTDOWN to closing executors that have no live task, or are silent, and
// no unanswered ACCEPT, again until they are gone (rules X2, K3).
func (c *Core) shutDownClosing() {
	if !c.subscription.open {
		return
	}
	for _, id := range step.SortedKeys(c.executors.closing) {
		x := c.executors.closing[id]
		if x.ended && x.Tasks() == 0 && x.pending == 0 {
			c.dropExecutor(x)
			continue
		}
		if x.Tasks() > 0 && !x.silent || x.pending > 0 || !step.ResendDue(c.Now(), x.shutdownSent, c.Opt.ResendFirst, c.Opt.ResendMost, x.shutdownTry) {
			continue
		}
		if settled := x.lastUpdate.Add(ackSettles); settled.After(c.Now()) {
			c.WakeAt(settled)
			continue
		}
		if x.shutdownTry >= shutdownTries && x.Tasks() == 0 {
			// Its end got lost, or its agent is away. The next offer of its agent
			// names it if it lives on (rule X3); until there is one, it may.
			c.flow.reviveToProbe()
			if c.agents.Registered(x.Agent) || c.draining || c.Now().Sub(x.ClosedAt) >= awayKept {
				c.dropExecutor(x)
				continue
			}
		} else if c.draining && x.shutdownTry > 0 && x.Tasks() == 0 {
			// Somebody waits for it, and not for six minutes (rule O4): the next offer tells whether it is only its end that got lost.
			c.flow.reviveToProbe()
		}
		x.shutdownSent = c.Now()
		x.shutdownTry++
		c.Call(step.CallEndExecutor{ExecutorID: id, AgentID: x.Agent})
		c.WakeToResend(x.shutdownTry)
	}
}

// awayKept is how long a closing executor of an agent that is away is kept in mind. One
// that comes back later is ended when we next have an offer of its agent.
const awayKept = time.Hour

// shutdownTries is how often SHUTDOWN is repeated, for some six minutes in all.
const shutdownTries = 8

// ackSettles is how long an executor's last update must be acknowledged before
// SHUTDOWN leaves: calls can overtake each other (rule X2).
const ackSettles = 50 * time.Millisecond

// closeExecutor marks an executor as closing (rule X2).
func (c *Core) closeExecutor(x *executor) { c.executors.close(x, c.Now()) }

// dropExecutor forgets an executor that is gone. If it should live on unseen,
// the next offer of its agent names it, and it is shut down (rule X3).
func (c *Core) dropExecutor(x *executor) {
	c.NeedChanged()
	c.executors.remove(x)
	c.MatchAgain()
}

package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
)

// What is reserved for our role is used first (rule L7). Offers, capacities and matches count with the sums of reserved and
// unreserved amounts; which part of an offer a task or an executor takes is decided when its ACCEPT is made, and is said
// in it. What an executor has taken is a part of its record, since it is a part of its ExecutorInfo (rule X4). The
// cluster gives all of it back to where it came from when the task or the executor ends.

// reservedOf is what of an offer is reserved.
func reservedOf(o cluster.Offer) []offers.Reserved {
	if len(o.Reserved) == 0 {
		return nil
	}
	out := make([]offers.Reserved, len(o.Reserved))
	for i, r := range o.Reserved {
		out[i] = offers.Reserved{Key: r.Key, Amount: r.Resources}
	}
	return out
}

// takeReserved takes need out of stock and says what of it is reserved.
func takeReserved(stock *offers.Stock, need resources.Amount) []cluster.Reserved {
	parts := stock.Take(need)
	if len(parts) == 0 {
		return nil
	}
	out := make([]cluster.Reserved, len(parts))
	for i, r := range parts {
		out[i] = cluster.Reserved{Key: r.Key, Resources: r.Amount}
	}
	return out
}

// executorsFor is the executor of each placement on an agent, and those that this ACCEPT is the first to name since the
// term began. New ones take their part of the stock before any task does: they hold it for longest.
func (c *Core) executorsFor(agentID string, ds []demand, placed []offers.Placement, stock *offers.Stock) (runs, started []*executor) {
	runs = make([]*executor, len(placed))
	for i, p := range placed {
		x, made := c.executorFor(agentID, &ds[p.Demand])
		if made {
			x.Info.Reserved = takeReserved(stock, x.Info.Resources)
		}
		if x.sentWith == 0 && !slices.Contains(started, x) {
			started = append(started, x)
		}
		runs[i] = x
	}
	return runs, started
}

// executorFor is the executor of the demand's kind on an agent, a new one if
// there is none (rule X1: with a new n from a counter that never goes back).
func (c *Core) executorFor(agentID string, d *demand) (x *executor, started bool) {
	for _, x := range c.executors.onAgent[agentID] {
		if x.Key == d.executorKey && !x.Closing {
			return x, false
		}
	}
	id := jobs.ExecutorID{App: d.with.App.AppName, Agent: agentID, N: c.executors.number()}.String()
	x = &executor{
		App: d.with.App.AppName, Key: d.executorKey, Agent: agentID, Role: role(c.opt.Role),
		Info: cluster.Executor{
			Version: 3, ID: id, Framework: c.subscription.frameworkID, Name: "elasticjob executor of " + d.with.App.AppName,
			Resources: d.with.App.Resources(),
			Command:   c.opt.ExecutorCommand, BinaryURI: c.opt.ExecutorBinary,
			User: c.opt.ExecutorUser, ShutdownGrace: c.opt.ExecutorShutdown,
		},
	}
	if a := c.agents.byID[agentID]; a != nil && c.opt.ExecutorEnvironment != nil {
		x.Info.Environment = c.opt.ExecutorEnvironment(a.host)
	}
	c.executors.add(x)
	return x, true
}

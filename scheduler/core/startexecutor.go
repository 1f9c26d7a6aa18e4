package core

import (
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
)

// executorsFor is the executor of each placement on an agent, and those that this ACCEPT is the first to name since the
// term began; nil where each task has one of its own. New ones take their part of the stock before any task does: they hold it for longest.
func (c *Core) executorsFor(agentID string, ds []demand, placed []offers.Placement, stock offers.Stock) (runs, started []*executor) {
	runs = make([]*executor, len(placed))
	if c.Opt.TaskExecutors {
		return runs, nil // the cluster starts one for each task
	}
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
		App: d.with.App.AppName, Key: d.executorKey, Agent: agentID, Role: role(c.Opt.Role), madeAt: c.Now(),
		Info: cluster.Executor{
			Version: 3, ID: id, Framework: c.subscription.frameworkID, Name: "elasticjob executor of " + d.with.App.AppName,
			Resources: d.with.App.Resources(),
			Command:   c.Opt.ExecutorCommand, BinaryURI: c.Opt.ExecutorBinary,
			User: c.Opt.ExecutorUser,
			// A job's own grace may be longer, and may come later, when this can't be changed any more (rule X4). It is enough:
			// SHUTDOWN goes to executors whose tasks have ended, each with its own grace (rule X2), also when a server on one
			// machine stops (O4); or to one that has not answered a kill for that grace and more (K3).
			ShutdownGrace: c.Opt.ExecutorShutdown,
		},
	}
	if a, name := c.agents.Get(agentID), c.Opt.HostnameVariable; a != nil && name != "" {
		x.Info.Environment = map[string]string{name: a.Host()}
		maps.Copy(x.Info.Environment, c.Opt.ExecutorEnvironment)
	} else {
		x.Info.Environment = c.Opt.ExecutorEnvironment
	}
	c.executors.add(x)
	return x, true
}

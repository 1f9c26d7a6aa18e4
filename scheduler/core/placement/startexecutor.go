package placement

import (
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// executorsFor returns the executor of each placement on an agent (all), and which of them no earlier ACCEPT of this
// term has named (started). The executors are nil if each task has its own. New executors take their part of the stock
// before any task does, because they hold it the longest.
func (pl *Placement) executorsFor(agentID string, ds []demand, placed []offers.Placement,
	stock offers.Stock) (all, started []*executors.Executor) {
	all = make([]*executors.Executor, len(placed))
	if pl.st.Opt.TaskExecutors {
		return all, nil
	}
	for i, p := range placed {
		x := pl.executorFor(agentID, &ds[p.Demand], stock)
		if x.SentWith() == 0 && !slices.Contains(started, x) {
			started = append(started, x)
		}
		all[i] = x
	}
	return all, started
}

// executorFor returns the executor for a demand on an agent. If none there has the demand's key and takes tasks, it
// adds a new one, with a number that was never used (rule X1).
func (pl *Placement) executorFor(agentID string, d *demand, stock offers.Stock) *executors.Executor {
	for _, x := range pl.st.Executors.On(agentID) {
		if x.Key() == d.executorKey && pl.st.TakesTasks(x) {
			return x
		}
	}
	a := &d.settings.App
	info := cluster.Executor{
		Version: 3, ID: jobs.ExecutorID{App: a.AppName, Agent: agentID, N: pl.st.Executors.NextNumber()}.String(),
		Framework: pl.st.Subscription.FrameworkID(), Name: "elasticjob executor of " + a.AppName,
		Resources: a.Resources(), Reserved: takeReserved(stock, a.Resources()),
		Command: pl.st.Opt.ExecutorCommand, BinaryURI: pl.st.Opt.ExecutorBinary, User: pl.st.Opt.ExecutorUser,
		Environment: pl.st.Opt.ExecutorEnvironment,
		// A job's own grace may be longer, and may be set later, when the ExecutorInfo can no longer change (rule X4).
		// The server's grace suffices nevertheless. SHUTDOWN goes to executors whose tasks have ended, each with its
		// own grace (rule X2), also when a server on one machine stops (O4); or to an executor that has not answered a
		// kill for that grace and more (K3).
		ShutdownGrace: pl.st.Opt.ExecutorShutdown,
	}
	if agent, name := pl.st.Agents.Get(agentID), pl.st.Opt.HostnameVariable; agent != nil && name != "" {
		info.Environment = map[string]string{name: agent.Host()}
		maps.Copy(info.Environment, pl.st.Opt.ExecutorEnvironment)
	}
	return pl.st.Executors.Start(a.AppName, d.executorKey, agentID, info)
}

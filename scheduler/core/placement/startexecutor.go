package placement

import (
	"maps"
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
)

// executorsFor returns the executor of each placement on an agent, and the executors that no earlier ACCEPT of this
// term named. It returns nil if each task has its own executor. New executors take their part of the stock before any
// task does, because they hold it the longest.
func (pl *Placement) executorsFor(agentID string, ds []demand, placed []offers.Placement, stock offers.Stock) (runs,
	started []*executors.Executor) {
	runs = make([]*executors.Executor, len(placed))
	if pl.st.Opt.TaskExecutors {
		return runs, nil // the cluster starts one for each task
	}
	for i, p := range placed {
		x := pl.executorFor(agentID, &ds[p.Demand], stock)
		if x.SentWith() == 0 && !slices.Contains(started, x) {
			started = append(started, x)
		}
		runs[i] = x
	}
	return runs, started
}

// executorFor returns the executor for a demand on an agent, a new one if there is none with the demand's key (rule
// X1: with a new number from a counter that never goes back).
func (pl *Placement) executorFor(agentID string, d *demand, stock offers.Stock) *executors.Executor {
	for _, x := range pl.st.Executors.On(agentID) {
		if x.Key() == d.executorKey && pl.st.TakesTasks(x) {
			return x
		}
	}
	of := &d.with.App
	info := cluster.Executor{
		Version: 3, ID: jobs.ExecutorID{App: of.AppName, Agent: agentID, N: pl.st.Executors.NextNumber()}.String(),
		Framework: pl.st.Subscription.FrameworkID(), Name: "elasticjob executor of " + of.AppName,
		Resources: of.Resources(), Reserved: takeReserved(stock, of.Resources()),
		Command: pl.st.Opt.ExecutorCommand, BinaryURI: pl.st.Opt.ExecutorBinary, User: pl.st.Opt.ExecutorUser,
		Environment: pl.st.Opt.ExecutorEnvironment,
		// A job's own grace may be longer, and may be set later, when the ExecutorInfo can no longer change (rule X4).
		// The server's grace suffices nevertheless. SHUTDOWN goes to executors whose tasks have ended, each with its
		// own grace (rule X2), also when a server on one machine stops (O4); or to an executor that has not answered a
		// kill for that grace and more (K3).
		ShutdownGrace: pl.st.Opt.ExecutorShutdown,
	}
	if a, name := pl.st.Agents.Get(agentID), pl.st.Opt.HostnameVariable; a != nil && name != "" {
		info.Environment = map[string]string{name: a.Host()}
		maps.Copy(info.Environment, pl.st.Opt.ExecutorEnvironment)
	}
	return pl.st.Executors.Start(of.AppName, d.executorKey, agentID, info)
}

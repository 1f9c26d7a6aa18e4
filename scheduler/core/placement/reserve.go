package placement

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/agents"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// recordDrained records whether the reserved agents have drained: only tasks of daemons, which do not end, are left
// there.
func (pl *Placement) recordDrained(r *reservation) {
	for id := range r.agents {
		if a := pl.st.Agents.Get(id); a != nil && a.Own().Tasks() > a.Own().Daemons() {
			r.drained = time.Time{}
			return
		}
		for _, x := range pl.st.Executors.On(id) {
			if x.Tasks() > x.Daemons() {
				r.drained = time.Time{}
				return
			}
		}
	}
	if r.drained.IsZero() {
		r.drained = pl.st.Now()
		pl.st.RequestMatchAt(pl.st.Now().Add(pl.st.Opt.ReserveBeyond))
	}
}

// expireReservation ends a reservation whose execution was launched or may not be launched any more, or whose agents
// did not drain in time. The next reservation, if there is one, begins in the same step, before anything is placed, so
// that it gets the free resources of those agents.
func (pl *Placement) expireReservation() {
	r := pl.reservation
	if r == nil {
		return
	}
	e := pl.st.Executions.Get(r.exec)
	pl.recordDrained(r)
	isWaiting := e != nil && e.Launchable() && !e.Launched() && pl.st.CanLaunch(pl.st.Config.Job(e.Job()))
	if isWaiting && !r.expired(pl.st.Now(), pl.st.Opt.ReserveBeyond) {
		return
	}
	if isWaiting {
		pl.MeasureReserved(r.agents)
		pl.lastReservation[r.exec] = pl.st.Now()
	}
	pl.reservation = nil
	pl.flow.requestRefused()
	pl.reserve()
	for _, other := range pl.st.Executions.Launchable() {
		if other.Unplaced().Reserved {
			u := other.Unplaced()
			u.Why = reason.Reason{} // the ended reservation was the reason
			pl.st.Executions.SetUnplaced(other, u)
		}
	}
	pl.st.RequestMatch()
}

// MeasureReserved replaces, for each of the agents that has offers, the amount that a reservation may count on by the
// amount that is seen now. A reservation that ended without a launch shows that the former amount was too high:
// resources are counted twice if an offer of them arrives before the update that ends their task, because the master
// offers resources as soon as the agent reports the end.
func (pl *Placement) MeasureReserved(agents map[string]bool) {
	for _, id := range step.SortedKeys(agents) {
		if pl.flow.held.Free(id).IsZero() {
			continue
		}
		var ids []string
		for _, x := range pl.st.Executors.On(id) {
			ids = append(ids, x.ID())
		}
		limit, _ := pl.MeasureAgent(id, ids)
		pl.st.Agents.ResetReservable(id, limit)
	}
}

// waitingSince returns the time by which executions that wait for a reservation are ordered: their creation, or the
// end of their last reservation. So an execution whose reservation ended without a launch comes after those that
// waited then, and before all later ones.
func (pl *Placement) waitingSince(e *executions.Execution) time.Time {
	if last := pl.lastReservation[e.ID()]; last.After(e.CreatedAt()) {
		return last
	}
	return e.CreatedAt()
}

// reserve reserves agents for one execution, unless there is a reservation: the one that has waited longest (at least
// Options.ReserveAfter) among those that may be launched and that the known agents could hold. Only one execution has
// a reservation at a time, so that two can't wait for each other's agents.
func (pl *Placement) reserve() {
	if pl.reservation != nil || pl.st.Draining() || pl.st.Subscription.InTakeover() || !pl.st.Subscription.Open() {
		return
	}
	for id := range pl.lastReservation {
		if pl.st.Executions.Get(id) == nil {
			delete(pl.lastReservation, id)
		}
	}
	var best *executions.Execution
	var agents map[string]bool
	checked := 0
	for _, e := range pl.st.Executions.Launchable() {
		if e.Launched() {
			continue // its remaining shards are placed one by one, and need no reservation
		}
		if wait := e.CreatedAt().Add(pl.st.Opt.ReserveAfter); wait.After(pl.st.Now()) {
			if checked == 0 {
				pl.st.RequestMatchAt(wait)
			}
			break
		}
		checked++
		if e.Unplaced().Never || !e.Unplaced().Matched || !pl.st.CanLaunch(pl.st.Config.Job(e.Job())) ||
			pl.st.StartFailures.Wait(pl.st.AppOf(e), e.ID()).MustWait() {
			continue
		}
		if best == nil || pl.waitingSince(e).Before(pl.waitingSince(best)) {
			if room := pl.agentsFor(e); room != nil {
				best, agents = e, room
			}
		}
		if checked > pl.st.Opt.DemandsPerStep {
			break
		}
	}
	if best == nil {
		return
	}
	pl.reservation = &reservation{exec: best.ID(), agents: agents, since: pl.st.Now(),
		until: pl.st.Now().Add(pl.longestRun(agents) + pl.st.Opt.ReserveBeyond)}
	pl.st.RequestMatchAt(pl.reservation.until)
	pl.flow.requestRefused()
}

// longestRunSample is how many of the last executions longestRun considers.
const longestRunSample = 1000

// longestRun returns the longest observed run of a shard on one of the agents; a run in progress counts up to now. The
// present tasks of the agents should all end within that time.
func (pl *Placement) longestRun(agents map[string]bool) (longest time.Duration) {
	for _, ref := range pl.st.Executions.AllTasks() {
		if s := ref.Shard(); s.Live() && !ref.Exec.Daemon() && agents[s.Agent()] && s.Unreachable().IsZero() {
			longest = max(longest, pl.st.Now().Sub(s.Launched()))
		}
	}
	for e := range pl.st.Executions.NewestEnded(longestRunSample) {
		for i := range e.NumShards() {
			if e.Daemon() {
				break
			}
			// The duration of a lost shard is not known.
			if s := e.Shard(i); agents[s.Agent()] && !s.Start().IsZero() &&
				(s.State() == executions.Finished || s.State() == executions.Failed) {
				longest = max(longest, s.Complete().Sub(s.Start()))
			}
		}
	}
	return longest
}

// agentsFor picks agents that would hold all shards of an execution if only daemons were left on them. It returns nil
// if there are not enough.
func (pl *Placement) agentsFor(e *executions.Execution) map[string]bool {
	j := pl.st.Config.Job(e.Job())
	if j == nil || j.Config() == nil || pl.st.Config.App(j.Config().AppName) == nil {
		return nil
	}
	job, a := *j.Config(), *pl.st.Config.App(j.Config().AppName).Config()
	avoided := pl.avoid(&a, pl.st.Config.App(j.Config().AppName).ExecutorKey(), nil)
	byDaemons := pl.heldByDaemons()
	var all []*agents.Agent
	for _, id := range pl.st.Agents.IDs() {
		if ag := pl.st.Agents.Get(id); ag.Registered() && ag.Closed() == "" && !pl.st.IsExcluded(id) &&
			avoided[id].IsZero() {
			all = append(all, ag)
		}
	}
	slices.SortStableFunc(all, func(x, y *agents.Agent) int {
		return int(y.Reservable().CPUMilli - x.Reservable().CPUMilli)
	})
	need, shard := job.ShardingTotalCount, job.Resources()
	picked := map[string]bool{}
	for _, ag := range all {
		if need <= 0 {
			break
		}
		room := ag.Reservable().Minus(byDaemons[ag.ID()]).Minus(pl.st.ExecutorSize(&a))
		if n := room.Holds(shard, need); n > 0 {
			picked[ag.ID()] = true
			need -= n
		}
	}
	if need > 0 {
		return nil
	}
	return picked
}

// endDelay is the time after an executor's last update by which the ends of its tasks have arrived.
const endDelay = time.Second

// MeasureAgent returns how much an agent has for this framework: its free resources and those that the framework uses.
// running are the ids of the executors that the agent's offer names, which count even without tasks. limit may count
// resources twice, because an offer can arrive before the update that ends their task. settled is a lower bound: it
// leaves out the tasks of executors with an update within endDelay, because the update of another end may be on its
// way. MeasureAgent is called only in a step, because it adds an unknown agent.
func (pl *Placement) MeasureAgent(agentID string, running []string) (limit, settled resources.Amount) {
	limit = pl.flow.held.Free(agentID).Plus(pl.st.Agents.GetOrAdd(agentID).Own().Used())
	settled = limit
	for _, x := range pl.st.Executors.On(agentID) {
		uses := x.Used()
		named := slices.Contains(running, x.ID())
		if x.Tasks() > 0 || named {
			uses = uses.Plus(x.Resources())
		}
		limit = limit.Plus(uses)
		switch {
		case pl.st.Now().Sub(x.LastUpdate()) >= endDelay:
			settled = settled.Plus(uses)
		case named:
			settled = settled.Plus(x.Resources())
		}
	}
	return limit, settled
}

// heldByDaemons returns the resources of daemons and their executors on each agent. A reservation cannot wait for
// their end (rule L2).
func (pl *Placement) heldByDaemons() map[string]resources.Amount {
	held := map[string]resources.Amount{}
	for _, ref := range pl.st.Executions.AllTasks() {
		if s := ref.Shard(); s.Live() && ref.Exec.Daemon() {
			held[s.Agent()] = held[s.Agent()].Plus(s.Need())
		}
	}
	for agent := range held {
		for _, x := range pl.st.Executors.On(agent) {
			if x.Daemons() > 0 {
				held[agent] = held[agent].Plus(x.Resources())
			}
		}
	}
	return held
}

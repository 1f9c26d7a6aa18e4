package placement

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/lease"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Launch matches waiting shards with the offers at hand and launches what fits, if a match was requested. It is
// called once in each step. One call matches at most Options.DemandsPerStep executions; the next step continues the
// round.
func (pl *Placement) Launch() {
	pl.expireReservation()
	if !pl.st.MatchRequested() {
		return
	}
	pl.st.MatchDone()
	if pl.st.Opt.Held != "" || pl.st.Draining() || pl.st.Subscription.InTakeover() || !pl.st.Subscription.Open() ||
		len(pl.st.Executions.Launchable()) == 0 {
		return
	}
	ds, more := pl.demands()
	pl.flow.detectNewDemand(ds)
	if pl.flow.held.Len() == 0 {
		// Without a match the executions keep their reasons. Idle executors may occupy all agents, so that nothing is
		// ever offered.
		pl.evictForDemand(nil, ds)
		if pl.flow.refused { // offers were declined, so some resources are free
			pl.reserve()
		}
		return
	}
	pl.matchDemands(ds, more)
	pl.reserve()
	// The first demands of the round have not been matched with the offers that came during the round.
	missedOffers := !more && pl.roundOffers != pl.st.Numbers.OffersReceived
	if (more || missedOffers) && pl.flow.held.Len() > 0 {
		pl.st.RequestMatch()
	}
}

// matchDemands matches demands with the offers, launches the shards that were placed, and records why others were not.
func (pl *Placement) matchDemands(ds []demand, more bool) {
	agents := pl.recordAgentsOnOffer()
	toMatch := make([]offers.Demand, len(ds))
	unplaced := make([]executions.Unplaced, len(ds))
	for i := range ds {
		toMatch[i] = ds[i].Demand
		unplaced[i].Matched = true
	}
	result := offers.Match(toMatch, agents, pl.st.Opt.Strategy)
	notOnOffer := pl.NotOnOffer(agents)
	for i := range result.Unplaced {
		u := &result.Unplaced[i]
		if !u.Later {
			u.Reason, u.Never = notOnOffer.ReasonOf(u, ds[u.Demand].Demand)
		}
		unplaced[u.Demand] = executions.Unplaced{Matched: true, Why: u.Reason, Never: u.Never, Reserved: u.Reserved}
	}
	for i := range ds {
		pl.st.Executions.SetUnplaced(ds[i].exec, unplaced[i])
	}
	// Demands with Later are placed by the next call of Launch. They lack no resources, so no offer is declined and no
	// executor is closed for them.
	result.Unplaced = slices.DeleteFunc(result.Unplaced, func(u offers.Unplaced) bool { return u.Later })
	pl.flow.recordUnplaced(ds, result.Unplaced, more)
	byAgent := map[int][]offers.Placement{}
	for _, p := range result.Placements {
		byAgent[p.Agent] = append(byAgent[p.Agent], p)
	}
	for _, i := range step.SortedKeys(byAgent) {
		pl.accept(agents[i], ds, byAgent[i])
	}
	for i := range ds {
		e := ds[i].exec
		if !e.Launched() {
			continue
		}
		if e.Waiting() == 0 {
			pl.st.Executions.FinishLaunch(e)
		} else {
			pl.st.Executions.RecordWaitSince(e)
			pl.st.Executions.AddLaunchable(e)
		}
	}
	pl.st.MatchDone()
	var waiting []demand
	for _, u := range result.Unplaced {
		if !u.Never {
			waiting = append(waiting, ds[u.Demand])
		}
	}
	pl.evictForDemand(agents, waiting)
}

// recordAgentsOnOffer returns the agents with offers, for a match in a step, and records that each of them was seen.
func (pl *Placement) recordAgentsOnOffer() []offers.Agent {
	agents := pl.AgentsOnOffer()
	for i := range agents {
		pl.st.Agents.GetOrAdd(agents[i].ID)
	}
	return agents
}

// AgentsOnOffer returns the agents with offers as a match sees them: their free resources and the executors that run
// there. It changes nothing, so that readers may call it between two steps.
func (pl *Placement) AgentsOnOffer() []offers.Agent {
	agents := pl.flow.held.Agents()
	out := agents[:0]
	for _, a := range agents {
		if len(a.ID) > jobs.MaxAgentIDBytes {
			continue // no task id can contain such an agent id
		}
		if known := pl.st.Agents.Get(a.ID); known != nil {
			a.Capacity = known.Capacity()
		}
		a.MaxBytes = pl.st.Opt.LaunchBytes
		if r := pl.reservation; r.holds(a.ID) {
			a.ReservedFor = r.exec
		}
		a.Executors = pl.st.Executors.KeysOn(a.ID, pl.st.TakesTasks)
		out = append(out, a)
	}
	return out
}

// accept launches placements on one agent, in one ACCEPT that uses all offers of the agent (rule L3).
func (pl *Placement) accept(agent offers.Agent, ds []demand, placed []offers.Placement) {
	pl.acceptSeq++
	sent := &sentAccept{}
	call := cluster.Launch{AgentID: agent.ID, Refuse: pl.st.Opt.OfferHold}
	taken := pl.flow.held.TakeAgent(agent.ID)
	for i := range taken {
		call.OfferIDs = append(call.OfferIDs, taken[i].ID)
	}
	stock := offers.NewStock(taken)
	executorOf, started := pl.executorsFor(agent.ID, ds, placed, stock)
	for i, p := range placed {
		d, x := &ds[p.Demand], executorOf[i]
		if x != nil && !slices.Contains(sent.executors, x.ID()) {
			sent.executors = append(sent.executors, x.ID())
			pl.st.Executors.RecordAccept(x, pl.acceptSeq)
		}
		pl.st.Allot(agent.ID, x, d.settings.Job.Resources(), d.exec.Daemon())
		if !d.exec.Launched() {
			pl.st.Executions.LaunchFirst(d.exec, d.settings)
		}
		launch := pl.launchShard(d, p.Item, agent.ID, x, stock)
		sent.tasks = append(sent.tasks, launch.TaskID)
		call.Tasks = append(call.Tasks, launch)
	}
	pl.flow.recordLeftover(started)
	pl.accepts[pl.acceptSeq] = sent
	pl.st.Call(step.CallLaunch{Seq: pl.acceptSeq, Launch: call})
}

// launchShard records the next attempt of a shard, and returns the launch of its task.
func (pl *Placement) launchShard(d *demand, item int, agentID string, x *executors.Executor,
	stock offers.Stock) cluster.TaskLaunch {
	e := d.exec
	s := e.Shard(item)
	kind := jobs.TaskReady
	if s.Source() == executions.FailoverSource {
		kind = jobs.TaskFailover
	}
	id := jobs.TaskID{Job: e.Job(), Item: item, Type: kind, Agent: agentID, UUID: pl.st.UUID()}.String()
	lost := ""
	if s.Source() == executions.FailoverSource {
		lost = s.TaskID()
	}
	agent := pl.st.Agents.Get(agentID)
	var info cluster.Executor
	if x != nil {
		info = x.Info()
	}
	next := executions.NewTask{TaskID: id, Agent: agentID, AgentURL: agent.URL(), Host: agent.Host(), Original: lost,
		Executor: info.ID, Accept: pl.acceptSeq}
	need := d.settings.Job.Resources()
	next.Lease = d.settings.Job.Lease()
	if len(pl.st.Opt.LeaseURLs) == 0 {
		next.Lease, next.Unleased = 0, next.Lease > 0
	}
	if next.Lease > 0 {
		// The grace that the executor was told is stored, because it counts after the end of the lease even if the
		// next leader has another one.
		next.Grace = cmp.Or(pl.st.Executions.KillGrace(e), wire.DefaultKillGrace)
	}
	if e.Daemon() {
		pl.daemons.PrepareLaunch(e, item, &next)
	}
	pl.st.Executions.Launch(e.Ref(item), next)
	task := pl.tasks.Describe(e, s, id)
	task.FencingToken = pl.st.Fencing.Next()
	if next.Lease > 0 {
		holder := cmp.Or(info.ID, id)
		task.Lease = &lease.Grant{Seconds: int(next.Lease / time.Second), Holder: holder,
			Key: pl.st.Leases.Key(holder), URLs: pl.st.Opt.LeaseURLs}
	}
	return cluster.TaskLaunch{
		TaskID: id, Name: jobs.TaskID{Job: e.Job(), Item: item, Type: kind, Agent: agentID}.Name(),
		Resources: need, CPULimitMilli: d.settings.Job.CPULimitMilli(), Reserved: takeReserved(stock, need),
		Executor: info, Container: executors.Container(&d.settings.App),
		Task: task, Shared: pl.tasks.Common(e), Size: d.Bytes,
	}
}

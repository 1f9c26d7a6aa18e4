package core

import (
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executors"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// launch matches what waits to what is on offer and launches what fits.
func (c *Core) launch() {
	c.expireReservation()
	if !c.MatchWanted() {
		return
	}
	c.Matched()
	if c.held != "" || c.Draining() || c.subscription.TakingOver() || !c.subscription.Open() || len(c.executions.Launchable()) == 0 {
		return
	}
	ds, more := c.demands()
	c.flow.detectNewDemand(ds)
	if c.flow.held.Len() == 0 {
		// The reasons of the last match stay. Idle executors may hold all
		// there is, so that nothing is ever offered.
		c.evictForDemand(nil, ds)
		if c.flow.refused { // something was declined, so something is free
			c.reserve()
		}
		return
	}
	c.matchSome(ds, more)
	c.reserve()
	// Those at the top have not seen what was offered while the round went on.
	missed := !more && c.placement.roundOffers != c.Numbers.OffersReceived
	if (more || missed) && c.flow.held.Len() > 0 {
		c.MatchAgain()
	}
}

// matchSome matches demands and launches what is placed.
func (c *Core) matchSome(ds []demand, more bool) {
	agents := c.agentsOnOffer()
	plain := make([]offers.Demand, len(ds))
	found := make([]executions.Unplaced, len(ds))
	for i := range ds {
		plain[i] = ds[i].Demand
		found[i].Matched = true
	}
	result := offers.Match(plain, agents, c.Opt.Strategy)
	others := c.notOnOffer(agents)
	for i := range result.Unplaced {
		u := &result.Unplaced[i]
		if !u.Later {
			u.Reason, u.Never = others.reasonOf(u, ds[u.Demand].Demand)
		}
		found[u.Demand] = executions.Unplaced{Matched: true, Why: u.Reason, Never: u.Never, Reserved: u.Reserved}
		c.recording.waits(ds[u.Demand].exec, u.Reason)
	}
	for i := range ds {
		c.executions.SetUnplaced(ds[i].exec, found[i])
	}
	// What follows with the next launch lacks no resources: nothing is declined or ended for it.
	result.Unplaced = slices.DeleteFunc(result.Unplaced, func(u offers.Unplaced) bool { return u.Later })
	c.flow.recordUnplaced(ds, result.Unplaced, more)
	byAgent := map[int][]offers.Placement{}
	for _, p := range result.Placements {
		byAgent[p.Agent] = append(byAgent[p.Agent], p)
	}
	for _, i := range step.SortedKeys(byAgent) {
		c.accept(agents[i], ds, byAgent[i])
	}
	for i := range ds {
		e := ds[i].exec
		if !e.Launched() {
			continue
		}
		if e.Waiting() == 0 {
			c.executions.LaunchedAll(e)
		} else {
			c.executions.LeaveWaiting(e)
			c.executions.AddLaunchable(e)
		}
	}
	c.Matched()
	var left []demand
	for _, u := range result.Unplaced {
		if !u.Never {
			left = append(left, ds[u.Demand])
		}
	}
	c.evictForDemand(agents, left)
}

// agentsOnOffer is the pool as Match wants it, for a step: whatever it holds was seen now.
func (c *Core) agentsOnOffer() []offers.Agent {
	agents := c.lookAtOffers()
	for i := range agents {
		c.agents.See(agents[i].ID)
	}
	return agents
}

// lookAtOffers is the same for a reader, who changes nothing: what is free, and which executors run where.
func (c *Core) lookAtOffers() []offers.Agent {
	agents := c.flow.held.Agents()
	out := agents[:0]
	for _, a := range agents {
		if len(a.ID) > jobs.MaxAgentIDBytes {
			continue // no task id could name it
		}
		if known := c.agents.Get(a.ID); known != nil {
			a.Capacity = known.Capacity()
		}
		a.MaxBytes = c.Opt.LaunchBytes
		if r := c.placement.reservation; r.holds(a.ID) {
			a.ReservedFor = r.exec
		}
		a.Executors = c.executors.KeysOn(a.ID)
		out = append(out, a)
	}
	return out
}

// accept launches placements on one agent, in one ACCEPT that uses all its
// offers (rule L3).
func (c *Core) accept(agent offers.Agent, ds []demand, placed []offers.Placement) {
	c.placement.acceptSeq++
	sent := &sentAccept{}
	call := cluster.Launch{AgentID: agent.ID, Refuse: c.Opt.OfferHold}
	taken := c.flow.held.TakeAgent(agent.ID)
	for i := range taken {
		call.OfferIDs = append(call.OfferIDs, taken[i].ID)
	}
	stock := offers.NewStock(taken)
	runs, started := c.executorsFor(agent.ID, ds, placed, stock)
	for i, p := range placed {
		d, x := &ds[p.Demand], runs[i]
		if x != nil && !slices.Contains(sent.executors, x.ID()) {
			sent.executors = append(sent.executors, x.ID())
			c.executors.Launching(x, c.placement.acceptSeq)
		}
		c.st.Allot(agent.ID, x, d.with.Job.Resources(), d.exec.Daemon())
		if !d.exec.Launched() {
			c.executions.LaunchFirst(d.exec, d.with)
		}
		launch := c.launchShard(d, p.Item, agent.ID, x, stock)
		sent.tasks = append(sent.tasks, launch.TaskID)
		call.Tasks = append(call.Tasks, launch)
	}
	c.flow.leaveLeftover(started) // which stays away for call.Refuse
	c.placement.accepts[c.placement.acceptSeq] = sent
	c.Call(step.CallLaunch{Seq: c.placement.acceptSeq, Launch: call})
}

// launchShard makes the next attempt of a shard.
func (c *Core) launchShard(d *demand, item int, agentID string, x *executors.Executor, stock offers.Stock) cluster.TaskLaunch {
	e := d.exec
	s := e.Shard(item)
	kind := jobs.TaskReady
	if s.Type() == executions.FailoverSource {
		kind = jobs.TaskFailover
	}
	id := jobs.TaskID{Job: e.Job(), Item: item, Type: kind, Agent: agentID, UUID: c.UUID()}.String()
	lost := ""
	if s.Type() == executions.FailoverSource {
		lost = s.TaskID()
	}
	on := c.agents.Get(agentID)
	var info cluster.Executor
	if x != nil {
		info = x.Info()
	}
	next := executions.NewTask{TaskID: id, Agent: agentID, AgentURL: on.URL(), Host: on.Host(), Original: lost, Executor: info.ID, Accept: c.placement.acceptSeq}
	need := d.with.Job.Resources()
	if e.Daemon() {
		c.daemonLaunched(e, item, &next)
	}
	c.executions.Launch(e.Ref(item), next)
	return cluster.TaskLaunch{
		TaskID: id, Name: jobs.TaskID{Job: e.Job(), Item: item, Type: kind, Agent: agentID}.Name(),
		Resources: need, Reserved: takeReserved(stock, need), Executor: info, Container: executors.Container(&d.with.App),
		Task: c.tasks.Describe(e, s, id), Shared: c.tasks.Common(e), Size: d.Bytes,
	}
}

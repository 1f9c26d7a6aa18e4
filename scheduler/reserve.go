package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
)

// reservation keeps agents for one execution that waited long (rule L2).
type reservation struct {
	exec   string
	agents map[string]bool
	until  time.Time
}

func (c *Core) expireReservation() {
	r := c.reservation
	if r == nil {
		return
	}
	e := c.executions[r.exec]
	if e != nil && e.launchable && c.now.Before(r.until) && r.until.Sub(c.now) <= c.opt.ReserveFor {
		return
	}
	if e != nil && e.launchable {
		c.measureAgain(r.agents)
	}
	c.reservedLast[r.exec] = c.now
	c.reservation = nil
	c.reviveRefused()
	for _, other := range c.launchable {
		if strings.Contains(other.waitReason, "reserved for execution "+r.exec) {
			other.waitReason = "" // it is true no more, whenever the next match is
		}
	}
	c.matchAgain = true
}

// measureAgain takes agents for as large as they look now: a turn that launched nothing
// says that they were thought too large. An offer can be ahead of the end of a task
// that we still count, since the master frees what an agent says is over.
func (c *Core) measureAgain(agents map[string]bool) {
	for _, id := range sortedKeys(agents) {
		if c.pool.Free(id).IsZero() {
			continue
		}
		var runs []string
		for _, x := range c.executorsOn[id] {
			runs = append(runs, x.Info.ID)
		}
		c.agent(id).room = app.Resources{}
		c.growCapacity(id, runs)
	}
}

// reserve gives the oldest execution that waited long and would fit the agents
// seen the agents that it needs, one at a time; those whose turn was longest
// ago, or never, first.
func (c *Core) reserve() {
	if c.reservation != nil {
		return
	}
	for id := range c.reservedLast {
		if c.executions[id] == nil {
			delete(c.reservedLast, id)
		}
	}
	var best *execution
	var agents map[string]bool
	looked := 0
	for _, e := range c.launchable {
		if e.launched() {
			continue // single shards need no room of their own
		}
		if e.Made.After(c.now) { // the clock has stepped back since: it waits from now
			e.Made = c.now
			c.dirty.header(e)
		}
		if wait := e.Made.Add(c.opt.ReserveAfter); wait.After(c.now) {
			if looked == 0 {
				c.wakeMatch(wait)
			}
			break
		}
		looked++
		if e.neverFits || e.waitReason == "" {
			continue
		}
		if best == nil || c.reservedLast[e.ID].Before(c.reservedLast[best.ID]) {
			if room := c.roomFor(e); room != nil {
				best, agents = e, room
			}
		}
		if looked > c.opt.DemandsPerStep {
			break
		}
	}
	if best == nil {
		return
	}
	c.reservation = &reservation{exec: best.ID, agents: agents, until: c.now.Add(c.opt.ReserveFor)}
	c.wakeMatch(c.reservation.until)
	c.reviveRefused()
}

// roomFor picks agents that would hold all shards of an execution if they were
// empty, or nil.
func (c *Core) roomFor(e *execution) map[string]bool {
	j := c.jobs[e.Job]
	if j == nil || j.cfg == nil || c.apps[j.cfg.AppName] == nil {
		return nil
	}
	job, a := *j.cfg, c.apps[j.cfg.AppName].cfg
	avoided := c.avoid(j.cfg.AppName, nil)
	var all []*agentState
	for _, id := range sortedKeys(c.agents) {
		if ag := c.agents[id]; ag.registered && !c.isGoing(ag) && avoided[id] == "" {
			all = append(all, ag)
		}
	}
	slices.SortStableFunc(all, func(x, y *agentState) int { return int(y.room.CPUMilli - x.room.CPUMilli) })
	need, shard := job.ShardingTotalCount, job.Resources()
	picked := map[string]bool{}
	for _, ag := range all {
		if need <= 0 {
			break
		}
		if n := ag.room.Minus(a.Resources()).Holds(shard, need); n > 0 {
			picked[ag.id] = true
			need -= n
		}
	}
	if need > 0 {
		return nil
	}
	return picked
}

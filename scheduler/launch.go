package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/wire"
)

// sentAccept is an ACCEPT under way: what it named.
type sentAccept struct {
	tasks, executors []string
}

// demand is a Demand and the execution that it is made of.
type demand struct {
	offers.Demand
	exec *execution
	with *settings
	kind string
}

// launch matches what waits to what is on offer and launches what fits.
func (c *Core) launch() {
	c.expireReservation()
	if !c.matchAgain {
		return
	}
	c.matchAgain = false
	if c.draining || !c.session.open || len(c.launchable) == 0 {
		return
	}
	ds, more := c.demands()
	if c.pool.Len() == 0 {
		// The reasons of the last match stay. Idle executors may hold all
		// there is, so that nothing is ever offered.
		c.makeRoom(nil, ds)
		return
	}
	c.matchSome(ds)
	c.reserve()
	// Those at the top have not seen what was offered while the round went on.
	missed := !more && c.roundOffers != c.stats.OffersReceived
	c.matchAgain = c.matchAgain || (more || missed) && c.pool.Len() > 0
}

// demands are the next DemandsPerStep executions with shards that can be launched
// now, in the order of launchable, going on behind those of the last time; more
// tells that there are further ones behind.
func (c *Core) demands() (ds []demand, more bool) {
	from := 0
	if c.matchedUpTo == (launchKey{}) {
		c.roundOffers = c.stats.OffersReceived
	}
	if c.matchedUpTo != (launchKey{}) {
		from, _ = slices.BinarySearchFunc(c.launchable, c.matchedUpTo, compareLaunch)
		c.matchedUpTo = launchKey{}
	}
	for _, e := range c.launchable[from:] {
		if len(ds) >= c.opt.DemandsPerStep {
			c.matchedUpTo = e.launchKey
			return ds, true
		}
		if e.KillReason != "" {
			continue
		}
		d := demand{exec: e}
		if e.launched() {
			d.with, d.kind = e.Settings, e.prepare().kind
			for i := range e.Shards {
				s := &e.Shards[i]
				if s.State == Waiting && !stillWaits(s.NotBefore, c.now, c.opt.BackoffMost) && c.ghostOf(e.Job, s.Item) == nil {
					d.Items = append(d.Items, s.Item)
				}
			}
		} else {
			j := c.jobs[e.Job]
			if !c.canLaunch(j) {
				continue
			}
			a := c.apps[j.cfg.AppName]
			d.with, d.kind = &settings{App: a.cfg, Job: *j.cfg}, a.kind
			d.Together = true
			d.Items = c.itemsUpTo(j.cfg.ShardingTotalCount)
		}
		if len(d.Items) == 0 {
			continue
		}
		d.ID, d.Job, d.App = e.ID, e.Job, d.with.App.AppName
		d.Shard, d.ExecutorSize = d.with.Job.Resources(), d.with.App.Resources()
		d.Executor = d.kind
		d.Avoid = c.avoid(d.with.App.AppName)
		ds = append(ds, d)
	}
	return ds, false
}

// itemsUpTo is 0 to n-1; demands only read it, so all share one list.
func (c *Core) itemsUpTo(n int) []int {
	for len(c.items) < n {
		c.items = append(c.items, len(c.items))
	}
	return c.items[:n:n]
}

// canLaunch reports whether the first execution of a job's queue may be launched.
func (c *Core) canLaunch(j *jobState) bool {
	return j != nil && j.cfg != nil && c.off(j) == "" && c.ghostAmong(j.cfg) == nil
}

// ghostOf returns an earlier attempt of a shard that may still run and so
// blocks the next (rule E5), or nil.
func (c *Core) ghostOf(job string, item int) *ghost {
	return firstGhost(c.ghostsOf[job], func(g *ghost) bool { return g.Item == item })
}

// ghostAmong returns one of any shard that a job has now, or nil.
func (c *Core) ghostAmong(cfg *jobs.Config) *ghost {
	return firstGhost(c.ghostsOf[cfg.JobName], func(g *ghost) bool { return g.Item < cfg.ShardingTotalCount })
}

func firstGhost(of map[string]*ghost, match func(*ghost) bool) (first *ghost) {
	for _, g := range of {
		if match(g) && (first == nil || g.TaskID < first.TaskID) {
			first = g
		}
	}
	return first
}

// block has a ghost hold back later attempts of its shard.
func (c *Core) block(g *ghost) {
	of := c.ghostsOf[g.Job]
	if of == nil {
		of = map[string]*ghost{}
		c.ghostsOf[g.Job] = of
	}
	of[g.TaskID] = g
}

// unblock lets the shard of a ghost that blocked be launched again.
func (c *Core) unblock(g *ghost) {
	delete(c.ghostsOf[g.Job], g.TaskID)
	if len(c.ghostsOf[g.Job]) == 0 {
		delete(c.ghostsOf, g.Job)
	}
	c.matchAgain = true
}

// avoid is where an app's executors did not start, and until when (rule L6).
func (c *Core) avoid(appName string) map[string]string {
	a := c.apps[appName]
	if a == nil || len(a.starts) == 0 {
		return nil
	}
	out := map[string]string{}
	for agent, t := range a.starts {
		if stillWaits(t.until, c.now, startBackoff) {
			out[agent] = fmt.Sprintf("the app's executor failed to start there %d times, last: %s; tried again at %s", t.tries, t.reason, t.until.Format(time.TimeOnly))
		}
	}
	return out
}

// startBackoff bounds how long an app is kept off an agent (rule L6).
const startBackoff = 5 * time.Minute

// stillWaits reports whether a moment of a backoff is to come. One further away than
// the backoff can be is of a clock that has stepped back since.
func stillWaits(until, now time.Time, most time.Duration) bool {
	return until.After(now) && until.Sub(now) <= most
}

// agentTrouble keeps an app off an agent with growing delays (rule L6).
func (c *Core) agentTrouble(ref taskRef) {
	s := ref.shard()
	a := c.apps[ref.exec.Settings.App.AppName]
	if a == nil {
		return
	}
	t := a.starts[s.Agent]
	if t == nil {
		t = &startTrouble{}
		a.starts[s.Agent] = t
	}
	if t.executor == s.Executor {
		return // one start that failed, however many tasks waited for it
	}
	t.executor = s.Executor
	t.until = c.now.Add(backoff(time.Second, startBackoff, t.tries))
	t.tries++
	t.reason = s.Cause
	c.wakeMatch(t.until)
}

// agentWorks: a task began on the agent, so its executor starts there.
func (c *Core) agentWorks(ref taskRef) {
	if a := c.apps[ref.exec.Settings.App.AppName]; a != nil {
		delete(a.starts, ref.shard().Agent)
	}
}

// matchSome matches demands and launches what is placed.
func (c *Core) matchSome(ds []demand) {
	agents := c.agentsOnOffer()
	plain := make([]offers.Demand, len(ds))
	for i := range ds {
		plain[i] = ds[i].Demand
		ds[i].exec.waitReason, ds[i].exec.neverFits = "", false
	}
	result := offers.Match(plain, agents, c.opt.Strategy)
	for _, u := range result.Unplaced {
		e := ds[u.Demand].exec
		e.waitReason, e.neverFits = u.Reason, u.Never
	}
	byAgent := map[int][]offers.Placement{}
	for _, p := range result.Placements {
		byAgent[p.Agent] = append(byAgent[p.Agent], p)
	}
	for _, i := range sortedKeys(byAgent) {
		c.accept(agents[i], ds, byAgent[i])
	}
	for i := range ds {
		e := ds[i].exec
		if !e.launched() {
			continue
		}
		if !slices.ContainsFunc(e.Shards, func(s shard) bool { return s.State == Waiting }) {
			c.removeLaunchable(e)
		} else {
			c.addLaunchable(e)
		}
	}
	c.matchAgain = false
	var left []demand
	for _, u := range result.Unplaced {
		if !u.Never {
			left = append(left, ds[u.Demand])
		}
	}
	c.makeRoom(agents, left)
}

// agentsOnOffer is the pool as Match wants it: what is free, and which
// executors run where.
func (c *Core) agentsOnOffer() []offers.Agent {
	agents := c.pool.Agents()
	out := agents[:0]
	for _, a := range agents {
		st := c.agent(a.ID)
		if len(a.ID) > jobs.MaxAgentIDBytes {
			continue // no task id could name it
		}
		if !st.unavailable.IsZero() && !st.unavailable.After(c.now.Add(time.Minute)) {
			continue // it is about to go: nothing new is placed there
		}
		a.Capacity = st.capacity
		if r := c.reservation; r != nil && r.agents[a.ID] {
			a.ReservedFor = r.exec
		}
		out = append(out, a)
	}
	for i := range out {
		for _, x := range c.executorsOn[out[i].ID] {
			if x.Closing {
				continue
			}
			if out[i].Executors == nil {
				out[i].Executors = map[string]bool{}
			}
			out[i].Executors[x.Kind] = true
		}
	}
	return out
}

// accept launches placements on one agent, in one ACCEPT that uses all its
// offers (rule L3).
func (c *Core) accept(agent offers.Agent, ds []demand, placed []offers.Placement) {
	c.acceptSeq++
	sent := &sentAccept{}
	call := cluster.Accept{AgentID: agent.ID, Refuse: c.opt.OfferHold}
	for _, o := range c.pool.TakeAgent(agent.ID) {
		call.OfferIDs = append(call.OfferIDs, o.ID)
	}
	for _, p := range placed {
		d := &ds[p.Demand]
		x := c.executorFor(agent.ID, d)
		if !slices.Contains(sent.executors, x.Info.ID) {
			sent.executors = append(sent.executors, x.Info.ID)
			x.pending++
			x.confirmed = false
		}
		x.tasks++
		x.used = x.used.Plus(d.with.Job.Resources())
		c.beginLaunch(d)
		launch := c.launchShard(d, p.Item, agent.ID, x)
		sent.tasks = append(sent.tasks, launch.TaskID)
		call.Tasks = append(call.Tasks, launch)
	}
	c.flow.filtered = true // what is left over stays away for call.Refuse
	c.accepts[c.acceptSeq] = sent
	c.call(CallAccept{Seq: c.acceptSeq, Accept: call})
}

// beginLaunch copies the settings at an execution's first launch (rule F7).
func (c *Core) beginLaunch(d *demand) {
	e := d.exec
	if e.launched() {
		return
	}
	e.Settings = d.with
	e.Shards = make([]shard, d.with.Job.ShardingTotalCount)
	for i := range e.Shards {
		e.Shards[i] = shard{Item: i, State: Waiting, Type: e.Source}
		c.dirty.shard(e, i)
	}
	e.shardsOpen = len(e.Shards)
	c.dirty.header(e)
	c.countDelay(c.now.Sub(e.Fire).Seconds())
}

func (c *Core) countDelay(seconds float64) {
	c.stats.FireDelayCount++
	c.stats.FireDelaySum += seconds
	for i, bound := range FireDelayBounds() {
		if seconds <= bound {
			c.stats.FireDelayBuckets[i]++
		}
	}
}

// launchShard makes the next attempt of a shard.
func (c *Core) launchShard(d *demand, item int, agentID string, x *executorRecord) cluster.TaskLaunch {
	e := d.exec
	s := &e.Shards[item]
	kind := jobs.TaskReady
	if s.Type == FailoverSource {
		kind = jobs.TaskFailover
	}
	id := jobs.TaskID{Job: e.Job, Item: item, Type: kind, Agent: agentID, UUID: c.uuid()}.String()
	s.State, s.TaskID, s.Agent, s.AgentURL, s.Executor = Launching, id, agentID, c.agents[agentID].url, x.Info.ID
	s.Container, s.Dir = "", ""
	s.Launched, s.acceptSeq, s.known = c.now, c.acceptSeq, false
	s.Attempt++
	s.Seen, s.UUID, s.Cause, s.NotBefore, s.killSent, s.killTry = 0, nil, "", time.Time{}, time.Time{}, 0
	s.staged, s.stuck = 0, false
	c.tasks[id] = taskRef{e, item}
	c.dirty.shard(e, item)
	c.stats.TasksLaunched++
	c.note(Note{Kind: NoteTaskLaunched, Job: e.Job, Execution: e.ID, Task: id, Detail: "on agent " + agentID})
	return cluster.TaskLaunch{
		TaskID: id, Name: jobs.TaskID{Job: e.Job, Item: item, Type: kind, Agent: agentID}.Name(),
		Resources: cluster.Resources(d.with.Job.Resources()), Executor: x.Info, Data: c.describe(e, s, id),
	}
}

// prepared is what all tasks of an execution share.
type prepared struct {
	kind       string
	command    []string
	parameters map[int]string
}

// prepare reads the settings of an execution once, not for each of its shards.
func (e *execution) prepare() *prepared {
	if e.prepared != nil {
		return e.prepared
	}
	line := e.Settings.App.BootstrapScript
	if own := e.Settings.Job.Props[jobs.PropScript]; own != "" {
		line = own
	}
	// Both were checked at registration. What somebody else wrote into the
	// registry is left to the executor, which says what it looked for.
	command, err := app.SplitCommand(line)
	if err != nil {
		command = []string{line}
	}
	parameters, err := jobs.ShardingParameters(e.Settings.Job)
	if err != nil {
		parameters = nil
	}
	e.prepared = &prepared{kind: executorKind(e.Settings.App), command: command, parameters: parameters}
	return e.prepared
}

// describe is what the executor gets of a task.
func (c *Core) describe(e *execution, s *shard, id string) []byte {
	cfg, a, shared := &e.Settings.Job, &e.Settings.App, e.prepare()
	t := wire.Task{
		TaskID: id, ExecutionID: e.ID, JobName: e.Job, Item: s.Item, Total: len(e.Shards),
		JobParameter: cfg.JobParameter, ShardingParameter: shared.parameters[s.Item],
		Source: string(s.Type), FireTime: e.Fire.UTC(), Attempt: s.Attempt,
		Package: wire.Package{URL: a.AppURL, SHA256: a.AppSHA256, Cache: a.AppCacheEnable},
		Command: shared.command, Env: cfg.Env, KillGraceMillis: c.opt.KillGrace.Milliseconds(),
	}
	data, err := t.Encode()
	if err != nil {
		// Strings, numbers and a time can all be written; this is for the reader.
		data = fmt.Appendf(nil, `{"v":%d,"taskId":%q}`, wire.Version, id)
	}
	return data
}

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
	c.reservedLast[r.exec] = c.now
	c.reservation = nil
	c.matchAgain = true
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
		since := e.Made
		if e.launched() {
			continue // single shards need no room of their own
		}
		if wait := since.Add(c.opt.ReserveAfter); wait.After(c.now) {
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
}

// roomFor picks agents that would hold all shards of an execution if they were
// empty, or nil.
func (c *Core) roomFor(e *execution) map[string]bool {
	j := c.jobs[e.Job]
	if j == nil || j.cfg == nil || c.apps[j.cfg.AppName] == nil {
		return nil
	}
	job, a := *j.cfg, c.apps[j.cfg.AppName].cfg
	var all []*agentState
	for _, id := range sortedKeys(c.agents) {
		if ag := c.agents[id]; ag.registered {
			all = append(all, ag)
		}
	}
	slices.SortStableFunc(all, func(x, y *agentState) int { return int(y.capacity.CPUMilli - x.capacity.CPUMilli) })
	need, shard := job.ShardingTotalCount, job.Resources()
	picked := map[string]bool{}
	for _, ag := range all {
		if need <= 0 {
			break
		}
		room := ag.capacity.Minus(a.Resources())
		n := 0
		for n < need && shard.Times(n+1).Fits(room) {
			n++
		}
		if n > 0 {
			picked[ag.id] = true
			need -= n
		}
	}
	if need > 0 {
		return nil
	}
	return picked
}

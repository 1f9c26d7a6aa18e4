package core

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
	"github.com/elasticjob-go/elasticjob/resources"
)

// executorRecord is an executor that was started, or is about to be.
type executorRecord struct {
	App   string `json:"app"`
	Key   string `json:"kind"`
	Agent string `json:"agent"`
	// Info is what it was started with; kept byte for byte (rule X4).
	Info cluster.Executor `json:"info"`
	// Role is the framework's when it was started, "" for the default.
	Role string `json:"role,omitempty"`
	// Sandbox is the folder of its newest run, as it reported it: an absolute path on its agent's host, "" before that.
	Sandbox string `json:"sandbox,omitempty"`
	// Heard is set when an update of the executor, about any task, was committed. From the acknowledgement on, which
	// follows the commit, it makes processes before it reports their tasks (rule E1).
	Heard bool `json:"heard,omitempty"`
	// Closing is committed before SHUTDOWN is sent; from then on nothing is
	// matched to it (rule X2).
	Closing  bool      `json:"closing,omitempty"`
	ClosedAt time.Time `json:"closedAt,omitzero"`

	tasks   int              // live tasks on it
	used    resources.Amount // by those tasks
	pending int              // unanswered ACCEPTs that name it
	// sentWith is the last ACCEPT that named it. confirmed: after that was answered the
	// cluster reported a task of it, so the executors that an offer names now are those that run (rule X3).
	sentWith   int64
	confirmed  bool
	lastUpdate time.Time
	// ended: its agent reported that it ended with a task of its last ACCEPT, so nothing can have started it again since. Its
	// record goes when no task of it is live.
	ended        bool
	ran          bool      // it is known to have started, or of an earlier leader
	unanswered   int       // sweeps since its last update that found it with a kill to answer
	sweptAt      time.Time // the newest of them
	silent       bool      // it did not answer a kill, and is ended with its tasks (rule K3)
	idleSince    time.Time
	lookingAt    time.Time
	shutdownSent time.Time
	shutdownTry  int
}

// executorFor is the executor of the demand's kind on an agent, a new one if
// there is none (rule X1: with a new n from a counter that never goes back).
func (c *Core) executorFor(agentID string, d *demand) *executorRecord {
	for _, x := range c.executorsOn[agentID] {
		if x.Key == d.executorKey && !x.Closing {
			return x
		}
	}
	c.executorN++
	c.dirty.counter = true
	id := jobs.ExecutorID{App: d.with.App.AppName, Agent: agentID, N: c.executorN}.String()
	x := &executorRecord{
		App: d.with.App.AppName, Key: d.executorKey, Agent: agentID, Role: role(c.opt.Role),
		Info: cluster.Executor{
			Version: 3, ID: id, Framework: c.frameworkID, Name: "elasticjob executor of " + d.with.App.AppName,
			Resources: d.with.App.Resources(),
			Command:   c.opt.ExecutorCommand, BinaryURI: c.opt.ExecutorBinary,
			User: c.opt.ExecutorUser, ShutdownGrace: c.opt.ExecutorShutdown,
		},
	}
	if a := c.agents[agentID]; a != nil && c.opt.ExecutorEnvironment != nil {
		x.Info.Environment = c.opt.ExecutorEnvironment(a.host)
	}
	c.addExecutor(x)
	c.dirty.executor(id)
	return x
}

// role is a role as records have it.
func role(name string) string {
	if name == "*" {
		return ""
	}
	return name
}

func (c *Core) addExecutor(x *executorRecord) {
	c.executors[x.Info.ID] = x
	c.executorsOn[x.Agent] = append(c.executorsOn[x.Agent], x)
	if x.Closing {
		c.closing[x.Info.ID] = x
	}
}

// closeExecutor commits that an executor is to go (rule X2).
func (c *Core) closeExecutor(x *executorRecord) {
	if !x.Closing {
		x.Closing, x.ClosedAt = true, c.now
		c.closing[x.Info.ID] = x
		c.dirty.executor(x.Info.ID)
	}
}

// heard reports whether the executor of an attempt was heard. Of one without a record nothing is known.
func (c *Core) heard(s *shard) bool {
	x := c.executors[s.Executor]
	return x == nil || x.Heard
}

// dropExecutor forgets an executor that is gone. If it should live on unseen,
// the next offer of its agent names it, and it is shut down (rule X3).
func (c *Core) dropExecutor(x *executorRecord) {
	c.needChanged()
	delete(c.executors, x.Info.ID)
	delete(c.closing, x.Info.ID)
	c.executorsOn[x.Agent] = slices.DeleteFunc(c.executorsOn[x.Agent], func(o *executorRecord) bool { return o == x })
	if len(c.executorsOn[x.Agent]) == 0 {
		delete(c.executorsOn, x.Agent)
	}
	c.dirty.executor(x.Info.ID)
	c.matchAgain = true
}

// checkIdle looks at an executor when it may have nothing to do soon (rule X9).
func (c *Core) checkIdle(x *executorRecord) {
	if x.tasks > 0 || x.pending > 0 || x.Closing {
		return
	}
	at := x.idleSince.Add(c.opt.ExecutorIdle)
	if c.obsolete(x) {
		at = c.now
	}
	if x.lookingAt.Equal(at) {
		return
	}
	c.lookIdle(x, at)
}

// lookIdle has the executor looked at then, and at no other time.
func (c *Core) lookIdle(x *executorRecord, at time.Time) {
	x.lookingAt = at
	id := x.Info.ID
	c.timers.at(at, func(now time.Time) { c.idleLook(id, at, now) })
}

func (c *Core) idleLook(id string, at, now time.Time) {
	x := c.executors[id]
	if x == nil || !x.lookingAt.Equal(at) {
		return // another look has taken its place
	}
	x.lookingAt = time.Time{}
	if x.Closing || x.tasks > 0 || x.pending > 0 {
		return
	}
	if x.idleSince.Add(c.opt.ExecutorIdle).After(now) && !c.obsolete(x) {
		c.checkIdle(x)
		return
	}
	if until := c.appBusyUntil(x); !until.IsZero() {
		c.lookIdle(x, until)
		return
	}
	c.closeExecutor(x)
}

// obsolete reports whether nothing will run on an executor any more: its app was deleted
// (rule K2) or changed (rule X1), and no shard waits to be run again with what
// it has (rule F7). There is no use in keeping it idle.
func (c *Core) obsolete(x *executorRecord) bool {
	a := c.apps[x.App]
	if a == nil {
		return true
	}
	if a.executorKey == x.Key {
		return false
	}
	for _, j := range a.jobs {
		if len(j.queue) == 0 || !j.queue[0].launched() || j.queue[0].prepare().executorKey != x.Key {
			continue
		}
		if slices.ContainsFunc(j.queue[0].Shards, func(s shard) bool { return s.State == Waiting }) {
			return false
		}
	}
	return true
}

// checkObsolete looks at an app's executors after it has changed.
func (c *Core) checkObsolete(appName string) {
	for _, id := range sortedKeys(c.executors) {
		if x := c.executors[id]; x.App == appName {
			c.checkIdle(x)
		}
	}
}

// appBusyUntil is zero when the executor's app has neither a run nor a fire
// due within the idle time; else when to look again.
func (c *Core) appBusyUntil(x *executorRecord) time.Time {
	a := c.apps[x.App]
	if a == nil || a.executorKey != x.Key {
		return time.Time{}
	}
	again := c.now.Add(max(c.opt.ExecutorIdle, time.Second))
	soon := c.wall.Add(c.opt.ExecutorIdle)
	if c.opt.ExecutorIdle > 0 && a.nextDue.After(c.wall) && !a.nextDue.After(soon) {
		return again
	}
	// One look at all jobs serves all executors of the app until its next fire.
	known := a.nextDue.After(soon)
	var next time.Time
	for _, j := range a.jobs {
		// A job that may not launch, such as one that an orphan blocks (rule E5), keeps no executor.
		if len(j.queue) > 0 && !j.queue[0].unplaced.never && (j.queue[0].launched() || c.canLaunch(j)) {
			return again
		}
		if known || c.opt.ExecutorIdle == 0 || j.schedule == nil || c.inactive(j) != active {
			continue
		}
		if at := j.schedule.Next(c.wall); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if !known {
		a.nextDue = next
	}
	if next.IsZero() || next.After(soon) {
		return time.Time{}
	}
	return again
}

// shutDownClosing sends SHUTDOWN to closing executors that have no live task, or are silent, and
// no unanswered ACCEPT, again until they are gone (rules X2, K3).
func (c *Core) shutDownClosing() {
	if !c.session.open {
		return
	}
	for _, id := range sortedKeys(c.closing) {
		x := c.closing[id]
		if x.ended && x.tasks == 0 && x.pending == 0 {
			c.dropExecutor(x)
			continue
		}
		if x.tasks > 0 && !x.silent || x.pending > 0 || !resendDue(c.now, x.shutdownSent, c.opt.ResendFirst, c.opt.ResendMost, x.shutdownTry) {
			continue
		}
		if settled := x.lastUpdate.Add(ackSettles); settled.After(c.now) {
			c.wakeAt(settled)
			continue
		}
		if x.shutdownTry >= shutdownTries && x.tasks == 0 {
			// Its end got lost, or its agent is away. The next offer of its agent
			// names it if it lives on (rule X3); until there is one, it may.
			c.reviveToProbe()
			here := c.agents[x.Agent] != nil && c.agents[x.Agent].registered
			if here || c.draining || c.now.Sub(x.ClosedAt) >= awayKept {
				c.dropExecutor(x)
				continue
			}
		}
		x.shutdownSent = c.now
		x.shutdownTry++
		c.call(CallShutdown{ExecutorID: id, AgentID: x.Agent})
		c.wakeAt(c.now.Add(Backoff(c.opt.ResendFirst, c.opt.ResendMost, x.shutdownTry-1)))
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

func resendDue(now, sent time.Time, first, most time.Duration, tries int) bool {
	return sent.IsZero() || now.Sub(sent) >= Backoff(first, most, tries-1)
}

// evictForDemand shuts idle executors of other apps down where that lets a shard of
// the first waiting demands fit, or all that start together (rule X9: at once when
// a waiting shard needs the room). agents are those with something on offer.
func (c *Core) evictForDemand(agents []offers.Agent, waiting []demand) {
	free := make(map[string]resources.Amount, len(agents))
	for _, a := range agents {
		free[a.ID] = a.Free
	}
	if len(waiting) == 0 || len(c.executors) == len(c.closing) {
		return
	}
	agentIDs := slices.Sorted(maps.Keys(c.agents))
	for i := range waiting[:min(len(waiting), max(evictPairs/(len(agentIDs)+1), evictForFirst))] {
		d := &waiting[i]
		want := 1
		if d.Together {
			want = len(d.Items)
		}
		have, most := 0, 0
		var first []*executorRecord // idle ones of the first agent where their end helps
		for _, agentID := range agentIDs {
			if c.inMaintenance(c.agents[agentID]) {
				continue
			}
			if r := c.reservation; r != nil && r.agents[agentID] && r.exec != d.ID {
				continue
			}
			executor, room := d.ExecutorSize, free[agentID]
			var idle []*executorRecord
			for _, x := range c.executorsOn[agentID] {
				switch {
				case x.Key == d.executorKey && !x.Closing:
					executor = resources.Amount{}
				case x.tasks == 0 && x.pending == 0 && c.evictable(x, d, waiting[:i]):
					room = room.Plus(x.Info.Resources)
					idle = append(idle, x)
				}
			}
			now, then := free[agentID].Minus(executor).Holds(d.Shard, want), room.Minus(executor).Holds(d.Shard, want)
			have, most = have+now, most+then
			if then > now && first == nil {
				first = idle
			}
		}
		if have >= want || most < want {
			continue
		}
		for _, x := range first {
			c.closeExecutor(x)
		}
		return // one agent at a time: what comes free is offered, and matched
	}
}

// Room is made for at least so many of the first demands, and for more if with all agents
// they are fewer than so many pairs to look at.
const (
	evictForFirst = 10
	evictPairs    = 100_000
)

// evictable reports whether an idle executor may make room for a demand: if none of those
// before it could use it, or the agent is reserved for the demand. Were it kept for those
// behind as well, two apps could wait for each other's executors for ever.
func (c *Core) evictable(x *executorRecord, d *demand, before []demand) bool {
	if r := c.reservation; r != nil && r.exec == d.ID && r.agents[x.Agent] {
		return true
	}
	return !slices.ContainsFunc(before, func(o demand) bool { return o.executorKey == x.Key })
}

// checkExecutorsOnOffer compares our records with the executors that an offer names
// (rule X3).
func (c *Core) checkExecutorsOnOffer(o cluster.Offer) {
	for _, id := range o.ExecutorIDs {
		if x := c.executors[id]; x == nil && c.takeover == nil {
			c.note(Note{Kind: NoteExecutor, Detail: fmt.Sprintf("%s runs on agent %s and is not in our records: shut down", id, o.AgentID), Problem: true})
			c.call(CallShutdown{ExecutorID: id, AgentID: o.AgentID})
		}
	}
	for _, x := range slices.Clone(c.executorsOn[o.AgentID]) {
		if x.pending > 0 || slices.Contains(o.ExecutorIDs, x.Info.ID) {
			continue
		}
		switch {
		case x.tasks == 0:
			// All its ACCEPTs were dealt with before this offer was made, whatever became
			// of them; if it is there, a later offer names it.
			c.dropExecutor(x)
		case x.confirmed:
			// It was there and is gone, and what ends its tasks is on its way. Its record stays until
			// they have ended: as long as one of them may live, nobody may take the executor for an unknown one.
			c.closeExecutor(x)
		}
	}
}

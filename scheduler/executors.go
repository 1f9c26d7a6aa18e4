package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/offers"
)

// executorRecord is an executor that was started, or is about to be.
type executorRecord struct {
	App   string `json:"app"`
	Kind  string `json:"kind"`
	Agent string `json:"agent"`
	// Info is what it was started with; kept byte for byte (rule X4).
	Info cluster.Executor `json:"info"`
	// Closing is committed before SHUTDOWN is sent; from then on nothing is
	// matched to it (rule X2).
	Closing bool `json:"closing,omitempty"`

	tasks   int // live tasks on it
	pending int // unanswered ACCEPTs that name it
	// confirmed: after the last answered ACCEPT the cluster told of a task on
	// it, so offers that come now tell the truth about it (rule X3).
	confirmed    bool
	idleSince    time.Time
	lookingAt    time.Time
	shutdownSent time.Time
	shutdownTry  int
}

// executorFor is the executor of the demand's kind on an agent, a new one if
// there is none (rule X1: with a new n from a counter that never goes back).
func (c *Core) executorFor(agentID string, d *demand) *executorRecord {
	for _, x := range c.executorsOn[agentID] {
		if x.Kind == d.kind && !x.Closing {
			return x
		}
	}
	c.executorN++
	c.dirty.counter = true
	id := jobs.ExecutorID{App: d.with.App.AppName, Agent: agentID, N: c.executorN}.String()
	x := &executorRecord{
		App: d.with.App.AppName, Kind: d.kind, Agent: agentID,
		Info: cluster.Executor{
			Version: 1, ID: id, Framework: c.frameworkID, Name: "elasticjob executor of " + d.with.App.AppName,
			Resources: cluster.Resources(d.with.App.Resources()),
			Command:   c.opt.ExecutorCommand, BinaryURI: c.opt.ExecutorBinary,
		},
	}
	c.addExecutor(x)
	c.dirty.executor(id)
	return x
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
		x.Closing = true
		c.closing[x.Info.ID] = x
		c.dirty.executor(x.Info.ID)
	}
}

// dropExecutor forgets an executor that is gone. If it should live on unseen,
// the next offer of its agent names it, and it is shut down (rule X3).
func (c *Core) dropExecutor(x *executorRecord) {
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
	if x.lookingAt.Equal(at) {
		return
	}
	x.lookingAt = at
	id := x.Info.ID
	c.timers.at(at, func(now time.Time) { c.idleLook(id, now) })
}

func (c *Core) idleLook(id string, now time.Time) {
	x := c.executors[id]
	if x == nil || x.Closing || x.tasks > 0 || x.pending > 0 {
		return
	}
	if due := x.idleSince.Add(c.opt.ExecutorIdle); due.After(now) && due.Sub(now) <= c.opt.ExecutorIdle {
		x.lookingAt = time.Time{}
		c.checkIdle(x)
		return
	}
	if until := c.appBusyUntil(x); !until.IsZero() {
		c.timers.at(until, func(now time.Time) { c.idleLook(id, now) })
		return
	}
	c.closeExecutor(x)
}

// appBusyUntil is zero when the executor's app has neither a run nor a fire
// due within the idle time; else when to look again.
func (c *Core) appBusyUntil(x *executorRecord) time.Time {
	a := c.apps[x.App]
	if a == nil || a.kind != x.Kind {
		return time.Time{}
	}
	again := c.now.Add(max(c.opt.ExecutorIdle, time.Second))
	for _, j := range a.jobs {
		if len(j.queue) > 0 {
			return again
		}
		if j.schedule != nil && c.off(j) == "" && c.opt.ExecutorIdle > 0 {
			if next := j.schedule.Next(c.now); !next.IsZero() && !next.After(c.now.Add(c.opt.ExecutorIdle)) {
				return again
			}
		}
	}
	return time.Time{}
}

// tendExecutors sends SHUTDOWN to closing executors that have no live task and
// no unanswered ACCEPT, again until they are gone (rule X2).
func (c *Core) tendExecutors() {
	if !c.session.open {
		return
	}
	for _, id := range sortedKeys(c.closing) {
		x := c.closing[id]
		if x.tasks > 0 || x.pending > 0 || !resendDue(c.now, x.shutdownSent, c.opt.ResendFirst, c.opt.ResendMost, x.shutdownTry) {
			continue
		}
		x.shutdownSent = c.now
		x.shutdownTry++
		c.call(CallShutdown{ExecutorID: id, AgentID: x.Agent})
		c.wakeAt(c.now.Add(backoff(c.opt.ResendFirst, c.opt.ResendMost, x.shutdownTry-1)))
	}
}

func resendDue(now, sent time.Time, first, most time.Duration, tries int) bool {
	return sent.IsZero() || now.Sub(sent) >= backoff(first, most, tries-1) || now.Before(sent)
}

// makeRoom shuts idle executors of other apps down where that lets a waiting
// shard fit (rule X9: at once when a waiting shard needs the room).
func (c *Core) makeRoom(unplaced []offers.Unplaced, ds []demand) {
	for _, u := range unplaced {
		if u.Never {
			continue
		}
		d := &ds[u.Demand]
		need := d.Shard.Plus(d.ExecutorSize)
		for _, a := range c.agentsOnOffer() {
			if a.Executors[d.kind] {
				need = d.Shard
			}
			free, idle := a.Free, []*executorRecord(nil)
			for _, x := range c.executorsOn[a.ID] {
				if x.tasks == 0 && x.pending == 0 && x.Kind != d.kind && !c.kindWaits(x.Kind) {
					free = free.Plus(app.Resources(x.Info.Resources))
					idle = append(idle, x)
				}
			}
			if !need.Fits(a.Free) && need.Fits(free) {
				for _, x := range idle {
					c.closeExecutor(x)
				}
			}
		}
		return // the first in order decides; the next match looks at the next
	}
}

func (c *Core) kindWaits(kind string) bool {
	return slices.ContainsFunc(c.launchable[:min(len(c.launchable), 100)], func(e *execution) bool {
		if e.launched() {
			return executorKind(e.Settings.App) == kind
		}
		j := c.jobs[e.Job]
		return j != nil && j.cfg != nil && c.apps[j.cfg.AppName] != nil && c.apps[j.cfg.AppName].kind == kind
	})
}

// believeOffer compares our records with the executors that an offer names
// (rule X3).
func (c *Core) believeOffer(o cluster.Offer) {
	for _, id := range o.ExecutorIDs {
		if x := c.executors[id]; x == nil {
			c.note(Note{Kind: NoteExecutor, Detail: fmt.Sprintf("%s runs on agent %s and is not in our records: shut down", id, o.AgentID), Problem: true})
			c.call(CallShutdown{ExecutorID: id, AgentID: o.AgentID})
		}
	}
	for _, x := range slices.Clone(c.executorsOn[o.AgentID]) {
		if x.pending > 0 || slices.Contains(o.ExecutorIDs, x.Info.ID) {
			continue
		}
		// A confirmed one was there and is gone. A closing one that was told
		// to end has nothing of ours, whatever became of it.
		if x.confirmed || x.Closing && x.tasks == 0 && x.shutdownTry > 1 {
			c.dropExecutor(x)
		}
	}
}

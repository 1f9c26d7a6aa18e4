package core

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// orphan is an abandoned attempt that may still run (rule E5).
type orphan struct {
	TaskID    string    `json:"taskId"`
	Job       string    `json:"job"`
	Item      int       `json:"item"`
	Agent     string    `json:"agent"`
	Execution string    `json:"execution"`
	Since     time.Time `json:"since"`
	// Blocks is set when no later attempt of the shard may start until it has ended.
	Blocks bool `json:"blocks,omitempty"`
	// Alive is set while it blocks only because it was seen alive, although its
	// job has failover.
	Alive bool `json:"alive,omitempty"`
	// Away is since when the agent of one seen alive is away again, if it is.
	Away time.Time `json:"away,omitzero"`
	// Framework is the id that it ran under; RemovedBy is the master that
	// removed it, "" while it is the present one (rule T7).
	Framework string `json:"framework"`
	RemovedBy string `json:"removedBy,omitempty"`

	known bool // the cluster reported anything of it in this session
}

// orphans are all of them, with the indexes over them. These hold between any two calls of its methods:
//
//   - blocking has, by job and task id, exactly those with Blocks;
//   - former, unless it is nil, has by agent the id of every one that ran under another framework id than the present;
//   - changed has the id of every one that differs from what is stored, or is stored and was removed.
type orphans struct {
	byID     map[string]*orphan
	blocking map[string]map[string]*orphan
	former   map[string][]string
	changed  map[string]bool
}

func newOrphans() orphans {
	return orphans{byID: map[string]*orphan{}, blocking: map[string]map[string]*orphan{}, changed: map[string]bool{}}
}

// restore takes in one that is stored.
func (os *orphans) restore(o *orphan) {
	os.byID[o.TaskID], os.former = o, nil
	os.index(o)
}

func (os *orphans) add(o *orphan) {
	os.restore(o)
	os.changed[o.TaskID] = true
}

func (os *orphans) remove(o *orphan) {
	delete(os.byID, o.TaskID)
	os.unindex(o)
	os.changed[o.TaskID] = true
}

// change lets fn change one, and keeps the indexes true.
func (os *orphans) change(o *orphan, fn func(*orphan)) {
	os.unindex(o)
	fn(o)
	os.index(o)
	os.changed[o.TaskID] = true
}

func (os *orphans) index(o *orphan) {
	if !o.Blocks {
		return
	}
	of := os.blocking[o.Job]
	if of == nil {
		of = map[string]*orphan{}
		os.blocking[o.Job] = of
	}
	of[o.TaskID] = o
}

func (os *orphans) unindex(o *orphan) {
	delete(os.blocking[o.Job], o.TaskID)
	if len(os.blocking[o.Job]) == 0 {
		delete(os.blocking, o.Job)
	}
}

// sorted are all of them, by task id.
func (os *orphans) sorted() []*orphan {
	out := make([]*orphan, 0, len(os.byID))
	for _, id := range sortedKeys(os.byID) {
		out = append(out, os.byID[id])
	}
	return out
}

// of is one that blocks a shard, or nil.
func (os *orphans) of(job string, item int) *orphan {
	return os.first(job, func(o *orphan) bool { return o.Item == item })
}

// among is one that blocks one of the first shards of a job, or nil.
func (os *orphans) among(job string, shards int) *orphan {
	return os.first(job, func(o *orphan) bool { return o.Item < shards })
}

func (os *orphans) first(job string, match func(*orphan) bool) (first *orphan) {
	for _, o := range os.blocking[job] {
		if match(o) && (first == nil || o.TaskID < first.TaskID) {
			first = o
		}
	}
	return first
}

// formerOn are those on an agent that ran under another framework id than the present one, by task id.
func (os *orphans) formerOn(agent, present string) (out []*orphan) {
	if os.former == nil {
		os.former = map[string][]string{}
		for _, o := range os.sorted() {
			if o.Framework != present {
				os.former[o.Agent] = append(os.former[o.Agent], o.TaskID)
			}
		}
	}
	for _, id := range os.former[agent] {
		if o := os.byID[id]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// frameworkChanged forgets what was indexed by the present framework id.
func (os *orphans) frameworkChanged() { os.former = nil }

func (os *orphans) write(r *records) { putChanged(r, pathOrphan, os.byID, os.changed) }

// abandon ends an attempt that may still run and keeps it as an orphan (rule E5).
func (c *Core) abandon(ref taskRef, why string) {
	e, s := ref.exec, ref.shard()
	o := c.newOrphan(ref)
	o.Blocks = !e.Settings.Job.Failover
	c.addOrphan(o)
	c.note(Note{Kind: NoteOrphan, Job: e.Job, Execution: e.ID, Task: s.TaskID, Detail: why, Problem: true})
	s.Cause = why
	c.endAttempt(ref, outcomeLost)
	delete(c.executions.tasks, o.TaskID)
}

// newOrphan is what is kept of an attempt that may still run.
func (c *Core) newOrphan(ref taskRef) *orphan {
	s := ref.shard()
	return &orphan{TaskID: s.TaskID, Job: ref.exec.Job, Item: s.Item, Agent: s.Agent, Execution: ref.exec.ID, Since: c.now, Framework: c.subscription.frameworkID}
}

func (c *Core) addOrphan(o *orphan) {
	c.orphans.add(o)
	c.flow.needChanged()
}

func (c *Core) removeOrphan(o *orphan) {
	c.orphans.remove(o)
	if o.Blocks {
		c.shardUnblocked()
	}
}

// shardUnblocked has the shard of an orphan that blocked it be looked at again.
func (c *Core) shardUnblocked() {
	c.flow.needChanged()
	c.placement.again = true
}

// forget removes an orphan because an operator says that it has ended (rule E5).
func (c *Core) forget(f ForgetRequested) {
	var err *Error
	if o := c.orphans.byID[f.TaskID]; o != nil {
		c.removeOrphan(o)
	} else {
		err = Errorf(NotFound, "task_not_abandoned", "task %q was not abandoned; GET /api/job/{jobName}/explain names those that were", f.TaskID)
	}
	c.reply(Reply{Token: f.Token, Err: err})
}

// updateOrphan takes a status update of an orphan (rule E5). One that is seen
// alive blocks its shard even with failover until it has ended or its agent is away again for as
// long as E4 asks: till then no agent counts as unreachable, and promise 2 has no exception.
func (c *Core) updateOrphan(o *orphan, u cluster.Update) {
	o.known = true
	switch u.State {
	case cluster.Unreachable:
		c.orphanAway(o)
	case cluster.Unknown:
		if c.agents.registered(o.Agent) {
			c.removeOrphan(o)
			return
		}
		c.orphanAway(o)
	case cluster.Staging, cluster.Starting, cluster.Running, cluster.Killing:
		c.orphanAlive(o)
		c.kill(o.TaskID, o.Agent)
	default:
		if u.State.Terminal() {
			c.removeOrphan(o)
		}
	}
}

// orphanAlive notes that an orphan is known to be alive.
func (c *Core) orphanAlive(o *orphan) {
	if o.Away.IsZero() && o.Blocks {
		return
	}
	blocked := o.Blocks
	c.orphans.change(o, func(o *orphan) {
		o.Away = time.Time{}
		if !blocked {
			o.Alive, o.Blocks = true, true
		}
	})
	if !blocked {
		c.flow.needChanged()
	}
}

// orphanAway notes that the agent of an orphan that was seen alive is away again.
func (c *Core) orphanAway(o *orphan) {
	if o.Alive && o.Away.IsZero() {
		c.orphans.change(o, func(o *orphan) { o.Away = c.now })
	}
}

// sweepOrphans removes those that are too old, and unblocks the shards of those whose agent is away for long
// (rules E4, E5).
func (c *Core) sweepOrphans() {
	for _, o := range c.orphans.sorted() {
		switch {
		case c.now.Sub(o.Since) > c.opt.OrphanKept:
			c.removeOrphan(o)
		case o.Away.IsZero() || !c.subscription.open || !o.known:
		case c.now.Sub(o.Away) >= c.opt.UnreachableFailover:
			c.orphans.change(o, func(o *orphan) { o.Alive, o.Blocks, o.Away = false, false, time.Time{} })
			c.shardUnblocked()
		}
	}
}

// ofFormerFramework reports whether an orphan ran under a framework id that was removed.
func (c *Core) ofFormerFramework(o *orphan) bool { return o.Framework != c.subscription.frameworkID }

// orphanReason says what a shard waits for that an orphan blocks.
func (c *Core) orphanReason(o *orphan) string {
	forget := fmt.Sprintf("POST /api/task/%s/forget if you know that it has ended", o.TaskID)
	switch {
	case !c.ofFormerFramework(o):
		return fmt.Sprintf("task %s was abandoned on agent %s and may still run; its end is waited for, or %s", o.TaskID, o.Agent, forget)
	case c.subscription.open && o.RemovedBy != c.subscription.masterID:
		return fmt.Sprintf("task %s ran under framework %s, which was removed, and may still run on agent %s: the master that removed it leads no more, and another does not know of it; %s", o.TaskID, o.Framework, o.Agent, forget)
	}
	return fmt.Sprintf("task %s ran under framework %s, which was removed, and may still be ending: it counts as ended when agent %s has been registered with the master for %s; or %s", o.TaskID, o.Framework, o.Agent, c.removedWait(), forget)
}

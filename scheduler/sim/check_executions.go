package sim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
)

// applyExecution applies the committed header of an execution to the mirror, and checks the change.
func (c *checker) applyExecution(r record) {
	w := c.w
	e := c.execs[r.ID]
	if e == nil {
		if c.ever[r.ID] {
			w.fail("F2 a fire is made at most once", "execution %s is made again", r.ID)
		}
		c.recordBeginWhileOff(c.job(r.Job), &r, "made")
		e = cmp.Or(c.early[r.ID], newExecRecord(r.ID))
		e.since = w.now
		delete(c.early, r.ID)
		c.execs[r.ID], c.ever[r.ID] = e, true
	}
	old := e.record
	first := old.Settings == nil && r.Settings != nil
	if first {
		c.recordBeginWhileOff(c.job(r.Job), &r, "launched")
	}
	c.checkEndsNothing(&old, &r)
	reopened := r.Reopened > old.Reopened && old.Ended > 0
	if reopened {
		delete(w.history.ended, r.ID)
	}
	if old.Ended > 0 && r.Ended != old.Ended && !reopened {
		w.fail("what ended has ended", "execution %s: end %d, now %d", r.ID, old.Ended, r.Ended)
	}
	if old.Settings != nil && r.Settings == nil {
		w.fail("F7 settings hold to the end", "execution %s lost them", r.ID)
	}
	was := e.Shards
	e.failedOver = old.Settings != nil && old.Settings.Job.Failover
	if r.Chunks == 0 {
		for _, path := range sorted(e.chunks) { // chunks of a commit that was interrupted
			c.shardsChanged(e, e.chunks[path], nil)
			delete(e.chunks, path)
		}
	}
	e.record = r
	c.shardsChanged(e, was, r.Shards)
	c.checkRollout(e)
	if r.Chunks > 0 && len(e.chunks) < r.Chunks {
		w.fail("T5 the header is written last", "execution %s names %d chunks, %d are there", r.ID, r.Chunks,
			len(e.chunks))
	}
	n, open, waiting, failed := 0, 0, 0, false
	e.eachShard(func(s shardRecord) {
		n++
		switch {
		case !terminal(s.State):
			open++
		case s.State != executions.Finished && s.State != executions.Killed:
			failed = true
		}
		if s.State == executions.Waiting {
			waiting++
		}
	})
	if r.Settings != nil && n != r.Settings.Job.ShardingTotalCount {
		w.fail("an execution has all its shards", "execution %s has %d of %d", r.ID, n,
			r.Settings.Job.ShardingTotalCount)
	}
	oneCall := n*maxDescribed <= w.opt.LaunchBytes // all fit into one call, so none may follow
	if first && waiting > 0 && oneCall && !strings.Contains(r.ID, "@import-") {
		w.fail("L1 all or nothing at the first launch", "execution %s: %d of %d shards still wait", r.ID, waiting, n)
	}
	j := c.job(r.Job)
	if r.Ended > 0 {
		if old.Ended == 0 || reopened {
			w.report.Ended++
			w.history.executionEnded(e)
			c.lastEnd = w.now
			delete(j.open, r.ID)
			j.lastOpen = w.now
			if failed {
				c.recordFailure(r)
			}
		}
		if open > 0 || r.Settings == nil && r.Kill.IsZero() {
			w.fail("nothing is lost", "execution %s is filed as ended with %d shards open, launched %v, kill reason %q", r.ID, open, r.Settings != nil, r.Kill)
		}
		return
	}
	j.open[r.ID] = true
	j.lastOpen = w.now
	if first {
		for id := range j.open {
			if id != r.ID && c.execs[id].Settings != nil {
				w.fail("F5 one execution of a job at a time", "job %s: %s is launched while %s is open", r.Job, r.ID,
					id)
			}
		}
	}
}

// maxDescribed is an upper bound of the size of a task's description in a call, in bytes.
const maxDescribed = 3 << 10

// applyChunk applies a committed chunk of an execution's shards. Chunks may be committed before the header.
func (c *checker) applyChunk(id, path string, part []shardRecord) {
	e := cmp.Or(c.execs[id], c.early[id])
	if e == nil {
		e = newExecRecord(id)
		c.early[id] = e
	}
	was := e.chunks[path]
	e.chunks[path] = part
	c.shardsChanged(e, was, part)
	c.checkRollout(e)
}

// shardsChanged checks the change of a header's or a chunk's shards.
func (c *checker) shardsChanged(e *execRecord, was, now []shardRecord) {
	for _, s := range was {
		if live(s.State) {
			delete(c.live, s.TaskID)
			if !slices.ContainsFunc(now, func(n shardRecord) bool { return n.TaskID == s.TaskID && live(n.State) }) {
				delete(c.kills, s.TaskID)
			}
			if e.daemon() {
				c.attemptEnded(e, s)
			} else {
				c.longest = max(c.longest, c.w.now-c.liveSince[s.TaskID])
			}
		}
	}
	for i, s := range now {
		if live(s.State) {
			c.live[s.TaskID] = e.ID
			if _, known := c.kills[s.TaskID]; !known && !s.KillSince.IsZero() {
				c.kills[s.TaskID] = wantedKill{s.Executor, c.w.now, cmp.Or(s.Grace, c.killGrace(e))}
			}
			if _, known := c.liveSince[s.TaskID]; !known {
				c.liveSince[s.TaskID] = c.w.now
			}
		}
		if i >= len(was) || was[i].TaskID != s.TaskID {
			c.checkCordon(s)
		}
		if i < len(was) {
			c.checkDrained(was[i], s)
			if returned(was[i], s) {
				c.checkReturned(e, s)
				continue
			}
			c.checkLimits(e, was[i], s)
		}
		if s.State == executions.Failed && strings.Contains(s.Cause.String(), notCompatible) {
			c.w.fail("X1 an executor that the master knows otherwise fails no shard", "execution %s, item %d: %s",
				e.ID, s.Item, s.Cause)
		}
		if e.done[s.Item] && s.State != executions.Finished {
			c.w.fail("nothing runs twice: what finished has finished", "execution %s, item %d: now %s", e.ID, s.Item,
				s.State)
		}
		if s.State == executions.Finished {
			e.done[s.Item] = true
		}
		if i < len(was) && !was[i].Kill.IsZero() && !was[i].Kill.Is(reason.Drained) && !e.daemon() &&
			(s.TaskID != was[i].TaskID || !live(s.State) && s.State != executions.Killed &&
				s.State != executions.Finished) {
			c.w.fail("K1 a shard that is to be killed is not run again",
				"execution %s, item %d: %s of task %s, now %s of task %s", e.ID, s.Item, was[i].State, was[i].TaskID,
				s.State, s.TaskID)
		}
		if i < len(was) && e.killed && (s.TaskID != was[i].TaskID || !terminal(was[i].State) && terminal(s.State) &&
			s.State != executions.Killed && s.State != executions.Finished) {
			c.w.fail("K1 an execution that is to be killed is not run again",
				"execution %s, item %d: %s of task %s, now %s of task %s", e.ID, s.Item, was[i].State, was[i].TaskID,
				s.State, s.TaskID)
		}
		if i < len(was) && terminal(was[i].State) && was[i].State != s.State {
			c.w.fail("S2 the first end is final", "execution %s, item %d: was %s, now %s", e.ID, s.Item, was[i].State,
				s.State)
		}
	}
}

// checkReturned checks, when a shard takes back an abandoned attempt, that no other attempt has replaced it (rule E5).
func (c *checker) checkReturned(e *execRecord, s shardRecord) {
	c.w.count(AttemptTakenBack)
	delete(c.cut, runsKey(e.Job, s.Item)) // the run continues
	for _, task := range sorted(c.live) {
		if task != s.TaskID && sameShard(task, s.TaskID) {
			c.w.fail("E5 an attempt that was replaced is not taken back", "task %s beside %s", s.TaskID, task)
		}
	}
	for _, id := range sorted(c.job(e.Job).open) {
		if id != e.ID && c.execs[id].Settings != nil {
			c.w.fail("E5 an attempt that was replaced is not taken back", "task %s beside execution %s", s.TaskID, id)
		}
	}
}

func (c *checker) checkRemoved(id string) {
	e := c.execs[id]
	if e == nil {
		return
	}
	if e.Ended == 0 && !c.endNoted[id] {
		c.w.fail("nothing is lost", "execution %s is removed before it ended", id)
	}
	c.w.history.checkForgotten(id)
	delete(c.job(e.Job).open, id)
	delete(c.execs, id)
}

// recordPromise checks that an execution that was named to a requester is committed.
func (c *checker) recordPromise(id string) {
	if c.execs[id] == nil && !c.ever[id] {
		c.w.fail("nothing is lost", "a requester was answered with execution %s, which is not committed", id)
	}
}

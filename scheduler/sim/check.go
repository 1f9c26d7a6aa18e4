package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// checker holds a mirror of what is committed and a ledger of what runs, and
// says when a rule is broken.
type checker struct {
	w         *world
	decoder   *decoder
	execs     map[string]*execRecord // in the registry
	early     map[string]*execRecord // chunks that no header names
	ever      map[string]bool        // executions that ever were
	jobs      map[string]*jobMirror
	live      map[string]string // tasks that are committed as launching or running → execution
	ghosts    map[string]string // → agent
	removedBy map[string]string // ghosts of removed frameworks → the master that did it
	alive     map[string]bool   // ghosts that the leader was told are alive
	executors map[string]bool   // → closing
	toldToEnd map[string]bool   // executors whose end was committed, or told
	infos     map[string]cluster.Executor
	promises  map[string]bool
	killed    map[string]bool // executions of which somebody was told that they are killed
	endNoted  map[string]bool // history has their end

	mark      time.Time
	decidedAt time.Time // what the clock showed at the step of the last commit
	running   map[shardOf][]*process
	foreign   map[*process]bool                   // of the original
	killsOn   map[string]map[string]time.Duration // wanted kills by executor and task, since when
	begun     map[string]map[int]*process         // the newest of each shard of an execution
	processes int
	ended     int
	waits     map[string]time.Duration // since when executions wait in a crowded, calm world
	liveSince map[string]time.Duration // tasks, as live
	longest   time.Duration            // that a task was live
	lastEnd   time.Duration
}

// shardOf names a shard of a job, whatever the execution.
type shardOf struct {
	job  string
	item int
}

func newChecker(w *world) *checker {
	return &checker{w: w, decoder: newDecoder(), execs: map[string]*execRecord{}, early: map[string]*execRecord{}, ever: map[string]bool{}, jobs: map[string]*jobMirror{}, live: map[string]string{},
		ghosts: map[string]string{}, removedBy: map[string]string{}, alive: map[string]bool{}, executors: map[string]bool{}, toldToEnd: map[string]bool{}, infos: map[string]cluster.Executor{},
		liveSince: map[string]time.Duration{}, promises: map[string]bool{}, killed: map[string]bool{}, endNoted: map[string]bool{}, running: map[shardOf][]*process{}, begun: map[string]map[int]*process{}, killsOn: map[string]map[string]time.Duration{}, foreign: map[*process]bool{}}
}

// execution is a header that was committed.
func (c *checker) execution(r record) {
	w := c.w
	e := c.execs[r.ID]
	if e == nil {
		if c.ever[r.ID] {
			w.fail("F2 a fire is made at most once", "execution %s is made again", r.ID)
		}
		e = c.early[r.ID]
		if e == nil {
			e = newExecRecord(r.ID)
		}
		delete(c.early, r.ID)
		c.execs[r.ID], c.ever[r.ID] = e, true
	}
	old := e.record
	first := old.Settings == nil && r.Settings != nil
	if old.Ended > 0 && r.Ended != old.Ended {
		w.fail("what ended has ended", "execution %s: end %d, now %d", r.ID, old.Ended, r.Ended)
	}
	if old.Settings != nil && r.Settings == nil {
		w.fail("F7 settings hold to the end", "execution %s lost them", r.ID)
	}
	was := e.Shards
	if r.Chunks == 0 {
		for _, path := range sorted(e.chunks) { // of a write that was cut off
			c.shardsChanged(e, e.chunks[path], nil)
			delete(e.chunks, path)
		}
	}
	e.record = r
	c.shardsChanged(e, was, r.Shards)
	if r.Chunks > 0 && len(e.chunks) < r.Chunks {
		w.fail("T5 the header is written last", "execution %s names %d chunks, %d are there", r.ID, r.Chunks, len(e.chunks))
	}
	n, open, waiting := 0, 0, 0
	e.all(func(s shardRecord) {
		n++
		if !terminal(s.State) {
			open++
		}
		if s.State == scheduler.Waiting {
			waiting++
		}
	})
	if r.Settings != nil && n != r.Settings.Job.ShardingTotalCount {
		w.fail("an execution has all its shards", "execution %s has %d of %d", r.ID, n, r.Settings.Job.ShardingTotalCount)
	}
	if first && waiting > 0 && !strings.Contains(r.ID, "@import-") {
		w.fail("L1 all or nothing at the first launch", "execution %s: %d of %d shards still wait", r.ID, waiting, n)
	}
	j := c.job(r.Job)
	if r.Ended > 0 {
		if old.Ended == 0 {
			c.ended++
			c.lastEnd = w.now
			delete(j.open, r.ID)
			j.lastOpen = w.now
		}
		if open > 0 || r.Settings == nil && r.KillReason == "" {
			w.fail("nothing is lost", "execution %s is filed as ended with %d shards open, launched %v, kill reason %q", r.ID, open, r.Settings != nil, r.KillReason)
		}
		return
	}
	j.open[r.ID] = true
	j.lastOpen = w.now
	if first {
		for id := range j.open {
			if id != r.ID && c.execs[id].Settings != nil {
				w.fail("F5 one execution of a job at a time", "job %s: %s is launched while %s is open", r.Job, r.ID, id)
			}
		}
	}
}

func (c *checker) chunk(id, path string, part []shardRecord) {
	e := c.execs[id]
	if e == nil {
		e = c.early[id] // not named by a header yet
	}
	if e == nil {
		e = newExecRecord(id)
		c.early[id] = e
	}
	was := e.chunks[path]
	e.chunks[path] = part
	c.shardsChanged(e, was, part)
}

func (c *checker) shardsChanged(e *execRecord, was, now []shardRecord) {
	for _, s := range was {
		if live(s.State) {
			delete(c.live, s.TaskID)
			if !slices.ContainsFunc(now, func(n shardRecord) bool { return n.TaskID == s.TaskID && live(n.State) }) {
				c.killOver(s)
			}
			c.longest = max(c.longest, c.w.now-c.liveSince[s.TaskID])
		}
	}
	for i, s := range now {
		if live(s.State) {
			c.live[s.TaskID] = e.ID
			c.killWanted(s)
			if _, known := c.liveSince[s.TaskID]; !known {
				c.liveSince[s.TaskID] = c.w.now
			}
		}
		if s.State == scheduler.Failed && strings.Contains(s.Cause, notCompatible) {
			c.w.fail("X1 an executor that the master knows otherwise fails no shard", "execution %s, item %d: %s", e.ID, s.Item, s.Cause)
		}
		if e.done[s.Item] && s.State != scheduler.Finished {
			c.w.fail("nothing runs twice: what finished has finished", "execution %s, item %d: now %s", e.ID, s.Item, s.State)
		}
		if s.State == scheduler.Finished {
			e.done[s.Item] = true
		}
		if i < len(was) && was[i].KillReason != "" && (s.TaskID != was[i].TaskID || !live(s.State) && s.State != scheduler.Killed && s.State != scheduler.Finished) {
			c.w.fail("K1 a shard that is to be killed is not run again", "execution %s, item %d: %s of task %s, now %s of task %s", e.ID, s.Item, was[i].State, was[i].TaskID, s.State, s.TaskID)
		}
		if i < len(was) && c.killed[e.ID] && (s.TaskID != was[i].TaskID || !terminal(was[i].State) && terminal(s.State) && s.State != scheduler.Killed && s.State != scheduler.Finished) {
			c.w.fail("K1 an execution that is to be killed is not run again", "execution %s, item %d: %s of task %s, now %s of task %s", e.ID, s.Item, was[i].State, was[i].TaskID, s.State, s.TaskID)
		}
		if i < len(was) && terminal(was[i].State) && was[i].State != s.State {
			c.w.fail("S2 the first end is final", "execution %s, item %d: was %s, now %s", e.ID, s.Item, was[i].State, s.State)
		}
	}
}

func (c *checker) killWanted(s shardRecord) {
	if s.KillSince.IsZero() {
		return
	}
	if c.killsOn[s.Executor] == nil {
		c.killsOn[s.Executor] = map[string]time.Duration{}
	}
	if _, known := c.killsOn[s.Executor][s.TaskID]; !known {
		c.killsOn[s.Executor][s.TaskID] = c.w.now
	}
}

func (c *checker) killOver(s shardRecord) {
	delete(c.killsOn[s.Executor], s.TaskID)
	if len(c.killsOn[s.Executor]) == 0 {
		delete(c.killsOn, s.Executor)
	}
}

func (c *checker) executionGone(id string) {
	e := c.execs[id]
	if e == nil {
		return
	}
	if e.Ended == 0 && !c.endNoted[id] {
		c.w.fail("nothing is lost", "execution %s is removed before it ended", id)
	}
	delete(c.job(e.Job).open, id)
	delete(c.execs, id)
	delete(c.begun, id)
	delete(c.killed, id)
}

// promised: a requester was told that this execution was made.
func (c *checker) promised(id string) {
	if c.execs[id] == nil && !c.ever[id] {
		c.w.fail("nothing is lost", "a requester was told of execution %s, which is not committed", id)
	}
	c.promises[id] = true
}

// marked: fires up to this instant were made, or dropped for a reason.
func (c *checker) marked(to time.Time, upTo string) {
	w := c.w
	if to.Before(c.mark) {
		w.fail("F1 the mark never goes back", "from %s to %s", c.mark, to)
	}
	c.mark = to
	wall := c.decidedAt // the clock may have stepped since
	for _, name := range sorted(c.jobs) {
		j := c.jobs[name]
		if j.cfg == nil || !j.stored || j.off || j.schedule == nil || j.cfg.Cron == "" {
			j.checkedTo = to
			continue
		}
		upto := to
		if name > upTo {
			upto = to.Add(-time.Millisecond) // the mark stands inside the instant
		}
		from := j.checkedTo
		if j.since.After(from) {
			from = j.since
		}
		// Older than a minute is missed, not late (rule F3); and the mark may stand inside its instant.
		if late := wall.Add(-w.opt.Late + 10*time.Second); late.After(from) {
			from = late
		}
		for at := j.schedule.Next(from); !at.IsZero() && !at.After(upto); at = j.schedule.Next(at) {
			id := name + "@" + at.UTC().Format("20060102T150405Z")
			switch {
			case c.ever[id]:
			case !j.cfg.Misfire && (len(j.open) > 0 || w.now-j.lastOpen < 10*time.Second):
				w.count(FireWhileRunning)
			default:
				w.fail("F1 no fire is left out", "job %s (since %s): the fire of %s was not made; the mark goes from %s to %s, the clock is %s", name, j.since, at, j.checkedTo, to, wall)
			}
		}
		if upto.After(j.checkedTo) {
			j.checkedTo = upto
		}
	}
}

// shutdownArrives at an executor, which ends it with all its tasks.
func (c *checker) shutdownArrives(a *agent, x *executor) {
	if c.silent(x.info.ID) {
		return // rule K3
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		if t.executor == x.info.ID && !over(t.state) && c.live[id] != "" {
			c.w.fail("X2 no SHUTDOWN for an executor with live tasks", "executor %s on %s has task %s", x.info.ID, a.id, id)
		}
	}
}

// silent reports whether an executor had a kill to answer for as long as it is given.
func (c *checker) silent(executorID string) bool {
	for _, since := range c.killsOn[executorID] {
		if c.w.now-since >= c.w.opt.KillGrace+c.w.opt.KillAnswer-time.Second { // what is committed is a little older
			return true
		}
	}
	return false
}

// processBegins is where promise 2 is held or broken.
func (c *checker) processBegins(p *process) {
	w := c.w
	c.processes++
	c.takenOver(p)
	if e := c.execs[p.exec]; e != nil {
		if e.Settings != nil {
			p.failover = e.Settings.Job.Failover
		}
		switch {
		case !e.done[p.item], w.forgotten[p.task]:
		case p.failover && (p.wasAway || c.ghosts[p.task] != ""):
			w.count(LateProcess) // it was given up, on an agent that was away
		default:
			w.fail("nothing runs twice: what finished has finished", "execution %s, item %d runs again as %s", p.exec, p.item, p.task)
		}
	}
	c.beginsOnce(p)
	key := shardOf{p.job, p.item}
	for _, old := range c.running[key] {
		switch {
		case w.forgotten[old.task], w.forgotten[p.task]:
			w.count(LateProcess) // an operator said that it is over
		case old.lingers, old.removed && old.foreign: // nobody told us of it
			w.count(LateProcess)
		case old.failover && old.wasAway, p.failover && p.wasAway && c.ghosts[p.task] != "": // given up, it may begin late
			w.count(LateProcess)
		default:
			w.fail("nothing runs twice", "job %s, item %d: %s begins on %s while %s still runs on %s (execution %s, failover %v, its agent was away: %v)",
				p.job, p.item, p.task, p.agent, old.task, old.agent, old.exec, old.failover, old.wasAway)
		}
	}
	c.running[key] = append(c.running[key], p)
	if w.trace.on() {
		w.trace.add("process of %s begins on %s", p.task, p.agent)
	}
}

// beginsOnce checks that what may have begun is not run again unless its job asked for that (rule E1). A machine that is
// started again with what its agent knew is beyond the rule where the agent was not seen to be away.
func (c *checker) beginsOnce(p *process) {
	e := c.execs[p.exec]
	if e == nil || e.Settings == nil {
		return
	}
	if c.begun[p.exec] == nil {
		c.begun[p.exec] = map[int]*process{}
	}
	old := c.begun[p.exec][p.item]
	c.begun[p.exec][p.item] = p
	if old == nil || old.foreign || old.forgotten || p.failover || e.Settings.Job.MaxRetries > 0 || c.w.forgotten[old.task] {
		return
	}
	c.w.fail("E1 what may have begun counts as begun", "execution %s, item %d: %s begins on %s after %s began on %s", p.exec, p.item, p.task, p.agent, old.task, old.agent)
}

func (c *checker) processEnds(p *process) {
	delete(c.foreign, p)
	key := shardOf{p.job, p.item}
	c.running[key] = slices.DeleteFunc(c.running[key], func(o *process) bool { return o == p })
	if c.w.trace.on() {
		c.w.trace.add("process of %s ends", p.task)
	}
}

// periodic checks what must hold though nothing happens.
func (c *checker) periodic() {
	w := c.w
	l := w.leading
	if l == nil || l.dead || l.paused || l.busy {
		return
	}
	c.heldLong(l)
	if w.now-l.began < 20*time.Second || w.now-l.lastPause < 20*time.Second || w.now-w.lastJump < 20*time.Second || c.mark.After(w.wall()) {
		return
	}
	for _, name := range sorted(c.jobs) {
		j := c.jobs[name]
		if j.cfg == nil || j.schedule == nil || j.off || !j.stored {
			continue
		}
		from := c.mark
		if j.since.After(from) {
			from = j.since
		}
		if next := j.schedule.Next(from); !next.IsZero() && w.wall().Sub(next) > 15*time.Second {
			w.fail("F1 fires are made in time", "job %s should have fired at %s, the mark is %s, the clock %s", name, next, c.mark, w.wall())
		}
	}
}

// crons reports whether any job still has one, or is off. One without its app makes no fires.
func (c *checker) crons() bool {
	for _, j := range c.jobs {
		if j.cfg == nil || j.cfg.Cron == "" && !j.off {
			continue
		}
		if _, there := c.w.store.entries[pathApps+"/"+j.cfg.AppName]; there {
			return true
		}
	}
	return false
}

// open says which execution has not ended though it could.
func (c *checker) open() string {
	if c.crons() {
		return "users have not stopped"
	}
	for _, id := range sorted(c.execs) {
		e := c.execs[id]
		if e.Ended > 0 {
			continue
		}
		j := c.job(e.Job)
		// What never fits, or has no app any more, waits, and all behind it.
		if j.cfg != nil && (j.cfg.CPUCount == neverCPUs || c.w.store.entries[pathApps+"/"+j.cfg.AppName].Value == nil) && c.notLaunched(j) {
			continue
		}
		text := fmt.Sprintf("execution %s is open", id)
		if l := c.w.leading; l != nil && j.cfg != nil {
			if x, err := l.core.Explain(e.Job); err == nil {
				text += fmt.Sprintf("; explain: %s %q waiting %+v running %+v", x.State, x.Notes, x.Waiting[:min(len(x.Waiting), 2)], x.Running[:min(len(x.Running), 2)])
			}
		}
		return text
	}
	return ""
}

// starved checks that what the cluster can hold gets its turn (rule L2).
func (c *checker) starved() {
	w := c.w
	waits := map[string]time.Duration{}
	for _, id := range sorted(c.execs) {
		e := c.execs[id]
		j := c.job(e.Job)
		if e.Ended > 0 || e.Settings != nil || j.cfg == nil || j.off || j.cfg.CPUCount == neverCPUs || !c.notLaunched(j) ||
			c.w.store.entries[pathApps+"/"+j.cfg.AppName].Value == nil || len(c.ghosts) > 0 {
			continue
		}
		since, waited := c.waits[id]
		if !waited {
			since = w.now
		}
		waits[id] = since
		if most := w.longestWait(); w.now-since > most {
			text := ""
			if x, err := w.leading.core.Explain(e.Job); err == nil {
				text = fmt.Sprintf("%s %q waiting %+v", x.State, x.Notes, x.Waiting[:min(len(x.Waiting), 2)])
			}
			w.fail("L2 what the cluster can hold gets its turn", "execution %s waits for %s: %s", id, w.now-since, text)
		}
	}
	c.waits = waits
}

func (c *checker) notLaunched(j *jobMirror) bool {
	for id := range j.open {
		if c.execs[id].Settings != nil {
			return false
		}
	}
	return true
}

// left says what is still on the cluster or held.
func (c *checker) left() string {
	w := c.w
	for _, a := range w.agents {
		for _, id := range sorted(a.tasks) {
			return fmt.Sprintf("agent %s has task %s, %s, %d updates not acknowledged", a.id, id, a.tasks[id].state, len(a.tasks[id].updates))
		}
		for _, id := range sorted(a.executors) {
			if a.executors[id].info.Framework == theirFramework {
				continue // one whose agent was away is named by the next offer (rule X3)
			}
			return fmt.Sprintf("agent %s has executor %s, dead %v; in the registry closing: %v", a.id, id, a.executors[id].dead, c.executors[id])
		}
	}
	if len(c.live) > 0 {
		return fmt.Sprintf("task %s is in the registry as live", sorted(c.live)[0])
	}
	if len(c.ghosts) > 0 {
		return fmt.Sprintf("task %s is a ghost", sorted(c.ghosts)[0])
	}
	if len(c.executors) > 0 {
		return fmt.Sprintf("executor %s is in the registry", sorted(c.executors)[0])
	}
	if l := w.leading; l != nil && c.nothingDue() && len(l.watch.held) > 0 {
		return fmt.Sprintf("offer %s is held with nothing due", sorted(l.watch.held)[0])
	}
	return ""
}

func (c *checker) nothingDue() bool {
	for _, e := range c.execs {
		if e.Ended == 0 {
			return false
		}
	}
	return true
}

// nothingLeft after a drain.
func (c *checker) nothingLeft(when string) {
	for _, a := range c.w.agents {
		if a.with != c.w.master {
			continue
		}
		for _, id := range sorted(a.tasks) {
			t := a.tasks[id]
			f := t.launch.Executor.Framework
			// What a removed framework had is ended by its agent, within its grace.
			if !over(t.state) && f != theirFramework && !c.w.removed[f] {
				c.w.fail("O4 nothing is left running", "%s: agent %s has task %s", when, a.id, id)
			}
		}
		for _, id := range sorted(a.executors) {
			if f := a.executors[id].info.Framework; c.w.removed[f] || f == theirFramework || c.toldToEnd[id] {
				continue // told to end while its agent was away: the next offer names it (rule X3)
			}
			c.w.fail("O4 nothing is left running", "%s: agent %s has executor %s", when, a.id, id)
		}
	}
}

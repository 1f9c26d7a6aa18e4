package core

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// fireCursor is how far fires have been made: all up to Time, and of those at Time
// the ones of jobs up to Job by name (rule F1).
type fireCursor struct {
	Time time.Time `json:"time"`
	Job  string    `json:"job,omitempty"`
}

// lastName sorts after every name that the pattern allows.
const lastName = "~"

func (m fireCursor) covers(at time.Time, job string) bool {
	return at.Before(m.Time) || at.Equal(m.Time) && job <= m.Job
}

// dueBatch is a moment whose fires are being made, over several commits if
// there are many.
type dueBatch struct {
	at    time.Time
	names []string
}

// missedWindow is a stretch of time without fires that is too old to be run as late: a
// new leader or a clock that jumped finds one (rule F3).
type missedWindow struct {
	upto  time.Time
	names []string // jobs still to look at, sorted
}

// makeFires makes what is due, at most FiresPerStep.
func (c *Core) makeFires() {
	if c.cursor.Time.IsZero() {
		c.advanceCursor(fireCursor{Time: c.wall.Truncate(time.Second), Job: lastName})
	}
	if c.clockBehind() {
		return
	}
	budget := c.opt.FiresPerStep
	for budget > 0 {
		if c.missed != nil {
			budget -= c.crossMissedWindow(budget)
			continue
		}
		if c.due == nil && !c.nextDueBatch() {
			return
		}
		if c.missed == nil {
			budget -= c.fireDueBatch(budget)
		}
	}
}

// clockBehind reports whether the wall clock is behind the fire cursor: no fires are
// made until it has passed it (rule F4).
func (c *Core) clockBehind() bool {
	behind := c.cursor.Time.Sub(c.wall)
	if behind <= time.Second {
		c.behindNoted = false
		return false
	}
	if !c.behindNoted {
		c.behindNoted = true
		c.note(Note{Kind: NoteClock, Problem: true, Detail: fmt.Sprintf(
			"the clock is %s behind the last fires made; none are made until it has passed %s", behind.Round(time.Second), c.cursor.Time.Format(time.RFC3339))})
	}
	return true
}

// wallClockSet follows a wall clock that was set. Of a missed window that reaches beyond the present, as far as the clock was
// ahead, the end must not become the cursor: no fires would be made until then (rule F4).
func (c *Core) wallClockSet() {
	if c.missed != nil && c.missed.upto.After(c.wall) {
		c.missed = nil
	}
	c.needChanged()
	c.flow.revivedFor = time.Time{}
}

// nextDueBatch takes the next moment with fires, or opens a missed window before it.
func (c *Core) nextDueBatch() bool {
	next, ok := c.timetable.NextAt()
	if !ok || next.After(c.wall) {
		return false
	}
	if old := c.wall.Add(-c.opt.Late).Truncate(time.Second); next.Before(old) {
		c.openMissedWindow(old)
		return true
	}
	at, names, ok := c.timetable.Pop(c.wall)
	if !ok {
		return false
	}
	c.due = &dueBatch{at: at.UTC(), names: names}
	return true
}

func (c *Core) openMissedWindow(upto time.Time) {
	g := &missedWindow{upto: upto}
	for name, j := range c.jobs {
		if j.schedule != nil && c.inactive(j) == active {
			g.names = append(g.names, name)
		}
	}
	sort.Strings(g.names)
	c.missed = g
}

// crossMissedWindow looks at jobs for what they missed and returns how much of the budget that took: one for each job and one for each
// fire. Each job's since moves to the end of the missed window with its fires, so that a
// crash in the middle makes none of them twice.
func (c *Core) crossMissedWindow(budget int) (used int) {
	g := c.missed
	for len(g.names) > 0 {
		if used >= budget {
			return used
		}
		name := g.names[0]
		g.names = g.names[1:]
		used++
		j := c.jobs[name]
		if j == nil || j.schedule == nil || c.inactive(j) != active {
			continue
		}
		from := c.cursor.Time
		if !c.cursor.covers(from, name) {
			from = from.Add(-time.Second) // the cursor stands inside this batch
		}
		if j.since.After(from) {
			from = j.since
		}
		if !g.upto.After(from) {
			continue
		}
		if first := j.schedule.Next(from); first.IsZero() || first.After(g.upto) {
			continue
		}
		detail := fmt.Sprintf("none of the fires after %s up to %s were made in time; without misfire they are dropped", from.Format(time.RFC3339), g.upto.Format(time.RFC3339))
		if j.cfg.Misfire {
			missed := j.schedule.Latest(from, g.upto, c.queueLimit())
			detail = fmt.Sprintf("none of the fires after %s up to %s were made in time; the newest %d run now", from.Format(time.RFC3339), g.upto.Format(time.RFC3339), len(missed))
			for _, at := range missed {
				c.enqueueFire(j, at.UTC(), Misfired)
			}
			used += len(missed)
			j.since = g.upto
			c.dirty.job(name)
		}
		c.countMissed(j, detail)
		c.note(Note{Kind: NoteFiresMissed, Job: name, Detail: detail})
	}
	c.timetable.Skip(g.upto)
	c.advanceCursor(fireCursor{Time: g.upto, Job: lastName})
	c.missed = nil
	return used + 1
}

// fireDueBatch makes fires of the due batch and returns how many jobs it looked at.
func (c *Core) fireDueBatch(budget int) int {
	p := c.due
	n := min(budget, len(p.names))
	for _, name := range p.names[:n] {
		j := c.jobs[name]
		if j == nil || j.cfg == nil || c.inactive(j) != active || !p.at.After(j.since) || c.cursor.covers(p.at, name) {
			continue
		}
		c.stats.Fires++
		c.enqueueFire(j, p.at, NormalTrigger)
	}
	c.needChanged()
	m := fireCursor{Time: p.at}
	if n < len(p.names) {
		m.Job = p.names[n-1]
		p.names = p.names[n:]
	} else {
		m.Job = lastName
		c.due = nil
	}
	c.advanceCursor(m)
	return max(n, 1)
}

// advanceCursor moves the cursor forward, never back.
func (c *Core) advanceCursor(m fireCursor) {
	if c.cursor.Time.After(m.Time) || c.cursor.Time.Equal(m.Time) && c.cursor.Job >= m.Job {
		return
	}
	c.cursor = m
	c.dirty.cursor = true
}

// nextFire is when the next fires are due.
func (c *Core) nextFire() (time.Time, bool) {
	if c.due != nil {
		return c.due.at, true
	}
	return c.timetable.NextAt()
}

// executionID of a cron's fire derives from job and time, so that a fire is
// made at most once (rule F2).
func executionID(job string, fire time.Time) string {
	return job + "@" + fire.UTC().Format("20060102T150405Z")
}

// enqueueFire applies the queue rule to a fire of a cron (rule F5).
func (c *Core) enqueueFire(j *jobState, at time.Time, source Source) {
	id := executionID(j.name, at)
	if c.executions[id] != nil || c.ended.byID[id] != nil {
		return
	}
	if len(j.queue) > 0 && !onlyEnding(j.queue) {
		if !j.cfg.Misfire {
			why := fmt.Sprintf("the fire of %s found execution %s %s; without misfire it is dropped", at.Format(time.RFC3339), j.queue[0].ID, j.queue[0].state())
			c.countDropped(j, why)
			c.note(Note{Kind: NoteFireDropped, Job: j.name, Detail: why})
			return
		}
		source = Misfired
		c.dropOldestFire(j)
	}
	c.enqueue(j, &execution{ID: id, Job: j.name, Fire: at, Source: source, Made: c.now})
}

// onlyEnding reports whether all that is in a queue are tasks of a deregistered
// job of the name that are being ended: the first fire of the new one waits for
// them (rule K2).
func onlyEnding(queue []*execution) bool {
	for _, e := range queue {
		if !e.launched() || e.KillReason == "" {
			return false
		}
	}
	return true
}

// queueLimit is how many fires of one job may wait: fewer when so many of all jobs do that their number would
// outgrow the memory. Each job has room for one.
func (c *Core) queueLimit() int {
	return min(max(c.opt.OpenExecutions-len(c.executions), 1), c.opt.QueuedFires)
}

// dropOldestFire makes room in a full queue: the oldest fire of the cron that
// waits goes; triggers are never dropped.
func (c *Core) dropOldestFire(j *jobState) {
	waiting, oldest := 0, -1
	for i, e := range j.queue {
		if e.launched() {
			continue
		}
		if e.Source == Triggered {
			continue
		}
		if waiting++; oldest < 0 {
			oldest = i
		}
	}
	most := c.queueLimit()
	if waiting < most {
		return
	}
	e := j.queue[oldest]
	e.Dropped = true
	detail := fmt.Sprintf("%d fires wait already", waiting)
	e.KillReason = fmt.Sprintf("dropped: more than %d fires of the job were waiting", c.opt.QueuedFires)
	if most < c.opt.QueuedFires {
		detail = fmt.Sprintf("%d executions of all jobs are open", len(c.executions))
		e.KillReason = fmt.Sprintf("dropped: more than %d executions of all jobs were open", c.opt.OpenExecutions)
	}
	why := fmt.Sprintf("%s; the oldest, of %s, is dropped", detail, e.Fire.Format(time.RFC3339))
	c.countDropped(j, why)
	c.note(Note{Kind: NoteFireDropped, Job: j.name, Execution: e.ID, Detail: why})
	c.endExecution(e)
}

// enqueue adds an execution to its job's queue, in order of fire time.
func (c *Core) enqueue(j *jobState, e *execution) {
	c.executions[e.ID] = e
	c.needChanged()
	i := len(j.queue)
	for i > 0 && !j.queue[i-1].launched() && e.Fire.Before(j.queue[i-1].Fire) {
		i--
	}
	j.queue = slices.Insert(j.queue, i, e)
	c.dirty.header(e)
	c.note(Note{Kind: NoteExecutionMade, Job: j.name, Execution: e.ID, Detail: string(e.Source)})
	if i == 0 && len(j.queue) > 1 {
		c.removeLaunchable(j.queue[1])
	}
	c.headOfQueue(j)
}

// headOfQueue lets the first execution of a job's queue be launched (rule F5).
func (c *Core) headOfQueue(j *jobState) {
	if len(j.queue) == 0 {
		return
	}
	if e := j.queue[0]; !e.launched() && e.KillReason == "" {
		c.addLaunchable(e)
	}
}

// trigger makes an execution now, or refuses (rule F5: a trigger is never dropped).
func (c *Core) trigger(t TriggerRequested) {
	refuse := func(err *Error) { c.out.Replies = append(c.out.Replies, Reply{Token: t.Token, Err: err}) }
	id := executionID(t.Job, c.wall) + "-" + c.uuid()[:8]
	if t.Key != "" {
		id = keyedID(t.Job) + fingerprint(t.Key)
		if _, known := c.keys[id]; known {
			c.out.Replies = append(c.out.Replies, Reply{Token: t.Token, ExecutionID: id})
			return
		}
	}
	j := c.jobs[t.Job]
	if j == nil || j.cfg == nil {
		refuse(jobNotFound(t.Job))
		return
	}
	if j.cfg.JobExecutionType == jobs.Daemon {
		refuse(Errorf(Conflict, "daemon_trigger", "Daemon job '%s' cannot support trigger.", t.Job))
		return
	}
	if why := c.inactiveReason(j); why != "" {
		if j.disabled || c.apps[j.cfg.AppName] != nil { // else the reason itself says what to do
			why += "; enable it first"
		}
		refuse(Errorf(Conflict, "job_disabled", "job %q cannot be triggered: %s", t.Job, why))
		return
	}
	if c.draining {
		refuse(Errorf(Unavailable, "stopping", "the scheduler is stopping; try again when it is back"))
		return
	}
	if bad := t.Overrides.Check(*j.cfg); len(bad) > 0 {
		err := Errorf(Invalid, "invalid", "this request changed nothing: %v", bad)
		err.Violations = bad
		refuse(err)
		return
	}
	waiting := 0
	for _, e := range j.queue {
		if !e.launched() && (e.Source == Triggered || j.cfg.Misfire) {
			waiting++
		}
	}
	most := 1
	if j.cfg.Misfire {
		most = c.opt.QueuedFires
	}
	if waiting >= most {
		refuse(Errorf(Conflict, "trigger_waits", "job %q has %s waiting already (GET /api/job/%s/explain says for what); trigger it again when that has begun", t.Job, counted(waiting, "execution"), t.Job))
		return
	}
	if t.Key != "" {
		c.keepKey(id, c.now)
	}
	c.stats.Triggers++
	e := &execution{ID: id, Job: t.Job, Fire: c.wall.Truncate(time.Millisecond), Source: Triggered, Made: c.now}
	if !t.Overrides.IsZero() {
		e.Overrides = &t.Overrides
	}
	c.enqueue(j, e)
	c.out.Replies = append(c.out.Replies, Reply{Token: t.Token, ExecutionID: id})
}

// keyedID is the prefix of the ids of a job's executions that were triggered with an Idempotency-Key.
func keyedID(job string) string { return job + "@key-" }

// keysKept is how long an Idempotency-Key is remembered.
const keysKept = 24 * time.Hour

// keepKey remembers a key, by the execution that it made, until it is old (rule T3).
func (c *Core) keepKey(id string, at time.Time) {
	c.keys[id] = at
	c.dirty.keys[id] = true
	c.forgetKeyLater(id, at)
}

func (c *Core) forgetKeyLater(id string, at time.Time) {
	c.timers.at(at.Add(keysKept), func(time.Time) {
		delete(c.keys, id)
		c.dirty.keys[id] = true
	})
}

package core

import (
	"fmt"
	"sort"
	"time"

	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// makeFires makes what is due, at most FiresPerStep.
func (c *Core) makeFires() {
	if c.fires.cursor.Time.IsZero() {
		c.fires.advance(fireCursor{Time: c.Wall().Truncate(time.Second), Job: lastName})
	}
	if c.clockBehind() {
		return
	}
	budget := c.Opt.FiresPerStep
	for budget > 0 {
		if c.fires.missed != nil {
			budget -= c.crossMissedWindow(budget)
			continue
		}
		if c.fires.due == nil && !c.nextDueBatch() {
			return
		}
		if c.fires.missed == nil {
			budget -= c.fireDueBatch(budget)
		}
	}
}

// clockBehind reports whether the wall clock is behind the fire cursor: no fires are
// made until it has passed it (rule F4).
func (c *Core) clockBehind() bool {
	behind := c.fires.cursor.Time.Sub(c.Wall())
	if behind <= time.Second {
		c.fires.behind = false
		return false
	}
	if !c.fires.behind {
		c.fires.behind = true
		c.Note(step.Note{Kind: step.NoteClock, Problem: true, Detail: fmt.Sprintf(
			"the clock is %s behind the last fires made; none are made until it has passed %s", behind.Round(time.Second), c.fires.cursor.Time.Format(time.RFC3339))})
	}
	return true
}

// wallClockSet follows a wall clock that was set. Of a missed window that reaches beyond the present, as far as the clock was
// ahead, the end must not become the cursor: no fires would be made until then (rule F4).
func (c *Core) wallClockSet() {
	if c.fires.missed != nil && c.fires.missed.upto.After(c.Wall()) {
		c.fires.missed = nil
	}
	c.placement.ClockSet()
}

// nextDueBatch takes the next moment with fires, or opens a missed window before it.
func (c *Core) nextDueBatch() bool {
	next, ok := c.fires.timetable.NextAt()
	if !ok || next.After(c.Wall()) {
		return false
	}
	if old := c.Wall().Add(-c.Opt.Late).Truncate(time.Second); next.Before(old) {
		c.openMissedWindow(old)
		return true
	}
	at, names, ok := c.fires.timetable.Pop(c.Wall())
	if !ok {
		return false
	}
	c.fires.due = &dueBatch{at: at.UTC(), names: names}
	return true
}

func (c *Core) openMissedWindow(upto time.Time) {
	g := &missedWindow{upto: upto}
	for name, j := range c.config.AllJobs() {
		if j.FiredHere() && c.config.Inactive(j) == config.Active {
			g.names = append(g.names, name)
		}
	}
	sort.Strings(g.names)
	c.fires.missed = g
}

// crossMissedWindow looks at jobs for what they missed and returns how much of the budget that took: one for each job and one for each
// fire. The since of a job with misfire moves to the end of the missed window with its fires, so that a
// crash in the middle makes none of them twice; without misfire none is made.
func (c *Core) crossMissedWindow(budget int) (used int) {
	g := c.fires.missed
	for len(g.names) > 0 {
		if used >= budget {
			return used
		}
		name := g.names[0]
		g.names = g.names[1:]
		used++
		j := c.config.Job(name)
		if j == nil || !j.FiredHere() || c.config.Inactive(j) != config.Active {
			continue
		}
		from := c.fires.cursor.Time
		if !c.fires.cursor.covers(from, name) {
			from = from.Add(-time.Second) // the cursor stands inside this batch
		}
		if j.Since().After(from) {
			from = j.Since()
		}
		if !g.upto.After(from) {
			continue
		}
		if first := j.Schedule().Next(from); first.IsZero() || first.After(g.upto) {
			continue
		}
		why := reason.FiresMissed(from, g.upto)
		if j.Config().Misfire {
			missed := j.Schedule().Latest(from, g.upto, c.queueLimit())
			why = reason.FiresMadeUp(from, g.upto, len(missed))
			for _, at := range missed {
				c.enqueueFire(j, at.UTC(), executions.Misfired)
			}
			used += len(missed)
			c.config.FiredUpTo(j, g.upto)
		}
		c.config.CountMissed(j, why)
		c.recording.Missed(name, g.upto, why)
		c.Note(step.Note{Kind: step.NoteFiresMissed, Job: name, Why: why})
	}
	c.fires.timetable.Skip(g.upto)
	c.fires.advance(fireCursor{Time: g.upto, Job: lastName})
	c.fires.missed = nil
	return used + 1
}

// fireDueBatch makes fires of the due batch and returns how many jobs it looked at.
func (c *Core) fireDueBatch(budget int) int {
	p := c.fires.due
	n := min(budget, len(p.names))
	for _, name := range p.names[:n] {
		j := c.config.Job(name)
		if j == nil || !j.FiredHere() || c.config.Inactive(j) != config.Active || !p.at.After(j.Since()) || c.fires.cursor.covers(p.at, name) {
			continue
		}
		c.Numbers.Fires++
		c.enqueueFire(j, p.at, executions.NormalTrigger)
	}
	c.NeedChanged()
	m := fireCursor{Time: p.at}
	if n < len(p.names) {
		m.Job = p.names[n-1]
		p.names = p.names[n:]
	} else {
		m.Job = lastName
		c.fires.due = nil
	}
	c.fires.advance(m)
	return max(n, 1)
}

// enqueueFire applies the queue rule to a fire of a cron (rule F5).
func (c *Core) enqueueFire(j *config.Job, at time.Time, source executions.Source) {
	id := executions.ID(j.Name(), at)
	if c.executions.Known(id) {
		return
	}
	if c.executions.Occupied(j.Name()) {
		if !j.Config().Misfire {
			why := reason.FireFoundBusy(at, c.executions.Queue(j.Name())[0].ID(), string(c.executions.Queue(j.Name())[0].State()))
			c.config.CountDropped(j, 1, why)
			c.recording.Dropped(j.Name(), at, why)
			c.Note(step.Note{Kind: step.NoteFireDropped, Job: j.Name(), Why: why})
			return
		}
		source = executions.Misfired
		c.dropOldestFire(j)
	}
	c.executions.Enqueue(executions.Made{ID: id, Job: j.Name(), Fire: at, Source: source})
}

// queueLimit is how many fires of one job may wait: fewer when so many of all jobs do that their number would
// outgrow the memory. Each job has room for one.
func (c *Core) queueLimit() int {
	return min(max(c.Opt.OpenExecutions-c.executions.NumOpen(), 1), c.Opt.QueuedFires)
}

// dropOldestFire makes room in a full queue: the oldest fire of the cron that
// waits goes; triggers are never dropped.
func (c *Core) dropOldestFire(j *config.Job) {
	waiting, oldest := 0, -1
	for i, e := range c.executions.Queue(j.Name()) {
		if e.Launched() {
			continue
		}
		if e.Source() == executions.Triggered {
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
	e := c.executions.Queue(j.Name())[oldest]
	why := reason.OldestDropped(waiting, e.Fire())
	kill := reason.DroppedFromQueue(c.Opt.QueuedFires)
	if most < c.Opt.QueuedFires {
		why = reason.OldestOfAllDropped(c.executions.NumOpen(), e.Fire())
		kill = reason.DroppedOfTooMany(c.Opt.OpenExecutions)
	}
	c.config.CountDropped(j, 1, why)
	c.Note(step.Note{Kind: step.NoteFireDropped, Job: j.Name(), Execution: e.ID(), Why: why})
	c.executions.Drop(e, kill)
}

package core

import (
	"fmt"
	"sort"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
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

// fires are the crons of all jobs, and how far their fires have been made.
type fires struct {
	timetable *cron.Timetable
	// schedules are parsed crons, by cron and time zone.
	schedules map[string]*cron.Schedule
	// cursor never goes back; cursorChanged is set when it differs from what is stored.
	cursor        fireCursor
	cursorChanged bool
	// missed is the missed window that is being crossed, due the batch that is being made; nil while there is none. Only
	// one of them is worked on at a time, the missed window first.
	missed *missedWindow
	due    *dueBatch
	// behind is set while the wall clock is behind the cursor (rule F4).
	behind bool
	// loading is set while a term is loaded. Jobs with the same cron then share a group, which has their missed fires to catch up.
	loading bool
}

func newFires() fires {
	return fires{timetable: cron.NewTimetable(), schedules: map[string]*cron.Schedule{}}
}

func (f *fires) write(r *records) {
	if f.cursorChanged {
		r.put(pathCursor, f.cursor)
		f.cursorChanged = false
	}
}

// next is when the next fires are due.
func (f *fires) next() (time.Time, bool) {
	if f.due != nil {
		return f.due.at, true
	}
	return f.timetable.NextAt()
}

// advance moves the cursor forward, never back.
func (f *fires) advance(to fireCursor) {
	if f.cursor.Time.After(to.Time) || f.cursor.Time.Equal(to.Time) && f.cursor.Job >= to.Job {
		return
	}
	f.cursor, f.cursorChanged = to, true
}

// schedule is a job's cron, parsed. Many jobs share few crons, so parsed ones are
// kept; they never change.
func (f *fires) schedule(cfg jobs.Config, zone *time.Location) (*cron.Schedule, error) {
	key := cfg.Cron + "\x00" + cfg.TimeZone
	if s, ok := f.schedules[key]; ok {
		return s, nil
	}
	s, err := jobs.Schedule(cfg, zone)
	if err != nil {
		return nil, fmt.Errorf("the cron of job %q can't be used: %w", cfg.JobName, err)
	}
	if len(f.schedules) >= schedulesKept {
		clear(f.schedules)
	}
	f.schedules[key] = s
	return s, nil
}

const schedulesKept = 10_000

// makeFires makes what is due, at most FiresPerStep.
func (c *Core) makeFires() {
	if c.fires.cursor.Time.IsZero() {
		c.fires.advance(fireCursor{Time: c.wall.Truncate(time.Second), Job: lastName})
	}
	if c.clockBehind() {
		return
	}
	budget := c.opt.FiresPerStep
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
	behind := c.fires.cursor.Time.Sub(c.wall)
	if behind <= time.Second {
		c.fires.behind = false
		return false
	}
	if !c.fires.behind {
		c.fires.behind = true
		c.note(Note{Kind: NoteClock, Problem: true, Detail: fmt.Sprintf(
			"the clock is %s behind the last fires made; none are made until it has passed %s", behind.Round(time.Second), c.fires.cursor.Time.Format(time.RFC3339))})
	}
	return true
}

// wallClockSet follows a wall clock that was set. Of a missed window that reaches beyond the present, as far as the clock was
// ahead, the end must not become the cursor: no fires would be made until then (rule F4).
func (c *Core) wallClockSet() {
	if c.fires.missed != nil && c.fires.missed.upto.After(c.wall) {
		c.fires.missed = nil
	}
	c.flow.needChanged()
	c.flow.revivedFor = time.Time{}
}

// nextDueBatch takes the next moment with fires, or opens a missed window before it.
func (c *Core) nextDueBatch() bool {
	next, ok := c.fires.timetable.NextAt()
	if !ok || next.After(c.wall) {
		return false
	}
	if old := c.wall.Add(-c.opt.Late).Truncate(time.Second); next.Before(old) {
		c.openMissedWindow(old)
		return true
	}
	at, names, ok := c.fires.timetable.Pop(c.wall)
	if !ok {
		return false
	}
	c.fires.due = &dueBatch{at: at.UTC(), names: names}
	return true
}

func (c *Core) openMissedWindow(upto time.Time) {
	g := &missedWindow{upto: upto}
	for name, j := range c.config.jobs {
		if j.schedule != nil && c.config.inactive(j) == active {
			g.names = append(g.names, name)
		}
	}
	sort.Strings(g.names)
	c.fires.missed = g
}

// crossMissedWindow looks at jobs for what they missed and returns how much of the budget that took: one for each job and one for each
// fire. Each job's since moves to the end of the missed window with its fires, so that a
// crash in the middle makes none of them twice.
func (c *Core) crossMissedWindow(budget int) (used int) {
	g := c.fires.missed
	for len(g.names) > 0 {
		if used >= budget {
			return used
		}
		name := g.names[0]
		g.names = g.names[1:]
		used++
		j := c.config.jobs[name]
		if j == nil || j.schedule == nil || c.config.inactive(j) != active {
			continue
		}
		from := c.fires.cursor.Time
		if !c.fires.cursor.covers(from, name) {
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
			c.config.touch(j)
		}
		c.config.countMissed(j, detail)
		c.note(Note{Kind: NoteFiresMissed, Job: name, Detail: detail})
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
		j := c.config.jobs[name]
		if j == nil || j.cfg == nil || c.config.inactive(j) != active || !p.at.After(j.since) || c.fires.cursor.covers(p.at, name) {
			continue
		}
		c.stats.Fires++
		c.enqueueFire(j, p.at, NormalTrigger)
	}
	c.flow.needChanged()
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

package sim

import (
	"slices"
	"time"
)

// cursorMoved checks that all fires up to the cursor were made, or dropped for a reason. At the cursor's time itself,
// fires were made only for the jobs up to lastJob, by name.
func (c *checker) cursorMoved(to time.Time, lastJob string) {
	w := c.w
	if to.Before(c.cursor) {
		c.cursorBack(to)
	}
	c.cursor = to
	wall := c.decidedAt // the clock may have been set since
	for _, name := range sorted(c.jobs) {
		j := c.jobs[name]
		if j.cfg == nil || !j.stored || j.off || j.schedule == nil {
			j.checkedTo = to
			continue
		}
		end := to
		if name > lastJob {
			end = to.Add(-time.Millisecond)
		}
		// Fires that are too old are missed, not late (rule F3).
		from := latest(j.checkedTo, j.since, wall.Add(-w.opt.MaxLateness+10*time.Second))
		for at := j.schedule.Next(from); !at.IsZero() && !at.After(end); at = j.schedule.Next(at) {
			id := name + "@" + at.UTC().Format("20060102T150405Z")
			switch {
			case c.ever[id], w.inLeap(at), c.madeUpAt(name, at):
			case !j.cfg.Misfire && (len(j.open) > 0 || w.now-j.lastOpen < 10*time.Second):
				w.count(FireWhileRunning)
			default:
				w.fail("F1 no fire is left out",
					"job %s (since %s): the fire of %s was not made; the cursor goes from %s to %s, the clock is %s",
					name, j.since, at, j.checkedTo, to, wall)
			}
		}
		j.checkedTo = latest(j.checkedTo, end)
	}
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// periodic checks the invariants that must hold without any event.
func (c *checker) periodic() {
	w := c.w
	l := w.leading
	if l == nil || l.dead || l.paused || l.out.committing {
		return
	}
	c.checkHeldLong(l)
	if w.now-l.began < 20*time.Second || w.now-l.lastPause < 20*time.Second || w.now-w.lastJump < 20*time.Second {
		return
	}
	if ahead := c.cursor.Sub(w.wall()); ahead > 25*time.Hour && w.leap.by == 0 && len(w.leap.passed) > 0 {
		w.fail("F4 the cursor goes back with the clock", "it is %s, the clock is %s", c.cursor, w.wall())
	} else if ahead > 0 {
		return
	}
	c.checkOverdue(l)
	c.checkStaged()
	for _, name := range sorted(c.jobs) {
		j := c.jobs[name]
		if j.cfg == nil || j.schedule == nil || j.off || !j.stored || w.now-j.documented < 15*time.Second {
			continue
		}
		next := j.schedule.Next(latest(c.cursor, j.since))
		for !next.IsZero() && (w.inLeap(next) || c.madeUpAt(name, next)) {
			next = j.schedule.Next(next)
		}
		if !next.IsZero() && w.wall().Sub(next) > 15*time.Second {
			w.fail("F1 fires are made in time", "job %s should have fired at %s, the cursor is %s, the clock %s", name,
				next, c.cursor, w.wall())
		}
	}
}

// hasCrons reports whether any job still has a cron or is off, except the daemon that is kept. A job whose app was
// deleted does not count, because it makes no fires.
func (c *checker) hasCrons() bool {
	for _, j := range c.jobs {
		if j.cfg == nil || j.cfg.Cron == "" && !j.off || j.daemon() && j.cfg.JobName == c.w.keptDaemon && !j.off {
			continue
		}
		if _, there := c.w.store.entries[pathApps+"/"+j.cfg.AppName]; there {
			return true
		}
	}
	return false
}

package sim

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs/cron/cursor"
	"github.com/elasticjob-go/elasticjob/registry"
)

// leapSeeds is the last digit of the seeds of worlds whose wall clock leaps: by days to decades, for a while.
const leapSeeds = 4

// leap is the state of a world's leaps of the wall clock.
type leap struct {
	rng   *rand.Rand    // separate, so that worlds without leaps stay the same
	by    time.Duration // by how much the clock is wrong
	since time.Time     // the earliest time that the wall clock showed since the last leap
	// floor is the cursor that was committed before the clock leapt.
	floor time.Time
	// passed are the periods that the wall clock passed while it was wrong. Their fires were made then.
	passed []cursor.Span
	days   time.Duration // the distance that several leaps of this world share, so that periods are passed again
}

// planLeaps makes the wall clock leap from time to time, sometimes twice, and come back, under the same leader or under
// others.
func (w *world) planLeaps() {
	if w.cfg.Seed%10 != leapSeeds {
		return
	}
	w.leap.rng = rand.New(rand.NewPCG(w.cfg.Seed, 0x1ea9))
	w.leap.days = time.Duration(1+w.leap.rng.IntN(3))*24*time.Hour + time.Hour
	w.after(w.leapDelay(2*time.Minute), w.leapClock)
}

// leapDelay returns a random delay up to limit.
func (w *world) leapDelay(limit time.Duration) time.Duration {
	return time.Second + time.Duration(w.leap.rng.Int64N(int64(limit)))
}

func (w *world) leapClock() {
	if w.calm || w.leap.by > 20*365*24*time.Hour {
		return
	}
	by := []time.Duration{w.leap.days, w.leap.days - w.leapDelay(5*time.Minute), 400 * 24 * time.Hour,
		73 * 365 * 24 * time.Hour}[w.leap.rng.IntN(4)]
	if w.leap.by == 0 {
		// A cursor from an earlier leap that no leader has taken back yet is not a floor.
		if back := w.check.cursor; !w.inLeap(back) && back.Before(w.wall().Add(24*time.Hour)) {
			w.leap.floor = back
		}
	} else {
		w.endLeap()
	}
	w.skew += by
	w.leap.by += by
	w.leap.since, w.lastJump = w.wall(), w.now
	w.count(ClockLeap)
	w.maybeCrashLeader()
	next := w.resetClock
	if w.leap.rng.IntN(4) == 0 {
		next = w.leapClock
	}
	w.after(w.leapDelay([]time.Duration{10 * time.Second, 5 * time.Minute}[w.leap.rng.IntN(2)]), next)
	if w.leap.rng.IntN(2) == 0 {
		w.after(w.leapDelay(30*time.Second), w.maybeCrashLeader)
	}
}

// maybeCrashLeader sometimes makes the leader crash.
func (w *world) maybeCrashLeader() {
	if l := w.leading; l != nil && !w.calm && w.leap.rng.IntN(3) == 0 {
		l.crash("at a leap of the clock")
	}
}

// resetClock sets the clock right after leaps.
func (w *world) resetClock() {
	if w.leap.by == 0 {
		return
	}
	w.endLeap()
	w.skew -= w.leap.by
	w.leap.by, w.lastJump = 0, w.now
	w.trace.add("the clock is set back to %s", w.wall())
	if !w.calm {
		w.maybeCrashLeader()
		w.after(w.leapDelay(5*time.Minute), w.leapClock)
	}
}

// shiftClock sets the clock forward or back by less than a leap.
func (w *world) shiftClock(by time.Duration) {
	w.skew += by
	w.lastJump = w.now
	if now := w.wall(); w.leap.by != 0 && now.Before(w.leap.since) {
		w.leap.since = now
	}
}

// endLeap records the period that the wall clock passed since the last leap. The clock may have been set forward for a
// while, by less than a leap: then it passed the time up to the cursor.
func (w *world) endLeap() {
	end := w.wall()
	if c := w.check.cursor; c.After(end) && c.Sub(end) <= cursor.MinLeap {
		end = c
	}
	w.leap.passed = append(w.leap.passed, cursor.Span{From: w.leap.since, To: end})
}

// inLeap reports whether the clock passed a time while it was ahead. Fires of that time need not be made again (rule
// F4).
func (w *world) inLeap(at time.Time) bool {
	for _, p := range w.leap.passed {
		if !at.Before(p.From.Add(-w.opt.MaxLateness-5*time.Second)) && !at.After(p.To.Add(time.Second)) {
			return true
		}
	}
	return false
}

// cursorBack checks that the cursor may go back to a time.
func (c *checker) cursorBack(to time.Time) {
	w := c.w
	if c.cursor.Sub(c.decidedAt) <= 24*time.Hour || len(w.leap.passed) == 0 {
		w.fail("F1 the cursor goes back only after a leap", "from %s to %s, the clock is %s", c.cursor, to, c.decidedAt)
	}
	if to.Before(w.leap.floor) {
		w.fail("F4 the cursor goes back to before the leap, and no further", "from %s to %s, the leap began at %s",
			c.cursor, to, w.leap.floor)
	}
	w.count(CursorTakenBack)
	for _, j := range c.jobs {
		if j.checkedTo.After(to) {
			j.checkedTo = to
		}
	}
}

// madeUpAt reports whether a fire was made for a missed window, according to the stored spans.
func (c *checker) madeUpAt(job string, at time.Time) bool {
	var spans []cursor.Span
	e, there := c.w.store.entries[pathMadeUp+"/"+job]
	return there && json.Unmarshal(e.Value, &spans) == nil &&
		slices.ContainsFunc(spans, func(s cursor.Span) bool { return s.Contains(at) })
}

// loadedWithBug returns what a leader loads after a core with the bug has written it.
func loadedWithBug(bug Bug, entries []registry.Entry) []registry.Entry {
	if bug != ForgetsMadeFires && bug != GoesBackTooFar {
		return entries
	}
	var out []registry.Entry
	for _, e := range entries {
		dir, _ := splitPath(e.Path)
		var m cursor.Memory
		switch {
		case bug == ForgetsMadeFires && dir == pathMadeUp:
			continue
		case e.Path == pathLeaps && json.Unmarshal(e.Value, &m) == nil:
			if bug == ForgetsMadeFires {
				m.Made = nil
			}
			for i := range m.Leaps {
				if before := &m.Leaps[i].Before.Time; bug == GoesBackTooFar {
					*before = before.Add(-time.Hour)
				}
			}
			e.Value, _ = json.Marshal(m)
		}
		out = append(out, e)
	}
	return out
}

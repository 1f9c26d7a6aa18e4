package sim

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// quiesce ends the faults: from here on, all that can run has to end.
func (w *world) quiesce() {
	w.calm = true
	w.trace.add("the faults stop")
	for _, a := range slices.Clone(w.agents) {
		a.unavailable = time.Time{}
		switch {
		case a.lost:
			w.replace(a, "")
		case !a.up:
			a.restart()
		}
		a.heal()
	}
	for _, k := range w.master.agents {
		k.other = app.Resources{}
	}
	w.master.allocate(time.Millisecond)
	for _, l := range w.leaders {
		l.resume()
	}
	if w.skew < 0 {
		w.skew = 0 // the clock is set right
		w.lastJump = w.now
	}
	w.users.repair()
	w.quietSince = w.now
	if w.cfg.Seed%5 == 0 {
		w.after(w.between(0, time.Minute), w.drain)
	}
}

// settle moves the calm world on to its end.
func (w *world) settle() {
	l := w.leading
	if l == nil || l.dead {
		if w.leaderless++; w.leaderless > 30 {
			w.fail("there is a leader again", "none for five minutes")
		}
		return
	}
	w.leaderless = 0
	if l.drained {
		w.check.nothingLeft("drained (rule O4)")
		w.count(Drained)
		l.drained = false
		l.die("was drained")
		return
	}
	if w.check.crons() {
		w.users.stop()
	}
	w.forgetGhosts(l)
	open := w.check.open()
	if open == "" && w.check.left() == "" {
		w.ended = true
		return
	}
	if limit := 2 * time.Hour; w.now-max(w.quietSince, w.check.lastEnd) > limit {
		w.fail("nothing is lost: all that can run ends", "%s after the faults stopped or the last end: %s %s", limit, open, w.check.left())
	}
}

// drain asks for the end of everything (rule O4).
func (w *world) drain() {
	if l := w.leading; l != nil && !l.dead {
		l.put(scheduler.Drain{})
	}
}

// forgetGhosts is an operator who knows which machines are gone, and what runs where nobody can
// tell any more.
func (w *world) forgetGhosts(l *leader) {
	for _, g := range sorted(w.check.ghosts) {
		agentID := w.check.ghosts[g]
		a, by := w.agent(agentID), w.check.removedBy[g]
		nobodyKnows := by != "" && by != w.master.id
		if a == nil || a.lost || nobodyKnows && (a.tasks[g] == nil || !a.tasks[g].running()) {
			w.count(Forgotten)
			l.put(scheduler.ForgetAsked{TaskID: g})
		}
	}
}

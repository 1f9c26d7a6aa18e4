package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// quiesce stops the faults: from then on everything that can run must end.
func (w *world) quiesce() {
	w.calm = true
	w.refusesUntil, w.awayUntil, w.mailAwayUntil, w.history.downUntil = 0, 0, 0, 0
	w.trace.add("the faults stop")
	for _, a := range slices.Clone(w.agents) {
		a.unavailable = time.Time{}
		switch {
		case a.lost:
			if w.api != nil {
				w.api.deleteNode(a.id)
			}
			w.replace(a, "")
		case !a.up:
			a.restart()
		}
		a.repair()
	}
	w.platform().endOthers()
	w.platform().allocate(time.Millisecond)
	for _, l := range w.leaders {
		l.resume()
	}
	w.resetClock()
	w.uncordonAll()
	if w.skew < 0 {
		w.skew = 0 // the clock is set right
		w.lastJump = w.now
	}
	w.users.repair()
	w.quietSince = w.now
	if w.cfg.Seed%5 == 0 && !w.isCrowded() { // a leader that drains launches nothing, for as long as a task is lost
		w.after(w.between(0, time.Minute), w.drain)
	}
}

// settle advances the calm world to its end.
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
		w.check.checkNothingLeft("drained (rule O4)")
		w.count(Drained)
		l.drained = false
		l.stop("it was drained")
		return
	}
	// This is checked before the last actions of users, which would make the leader read the document again.
	if edit := w.check.unknownEdit(); edit != "" && w.check.hasCrons() {
		if w.now-w.quietSince > 5*time.Minute {
			w.fail("D15 every edit is read", "%s after the faults stopped: %s", w.now-w.quietSince, edit)
		}
		return
	}
	if w.check.hasCrons() {
		if w.isCrowded() {
			w.check.checkStarvation()
			return
		}
		w.users.stop()
	}
	w.forgetOrphans(l)
	if w.keptDaemon != "" && w.check.job(w.keptDaemon).daemon() {
		if why := w.check.daemonDown(w.keptDaemon); why == "" {
			w.count(DaemonUp)
			w.users.change("deregister "+w.keptDaemon, config.DeregisterJob{Name: w.keptDaemon})
		} else if since := w.now - max(w.quietSince,
			w.check.lastEnd); since > time.Hour && since < time.Hour+time.Minute {
			// Larger shards may not fit beside the ones with the former settings. Disabling the job places all again.
			w.users.disableJob(w.keptDaemon, true)
		} else if limit := 2 * time.Hour; w.now-max(w.quietSince, w.check.lastEnd) > limit {
			w.fail("X8 a daemon's shards come up, with the settings of now",
				"%s after the faults stopped or the last end: %s", limit, why)
		}
		return
	}
	open := w.check.openExecution()
	lacks := cmp.Or(w.history.missing(), w.audits.missing())
	if open == "" && w.check.leftover() == "" && lacks == "" {
		w.ended = true
		return
	}
	if lacks != w.history.lacked { // new rows are recorded each minute, so another row may be missing each time
		w.history.lacked, w.history.lackedSince = lacks, w.now
	}
	if since := w.now - w.history.lackedSince; lacks != "" && since > 10*time.Minute {
		w.fail("H1 the history has all that happened", "for %s it has lacked %s", since, lacks)
	}
	if limit := 2 * time.Hour; w.now-max(w.quietSince, w.check.lastEnd) > limit {
		w.fail("nothing is lost: all that can run ends", "%s after the faults stopped or the last end: %s %s", limit,
			open, w.check.leftover())
	}
}

// isCrowded reports whether crons still fire in the calm world. In a few of the worlds with short processes they fire
// for long enough to show whether any execution waits longer than rule L2 allows.
func (w *world) isCrowded() bool {
	return w.cfg.Seed%32 == 3 && w.users.longest <= time.Minute && w.now-w.quietSince < w.longestWait()+10*time.Minute
}

// longestWait returns a time that is longer than any execution that fits may wait by rule L2: for each older execution,
// of which each job has one, the duration of the longest run and opt.ReserveBeyond; and ten minutes for agents that are
// avoided (rule L6).
func (w *world) longestWait() time.Duration {
	return time.Duration(len(w.check.jobs)+1)*(w.users.longest+w.opt.ReserveBeyond) + 10*time.Minute
}

// drain makes the leader end all tasks and executors (rule O4).
func (w *world) drain() {
	if l := w.leading; l != nil && !l.dead {
		l.input((*term.Machine).Drain)
	}
}

// forgetOrphans acts as an operator who knows which machines are gone, and which tasks run unseen.
func (w *world) forgetOrphans(l *leader) {
	for _, task := range sorted(w.check.orphans) {
		agentID := w.check.orphans[task]
		a, by := w.agent(agentID), w.check.removedBy[task]
		nobodyKnows := by != "" && w.master != nil && by != w.master.id
		if a == nil || a.lost || nobodyKnows && (a.tasks[task] == nil || a.tasks[task].process == nil) {
			w.count(Forgotten)
			l.request(operator.ForgetRequested{TaskID: task, Actor: byUser}, nil)
		}
	}
}

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
	w.clockBack()
	w.uncordonAll()
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
	// The last actions of users would make the leader read it again.
	if edit := w.check.unknownEdit(); edit != "" && w.check.crons() {
		if w.now-w.quietSince > 5*time.Minute {
			w.fail("D15 every edit is read", "%s after the faults stopped: %s", w.now-w.quietSince, edit)
		}
		return
	}
	if w.check.crons() {
		if w.isCrowded() {
			w.check.checkStarvation()
			return
		}
		w.users.stop()
	}
	w.forgetOrphans(l)
	if w.kept != "" && w.check.job(w.kept).daemon() {
		if why := w.check.daemonDown(w.kept); why == "" {
			w.count(DaemonUp)
			w.users.change("deregister "+w.kept, config.DeregisterJob{Name: w.kept})
		} else if since := w.now - max(w.quietSince,
			w.check.lastEnd); since > time.Hour && since < time.Hour+time.Minute {
			// Larger shards may not fit beside the former ones: then all must be placed again.
			w.users.disableJob(w.kept, true)
		} else if limit := 2 * time.Hour; w.now-max(w.quietSince, w.check.lastEnd) > limit {
			w.fail("X8 a daemon's shards come up, with the settings of now",
				"%s after the faults stopped or the last end: %s", limit, why)
		}
		return
	}
	open := w.check.open()
	lacks := cmp.Or(w.history.complete(), w.audits.complete())
	if open == "" && w.check.left() == "" && lacks == "" {
		w.ended = true
		return
	}
	if lacks != w.history.lacked { // rows are recorded each minute
		w.history.lacked, w.history.lackedSince = lacks, w.now
	}
	if since := w.now - w.history.lackedSince; lacks != "" && since > 10*time.Minute {
		w.fail("H1 the history has all that happened", "for %s it has lacked %s", since, lacks)
	}
	if limit := 2 * time.Hour; w.now-max(w.quietSince, w.check.lastEnd) > limit {
		w.fail("nothing is lost: all that can run ends", "%s after the faults stopped or the last end: %s %s", limit,
			open, w.check.left())
	}
}

// isCrowded reports whether the calm world's crons go on for a while, long enough to see whether any execution waits
// longer than rule L2 allows. A few of the worlds with short processes do that.
func (w *world) isCrowded() bool {
	return w.cfg.Seed%32 == 3 && w.users.longest <= time.Minute && w.now-w.quietSince < w.longestWait()+10*time.Minute
}

// longestWait is more than rule L2 lets an execution wait that can be placed. It is the duration of the longest run
// and a minute, for each execution that may be older (each job has one), and a while for agents that are avoided (rule
// L6).
func (w *world) longestWait() time.Duration {
	return time.Duration(len(w.check.jobs)+1)*(w.users.longest+w.opt.ReserveBeyond) + 10*time.Minute
}

// drain requests the end of everything (rule O4).
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

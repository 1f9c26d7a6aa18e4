package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// stop ends the agent's process. Its executors keep running.
func (a *agent) stop() {
	a.up = false
	a.downSince = a.w.now
	a.disconnect()
	since := a.downSince
	a.w.after(15*time.Minute, func() {
		if a.up || a.downSince != since || a.w.api != nil {
			return
		}
		// Without an agent for so long, executors stop their tasks and end (rule X6).
		for _, id := range sorted(a.tasks) {
			a.processEnds(a.tasks[id])
		}
	})
}

// restart starts the agent's process again. Executors find it, or are killed if they are late (rule X5).
func (a *agent) restart() {
	w := a.w
	if a.up || a.lost {
		return
	}
	a.up = true
	w.trace.add("agent %s is up again", a.id)
	for _, id := range sorted(a.executors) {
		x := a.executors[id]
		if w.api != nil {
			break // containers need no kubelet
		}
		if w.now-a.downSince > 15*time.Minute || w.roll(ExecutorNotBack) {
			a.end(x, cluster.ReasonExecutorTerminated, "the executor did not come back", 9)
		}
		x.missed, x.queued = append(x.missed, x.queued...), nil
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		pending := t.pending
		t.pending = nil
		for _, u := range pending {
			a.acceptUpdate(t, u)
		}
	}
	a.connect(w.between(100*time.Millisecond, 3*time.Second))
}

// reboot ends all processes of the machine; the agent comes back under its id.
func (a *agent) reboot() {
	w := a.w
	knows := w.rng.IntN(2) == 0 || w.api != nil
	a.endAll(knows)
	a.stop()
	if !knows {
		for _, id := range sorted(a.tasks) {
			a.forget(id)
		}
	}
	w.after(w.between(5*time.Second, 200*time.Second), a.restart)
}

// endAll ends everything on the machine at once.
func (a *agent) endAll(report bool) {
	lost := a.lost
	a.lost = true // no process survives the end of a machine
	for _, id := range sorted(a.executors) {
		x := a.executors[id]
		if report {
			a.end(x, cluster.ReasonExecutorTerminated, "Executor terminated", -1)
			continue
		}
		x.dead = true
		for _, tid := range sorted(a.tasks) {
			if t := a.tasks[tid]; t.executor == id {
				a.processEnds(t)
			}
		}
		delete(a.executors, id)
	}
	a.lost = lost
	a.executorLost = a.w.now
}

// endRemoved ends the executors of removed frameworks within their grace period. No update reports these ends.
func (a *agent) endRemoved() {
	w := a.w
	for _, id := range sorted(a.executors) {
		x := a.executors[id]
		if by := w.removed[x.info.Framework]; by == nil || platform(by) != a.with || x.ending {
			continue
		}
		x.ending = true
		w.after(w.between(time.Millisecond, w.opt.KillGrace), func() {
			a.end(x, cluster.ReasonExecutorTerminated, "Framework removed", 0)
			a.forgetRemoved()
		})
	}
	a.forgetRemoved()
}

// forgetRemoved drops the tasks of removed frameworks whose executors have ended.
func (a *agent) forgetRemoved() {
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		if a.w.removed[t.launch.Executor.Framework] == nil {
			continue
		}
		t.updates, t.forgotten = nil, true
		if a.executors[t.executor] == nil {
			delete(a.tasks, id)
		} else if t.process != nil {
			a.w.count(TaskOutlivesFramework)
		}
	}
}

// forget drops a task with its updates, none of which is sent again.
func (a *agent) forget(id string) {
	a.tasks[id].updates, a.tasks[id].forgotten = nil, true
	if p := a.tasks[id].last; p != nil {
		p.forgotten = true
	}
	delete(a.tasks, id)
}

func (a *agent) repair() {
	if !a.cut {
		return
	}
	a.cut = false
	if a.online() {
		a.connect(a.w.between(100*time.Millisecond, 3*time.Second))
	}
}

// die ends a machine permanently.
func (a *agent) die() {
	if a.lost {
		return
	}
	a.endAll(false)
	a.disconnect()
	a.lost, a.up = true, false
}

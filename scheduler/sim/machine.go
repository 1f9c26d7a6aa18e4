package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// stop is the end of the agent's process; its executors go on.
func (a *agent) stop() {
	a.up = false
	a.downSince = a.w.now
	a.disconnect()
	since := a.downSince
	a.w.after(15*time.Minute, func() {
		if a.up || a.downSince != since {
			return
		}
		// No agent for so long: executors stop their tasks and end (rule X6).
		for _, id := range sorted(a.tasks) {
			a.processEnds(a.tasks[id])
		}
	})
}

// restart begins its process again. Executors find it, or are killed when they
// are late (rule X5).
func (a *agent) restart() {
	w := a.w
	if a.up || a.lost {
		return
	}
	a.up = true
	if w.trace.on() {
		w.trace.add("agent %s is up again", a.id)
	}
	for _, id := range sorted(a.executors) {
		x := a.executors[id]
		if w.now-a.downSince > 15*time.Minute || w.dice(ExecutorNotBack) {
			a.end(x, cluster.ReasonExecutorTerminated, "the executor did not come back", 9)
		}
		x.missed, x.queued = append(x.missed, x.queued...), nil
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		pending := t.pending
		t.pending = nil
		for _, u := range pending {
			a.takes(t, u)
		}
	}
	a.connect(w.between(100*time.Millisecond, 3*time.Second))
}

// reboot ends all processes of the machine; the agent comes back under its id.
func (a *agent) reboot() {
	w := a.w
	knows := w.rng.IntN(2) == 0
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
func (a *agent) endAll(tell bool) {
	lost := a.lost
	a.lost = true // nothing outlives a machine
	for _, id := range sorted(a.executors) {
		x := a.executors[id]
		if tell {
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

// endRemoved ends what belongs to frameworks that were torn down.
func (a *agent) endRemoved() {
	for _, id := range sorted(a.executors) {
		if x := a.executors[id]; a.w.removed[x.info.Framework] {
			a.end(x, cluster.ReasonExecutorTerminated, "Framework removed", 0)
		}
	}
	for _, id := range sorted(a.tasks) {
		if a.w.removed[a.tasks[id].launch.Executor.Framework] {
			a.forget(id)
		}
	}
}

// forget drops a task with its updates: none is sent again.
func (a *agent) forget(id string) {
	a.tasks[id].updates, a.tasks[id].forgotten = nil, true
	delete(a.tasks, id)
}

func (a *agent) heal() {
	if !a.cut {
		return
	}
	a.cut = false
	if a.online() {
		a.connect(a.w.between(100*time.Millisecond, 3*time.Second))
	}
}

// die is the end of a machine.
func (a *agent) die() {
	if a.lost {
		return
	}
	a.endAll(false)
	a.disconnect()
	a.lost, a.up = true, false
}

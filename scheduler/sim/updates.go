package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// reportFromExecutor makes the executor report a task's state.
func (a *agent) reportFromExecutor(t *task, state cluster.State, message string) {
	a.executorReports(t, state, message, "")
}

// executorReports is reportFromExecutor with a phase. A stopped executor reports when it continues.
func (a *agent) executorReports(t *task, state cluster.State, message, phase string) {
	if x := a.executors[t.executor]; x != nil && x.stopped {
		x.deferred = append(x.deferred, func() { a.executorReports(t, state, message, phase) })
		return
	}
	s := wire.Status{Run: t.cutRun(state), Totals: t.counts(), Dir: "tasks/1", Cause: message, Phase: phase,
		StartTime: t.start, ExitStatus: t.exit, Sandbox: "/work/slaves/" + a.id + "/frameworks/" +
			t.launch.Executor.Framework +
			"/executors/" + t.executor + "/runs/c-" + t.executor}
	a.executorSends(t, cluster.Update{State: state, Source: cluster.FromExecutor, Message: message}, s)
}

// executorSends passes an update to the agent, or keeps it while the agent is down.
func (a *agent) executorSends(t *task, u cluster.Update, s wire.Status) {
	u.Status = &s
	if !a.up {
		t.pending = append(t.pending, u)
		return
	}
	a.acceptUpdate(t, u)
}

// acceptUpdate adds an update to the task's stream.
func (a *agent) acceptUpdate(t *task, u cluster.Update) {
	if t.state.Terminal() {
		return
	}
	t.state = u.State
	// In a Kubernetes world, the executor ends with its only task.
	if x := a.executors[t.executor]; a.w.api != nil && u.State.Terminal() && x != nil {
		x.dead = true
		delete(a.executors, t.executor)
	}
	u.TaskID, u.AgentID, u.ExecutorID = t.launch.TaskID, a.id, t.executor
	u.UUID, u.Timestamp = a.w.uuid(), a.w.wall()
	t.updates = append(t.updates, u)
	if len(t.updates) == 1 {
		t.retries = 0
		a.forward(t)
	}
}

// forward sends the first unacknowledged update, repeatedly.
func (a *agent) forward(t *task) {
	if len(t.updates) == 0 {
		return
	}
	w := a.w
	u, framework, latest := t.updates[0], t.launch.Executor.Framework, t.state
	if a.online() && a.with == w.platform() {
		t.reported = u.State
		send := func() {
			if !t.forgotten {
				a.toMaster(UpdateLost, func(m platform) { m.update(a, u, framework, latest) })
			}
		}
		send()
		if w.roll(UpdateDoubled) {
			send()
		}
		if w.roll(UpdateLate) {
			w.after(w.between(time.Second, 20*time.Second), send)
		}
	}
	t.retries++
	no, wait := t.retries, min(10*time.Second<<min(t.retries, 6), 10*time.Minute)
	w.after(wait, func() {
		if len(t.updates) > 0 && t.retries == no && string(t.updates[0].UUID) == string(u.UUID) {
			if a.online() {
				w.count(UpdateRetried)
			}
			a.forward(t)
		}
	})
}

func (a *agent) acknowledge(taskID string, uuid []byte) {
	t := a.tasks[taskID]
	if t == nil || len(t.updates) == 0 || string(t.updates[0].UUID) != string(uuid) {
		return
	}
	state := t.updates[0].State
	if x := a.executors[t.executor]; x != nil && !x.dead && t.updates[0].Source == cluster.FromExecutor {
		x.acknowledged = true
	}
	t.updates = t.updates[1:]
	t.retries = 0
	if state.Terminal() {
		delete(a.tasks, taskID)
		return
	}
	a.forward(t)
}

// drop reports a task that the agent does not have.
func (a *agent) drop(id string, reason cluster.Reason, message string) {
	t := &task{a: a, launch: cluster.TaskLaunch{TaskID: id}, state: cluster.Staging, reported: cluster.Staging}
	a.tasks[id] = t
	a.acceptUpdate(t, cluster.Update{State: cluster.Dropped, Source: cluster.FromAgent, Reason: reason,
		Message: message})
}

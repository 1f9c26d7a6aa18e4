package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// executor is one container with an executor.
type executor struct {
	info   cluster.Executor
	ready  bool
	ending bool // its framework was removed
	dead   bool
	// acknowledged is set once the executor has received an acknowledgement. Before that, a process begins only when
	// the agent has an update of its task (rule E1).
	acknowledged bool
	// stopped is set while the executor's process is stopped (SIGSTOP). Its actions wait in deferred.
	stopped  bool
	deferred []func()
	holders  map[string]*holder // those that ask for leases of its tasks
	hung     bool               // stopped for so long that the scheduler abandons tasks in state STAGING
	queued   []string           // tasks to be passed to the executor once it is ready
	missed   []string           // tasks that the agent had not passed to the executor before the agent's restart
}

func (a *agent) executorReady(x *executor) {
	w := a.w
	if x.dead || a.lost {
		return
	}
	if !a.up {
		w.after(time.Second, func() { a.executorReady(x) })
		return
	}
	if w.roll(StartFails) {
		a.end(x, cluster.ReasonContainerLaunchFailed, "Failed to launch container: Failed to fetch", 256)
		return
	}
	x.ready = true
	if w.beats() {
		a.beat(x)
	}
	for _, id := range x.missed {
		if t := a.tasks[id]; t != nil {
			a.acceptUpdate(t, cluster.Update{State: cluster.Dropped, Source: cluster.FromAgent,
				Reason:  "AGENT_RESTARTED",
				Message: "Task launched during agent restart"})
		}
	}
	queued := x.queued
	x.queued = nil
	for _, id := range queued {
		if t := a.tasks[id]; t != nil && !t.state.Terminal() {
			a.start(x, t)
		}
	}
}

// runningDelay is how long a process runs before its executor reports RUNNING.
const runningDelay = 25 * time.Millisecond

// start makes the executor begin a task as rule E1 requires: a process begins only after an update of its task has
// reached the agent, unless the executor has been acknowledged.
func (a *agent) start(x *executor, t *task) {
	w := a.w
	if !x.stopped && !x.dead && w.roll(ExecutorHangs) {
		x.hung = true
		a.pauseExecutor(x, w.between(15*time.Minute, 100*time.Minute))
		for _, begun := range a.tasks {
			if begun.executor == t.executor && begun.state == cluster.Staging {
				// Its process has just begun, and no update will report it: the master still has it as STAGING.
				begun.loseAgent()
			}
		}
	}
	if x.stopped {
		if x.hung {
			t.loseAgent() // the scheduler abandons a task that is STAGING for too long, like one of a lost agent
		}
		x.deferred = append(x.deferred, func() { a.start(x, t) })
		return
	}
	if !a.mayStart(x, t) {
		return
	}
	switch {
	case w.rng.IntN(4) == 0:
		a.fetch(x, t)
	case x.acknowledged:
		a.begin(x, t)
	default:
		a.announce(x, t)
	}
}

func (a *agent) mayStart(x *executor, t *task) bool {
	return !x.dead && !a.lost && !t.state.Terminal() && t.process == nil && !t.killing
}

func (a *agent) fetch(x *executor, t *task) {
	w := a.w
	a.executorReports(t, cluster.Starting, "", wire.PhaseFetch)
	t.fetching = true
	duration := w.between(time.Millisecond, 300*time.Millisecond)
	if w.rng.IntN(4) == 0 {
		duration = w.between(time.Second, 10*time.Second)
	}
	var fetched func()
	fetched = func() {
		if !a.mayStart(x, t) {
			return
		}
		if x.stopped {
			x.deferred = append(x.deferred, fetched)
			return
		}
		t.fetching = false
		if w.roll(PackageFails) {
			a.reportFromExecutor(t, cluster.Failed, "the package cannot be fetched")
			return
		}
		a.announce(x, t)
	}
	w.after(duration, fetched)
}

// announce reports that the process is about to begin, and begins it once the agent has that report.
func (a *agent) announce(x *executor, t *task) {
	a.reportFromExecutor(t, cluster.Starting, "")
	a.w.after(a.w.latency(), func() { a.beginWhenAccepted(x, t) })
}

func (a *agent) beginWhenAccepted(x *executor, t *task) {
	if len(t.pending) > 0 && a.mayStart(x, t) {
		a.w.after(100*time.Millisecond, func() { a.beginWhenAccepted(x, t) })
		return
	}
	a.begin(x, t)
}

// begin begins the process.
func (a *agent) begin(x *executor, t *task) {
	w := a.w
	if !a.mayStart(x, t) {
		return
	}
	if x.stopped {
		x.deferred = append(x.deferred, func() { a.begin(x, t) })
		return
	}
	if a.beginWithLease(x, t) {
		return
	}
	p := &process{task: t.launch.TaskID, job: t.wire.JobName, exec: t.wire.ExecutionID, item: t.wire.Item, agent: a.id,
		exclusive: t.wire.Lease != nil || w.exclusive() && w.unleased()}
	p.wasAway = t.wasAway || a.with == nil || a.with != w.platform()
	p.removed = w.removed[t.launch.Executor.Framework] != nil
	t.process, t.start, t.last = p, w.wall(), p
	w.check.beginProcess(p)
	if w.roll(ExecutorCrashAtBegin) {
		w.after(w.between(time.Millisecond, 2*runningDelay),
			func() { a.end(x, cluster.ReasonExecutorTerminated, "Executor terminated", 9) })
	}
	w.after(runningDelay, func() {
		if t.process == p && !p.lingers {
			a.reportFromExecutor(t, cluster.Running, "")
		}
	})
	if t.wire.Daemon != nil {
		a.fireDaemon(x, t, p)
		return
	}
	duration := w.between(time.Millisecond, 3*time.Second)
	switch w.rng.IntN(8) {
	case 7:
		if p.exclusive && !w.calm { // it may run for longer than its lease
			duration = w.between(time.Second, 5*time.Minute)
		}
	case 0, 1:
		if !w.calm {
			duration = w.between(time.Second, w.users.longest)
		}
	case 2:
		duration = w.between(time.Millisecond, runningDelay)
	}
	a.reportProgress(x, p, t, duration)
	w.after(duration, func() {
		if t.process != p || p.lingers {
			return
		}
		ok := !w.chance(w.users.failing)
		a.processEnds(t)
		switch {
		case w.roll(TaskProcessKilled):
			a.reportFromExecutor(t, cluster.Failed, "killed by signal 9")
		case w.roll(SandboxFull):
			a.reportFromExecutor(t, cluster.Failed, "its output could not be written: no space left on device")
		case ok:
			a.reportFromExecutor(t, cluster.Finished, "")
		default:
			a.reportFromExecutor(t, cluster.Failed, "exit status 1")
		}
	})
}

// stopExecutor stops an executor's process for some time. The processes of its tasks keep running.
func (a *agent) stopExecutor(x *executor) {
	pause := a.w.between(time.Second, 5*time.Second) // its supervisor sends SIGCONT
	if a.w.rng.IntN(2) == 0 {
		pause = a.w.between(5*time.Second, 5*time.Minute) // the supervisor was stopped, too
	}
	a.pauseExecutor(x, pause)
}

// pauseExecutor stops an executor's process for the given time and defers its actions.
func (a *agent) pauseExecutor(x *executor, pause time.Duration) {
	x.stopped = true
	a.w.after(pause, func() {
		x.stopped, x.hung = false, false
		do := x.deferred
		x.deferred = nil
		for _, f := range do {
			if !x.dead && !a.lost {
				f()
			}
		}
	})
}

func (a *agent) processEnds(t *task) {
	if t.process != nil {
		a.w.check.endProcess(t.process)
		t.process = nil
	}
}

// end ends an executor and its tasks.
func (a *agent) end(x *executor, reason cluster.Reason, message string, status int) {
	w := a.w
	if x.dead {
		return
	}
	w.trace.add("executor %s ends: %s", x.info.ID, message)
	x.dead = true
	a.executorLost = w.now
	if a.executors[x.info.ID] == x {
		delete(a.executors, x.info.ID)
	}
	for _, id := range sorted(a.tasks) {
		t := a.tasks[id]
		if t.executor != x.info.ID || t.launch.Executor.ID == "" {
			continue
		}
		t.pending = nil
		switch {
		case t.state.Terminal():
		case t.fetching:
			w.count(EndedWhileFetching)
		case t.process != nil && t.state == cluster.Staging:
			w.count(EndedBeforeReport)
		}
		if p := t.process; p != nil {
			t.process = nil
			if a.lost || w.api != nil {
				w.check.endProcess(p)
			} else {
				// The supervisor kills it in a moment (rule X7).
				p.lingers = true
				w.count(TaskOutlivesExecutor)
				w.after(w.between(time.Millisecond, 150*time.Millisecond), func() { w.check.endProcess(p) })
			}
		}
		if !t.state.Terminal() {
			a.acceptUpdate(t, cluster.Update{State: cluster.Failed, Source: cluster.FromAgent, Reason: reason,
				Message: message})
		}
	}
	id := x.info.ID
	if a.online() && w.roll(ExitLost) {
		// The connection has just broken; the master learns of the end when the agent registers again.
		a.disconnect()
		a.connect(w.between(time.Second, 30*time.Second))
		return
	}
	a.toMaster(NumFaults, func(m platform) { m.executorEnded(a, id, status) })
}

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// agent is a Mesos agent and the machine that it is on.
type agent struct {
	w     *world
	id    string
	host  string
	total resources.Amount
	// reserved is what of total is reserved for our role.
	reserved []cluster.Reserved

	up     bool // its process
	lost   bool // the machine is gone for ever
	cut    bool // from the master
	epoch  int  // of its connection to a master
	with   platform
	inLast time.Duration // order of messages to it
	out    time.Duration // and from it

	executors    map[string]*executor
	tasks        map[string]*task
	executorLost time.Duration // when one last ended
	downSince    time.Duration
	unavailable  time.Time     // when its maintenance begins, if some is planned
	clockOff     time.Duration // of its clock, from the leaders'
}

// task is one attempt, with its stream of updates.
type task struct {
	a         *agent
	launch    cluster.TaskLaunch
	wire      wire.Task
	executor  string
	state     cluster.State // the newest that the agent knows
	reported  cluster.State // of the last update passed on
	updates   []cluster.Update
	forgotten bool // the machine rebooted, or its framework is gone
	retries   int  // of the head; also distinguishes old timers from new ones
	process   *process
	killing   bool
	fetching  bool
	start     time.Time        // of its process
	exit      *int             // status, if it is reported
	last      *process         // the newest that it had
	wasAway   bool             // its agent was unreachable, or partitioned, while it was there
	pending   []cluster.Update // from the executor, while the agent is down
	run       *wire.Run        // the run under way of a daemon's shard
	totals    wire.Totals      // of a daemon's shard
	runs      int64            // of a daemon's shard that were begun
	drained   func()           // is to be done when the run under way has ended, nil while its shard goes on
}

// process is what a task runs; the ledger of these decides promise 2.
type process struct {
	task       string
	job, exec  string
	item       int
	agent      string
	failover   bool // what its job asked for when it was launched
	wasAway    bool // its agent was unreachable, or partitioned, while it ran
	lingers    bool // its executor is dead, the guard is at it
	ofOriginal bool // of the original
	removed    bool // its framework was torn down; the agent may not know yet
	forgotten  bool // its machine was started again, which lost what its agent knew of it
}

// machines are the kinds of machines that agents are on.
var machines = []resources.Amount{resources.New(2, 2048), resources.New(4, 8192), resources.New(16, 16384)}

func (w *world) addAgent(host string, total resources.Amount) {
	w.agentNo++
	if host == "" {
		host = fmt.Sprintf("host%d", w.agentNo)
	}
	a := &agent{w: w, id: fmt.Sprintf("S%d", w.agentNo), host: host, total: total, up: true,
		executors: map[string]*executor{}, tasks: map[string]*task{}, executorLost: -time.Hour}
	a.reserved = reservedOf(a)
	if w.rng.IntN(3) == 0 {
		a.clockOff = w.between(-time.Minute, time.Minute)
	}
	w.agents = append(w.agents, a)
	a.connect(w.between(time.Millisecond, 2*time.Second))
}

func (w *world) agent(id string) *agent {
	for _, a := range w.agents {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (a *agent) online() bool { return a.up && !a.cut && !a.lost }

// connect registers with the master after a while.
func (a *agent) connect(d time.Duration) {
	a.epoch++
	epoch := a.epoch
	a.w.after(d, func() {
		if a.epoch != epoch || !a.online() {
			return
		}
		a.inLast, a.out = 0, 0
		a.w.platform().register(a)
		for _, id := range sorted(a.tasks) {
			a.forward(a.tasks[id])
		}
	})
}

// disconnect breaks the connection to the master.
func (a *agent) disconnect() {
	was := a.epoch
	a.epoch++
	if m := a.with; m != nil && m == a.w.platform() {
		a.w.after(a.w.latency(), func() { m.disconnected(a, was) })
	}
	a.with = nil
}

// wasAway marks what runs: the master has reported that nobody knows of it.
func (a *agent) wasAway() {
	for _, t := range a.tasks {
		t.goesAway()
	}
}

func (t *task) goesAway() {
	t.wasAway = true
	if t.process != nil {
		t.process.wasAway = true
	}
}

// toMaster sends a message in order; it is lost when the connection breaks.
func (a *agent) toMaster(lost Fault, do func(platform)) {
	if a.with == nil || a.with != a.w.platform() || !a.online() || a.w.dice(lost) {
		return
	}
	m, epoch := a.with, a.epoch
	at := max(a.out, a.w.now+a.w.latency())
	a.out = at
	a.w.after(at-a.w.now, func() {
		if a.w.platform() == m && a.epoch == epoch {
			do(m)
		}
	})
}

// run starts a task, and its executor if the master says that there is none: one
// that ended just before is not started again (launch_executor of Mesos 1.5 on).
func (a *agent) run(l cluster.TaskLaunch, startExecutor bool) {
	w := a.w
	w.trace.add("agent %s gets %s on %s", a.id, l.TaskID, l.Executor.ID)
	if a.tasks[l.TaskID] != nil {
		w.fail("L5 a repeated launch has a new task id", "agent %s gets task %s twice", a.id, l.TaskID)
		return
	}
	described, err := l.Description()
	if err != nil {
		w.fail("tasks are described so that an executor can read it", "%s: %v", l.TaskID, err)
		return
	}
	d, err := wire.DecodeTask(described)
	if err != nil {
		w.fail("tasks are described so that an executor can read it", "%s: %v", l.TaskID, err)
		return
	}
	w.report.Launched++
	w.check.daemonLaunched(d)
	x := a.executors[l.Executor.ID]
	if (x == nil || x.dead) && !startExecutor {
		w.count(ExecutorGoneAtLaunch)
		a.drop(l.TaskID, cluster.ReasonExecutorTerminated, "Executor terminated")
		return
	}
	t := &task{a: a, launch: l, wire: d, executor: l.Executor.ID, state: cluster.Staging, reported: cluster.Staging}
	a.tasks[l.TaskID] = t
	if x == nil || x.dead {
		x = &executor{info: l.Executor}
		a.executors[l.Executor.ID] = x
		w.after(w.between(5*time.Millisecond, 2*time.Second), func() { a.executorReady(x) })
	}
	if !x.ready {
		x.queued = append(x.queued, l.TaskID)
		return
	}
	w.after(w.latency(), func() { a.start(x, t) })
}

func (a *agent) kill(id string, grace time.Duration) {
	w := a.w
	t := a.tasks[id]
	if t == nil {
		a.drop(id, cluster.ReasonExecutorTerminated, "Cannot find executor")
		return
	}
	if t.state.Terminal() || t.killing {
		return
	}
	x := a.executors[t.executor]
	if x == nil || x.dead {
		return
	}
	if !x.ready {
		x.queued = slices.DeleteFunc(x.queued, func(queued string) bool { return queued == id })
		a.takes(t, cluster.Update{State: cluster.Killed, Source: cluster.FromAgent,
			Reason: cluster.ReasonKilledDuringLaunch, Message: "Killed before delivery to the executor"})
		if len(x.queued) == 0 {
			a.end(x, cluster.ReasonExecutorTerminated, "nothing to run", 0)
		}
		return
	}
	if x.stopped {
		x.onceOn = append(x.onceOn, func() { a.kill(id, grace) })
		return
	}
	if t.wire.Daemon != nil && grace > time.Hour { // its run is to come to its end first
		grace = w.opt.KillGrace
		if t.run != nil {
			t.drained = func() { a.kill(id, grace) }
			return
		}
	}
	t.killing = true
	wait := w.between(time.Millisecond, grace)
	switch {
	case t.process == nil:
		wait = w.latency()
	case w.dice(TermIgnored):
		wait = grace
	}
	w.after(wait, func() {
		if t.state.Terminal() || x.dead || a.lost {
			return
		}
		t.killing = false
		state, message := cluster.Killed, "killed"
		switch {
		case t.process == nil:
		case w.rng.IntN(10) == 0:
			state, message = cluster.Finished, ""
		case w.rng.IntN(10) == 0:
			w.count(EndsWellInGrace)
			t.exit = new(int)
		}
		a.processEnds(t)
		a.executorSays(t, state, message)
	})
}

// shutdown is the framework's wish that an executor ends.
func (a *agent) shutdown(id string) {
	x := a.executors[id]
	if x == nil || x.dead {
		return
	}
	wait := a.w.latency()
	if x.stopped {
		wait = a.w.opt.KillGrace // then its agent ends it
		a.w.count(SilentExecutorEnded)
	} else {
		a.w.check.shutdownArrives(a, x)
	}
	a.w.after(wait, func() { a.end(x, cluster.ReasonExecutorTerminated, "Executor terminated", 0) })
}

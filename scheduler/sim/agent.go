package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// agent is a Mesos agent and its machine.
type agent struct {
	w     *world
	id    string
	host  string
	total resources.Amount
	// reserved is the part of total that is reserved for the framework's role.
	reserved []cluster.Reserved

	up     bool // its process
	lost   bool // the machine is permanently gone
	cut    bool // disconnected from the master
	epoch  int  // number of its connections to a master so far
	with   platform
	inLast time.Duration // when the last message to it arrives: later messages must not overtake it
	out    time.Duration // when the last message from it arrives

	executors    map[string]*executor
	tasks        map[string]*task
	executorLost time.Duration // when one of its executors last ended
	downSince    time.Duration
	unavailable  time.Time     // when its planned maintenance begins
	clockOff     time.Duration // the difference of its clock from the leaders'
}

// task is one attempt, with its stream of updates.
type task struct {
	a         *agent
	launch    cluster.TaskLaunch
	wire      wire.Task
	executor  string
	state     cluster.State // the newest state that the agent knows
	reported  cluster.State // state of the last update that was forwarded
	updates   []cluster.Update
	forgotten bool // the machine rebooted, or the framework was removed
	retries   int  // the number of tries of the first update, which also distinguishes old timers from new ones
	process   *process
	killing   bool
	fetching  bool
	start     time.Time        // of its process
	exit      *int             // exit status, if one is reported
	last      *process         // its newest process
	wasAway   bool             // its agent was unreachable, or partitioned, at some time
	pending   []cluster.Update // from the executor, while the agent is down
	run       *wire.Run        // the present run of a daemon's shard
	totals    wire.Totals      // of a daemon's shard
	runs      int64            // the number of begun runs of a daemon's shard
	drained   func()           // called when the present run has ended; nil unless the shard is to end with the run
}

// process is the process of a task, which the checks of promise 2 observe.
type process struct {
	task       string
	job, exec  string
	item       int
	agent      string
	failover   bool // its execution may have two attempts of a shard
	wasAway    bool // its agent was unreachable, or partitioned, while it ran
	lingers    bool // its executor is dead, and the supervisor is about to kill it
	ofOriginal bool // the original has started it
	removed    bool // its framework was removed; the agent may not know yet
	exclusive  bool // its job is exclusive
	forgotten  bool // its machine rebooted, so that the agent forgot it
}

// machines are the sizes of the agents' machines.
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
	w.cordons.hosts[a.id] = host
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

// connect registers with the master after a delay.
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

// markAway marks the running tasks and processes, because the master has reported that their state is unknown.
func (a *agent) markAway() {
	for _, t := range a.tasks {
		t.loseAgent()
	}
}

func (t *task) loseAgent() {
	t.wasAway = true
	if t.process != nil {
		t.process.wasAway = true
	}
}

// toMaster sends a message to the master, after earlier ones. It is lost if the connection breaks.
func (a *agent) toMaster(lost Fault, do func(platform)) {
	if a.with == nil || a.with != a.w.platform() || !a.online() || a.w.roll(lost) {
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

// run starts a task. It also starts the executor if the master says that there is none; an executor that has just
// ended is not started again (launch_executor of Mesos since 1.5).
func (a *agent) run(l cluster.TaskLaunch, startExecutor bool) {
	w := a.w
	w.trace.add("agent %s gets %s on %s", a.id, l.TaskID, l.Executor.ID)
	if a.tasks[l.TaskID] != nil {
		w.fail("L5 a repeated launch has a new task id", "agent %s gets task %s twice", a.id, l.TaskID)
		return
	}
	described, err := l.Description()
	if err != nil {
		w.fail("tasks are described so that an executor can read them", "%s: %v", l.TaskID, err)
		return
	}
	d, err := wire.DecodeTask(described)
	if err != nil {
		w.fail("tasks are described so that an executor can read them", "%s: %v", l.TaskID, err)
		return
	}
	w.report.Launched++
	w.check.checkDaemonLaunch(d)
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
		a.acceptUpdate(t, cluster.Update{State: cluster.Killed, Source: cluster.FromAgent,
			Reason: cluster.ReasonKilledDuringLaunch, Message: "Killed before delivery to the executor"})
		if len(x.queued) == 0 {
			a.end(x, cluster.ReasonExecutorTerminated, "nothing to run", 0)
		}
		return
	}
	if x.stopped {
		x.deferred = append(x.deferred, func() { a.kill(id, grace) })
		return
	}
	if t.wire.Daemon != nil && grace > time.Hour { // the present run may end first
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
	case w.roll(TermIgnored):
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
		a.reportFromExecutor(t, state, message)
	})
}

// shutdown handles the framework's SHUTDOWN of an executor.
func (a *agent) shutdown(id string) {
	x := a.executors[id]
	if x == nil || x.dead {
		return
	}
	wait := a.w.latency()
	if x.stopped {
		wait = a.w.opt.KillGrace // then the agent ends it
		a.w.count(SilentExecutorEnded)
	} else {
		a.w.check.receiveShutdown(a, x)
	}
	a.w.after(wait, func() { a.end(x, cluster.ReasonExecutorTerminated, "Executor terminated", 0) })
}

package sim

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// Fault is a kind of fault.
type Fault int

// Faults that the seed plans, that come by chance at their place, and that
// follow from others.
const (
	LeaderCrash Fault = iota
	LeaderPause
	SessionCut
	MasterFailoverEmpty
	MasterFailoverMemory
	AgentRestart
	AgentPartition
	MachineLost
	MachineReplaced
	HostReboot
	ExecutorCrash
	ExecutorOverMemory
	ClockForward
	ClockBack
	OfferStorm
	OtherFramework
	FrameworkRemoved
	RegistrySessionLost
	StaleSubscriber

	CrashAfterConfig
	CrashBetweenEffects
	PauseBetweenEffects
	CrashBetweenParts
	SlowCommit
	CommitUnknownDone
	CommitUnknownNotDone
	CommitLostWithTerm
	SubscribeFails
	CallLost
	AcceptLost
	AcceptLate
	AcceptAnsweredLate
	MasterRejects
	RunLost
	KillLost
	ShutdownLost
	AckLost
	UpdateLost
	UpdateDoubled
	UpdateLate
	FailureLost
	ExitLost
	StartFails
	PackageFails
	ExecutorNotBack
	OperatorEdits
	ExecutorCrashAtLaunch

	DeposedLeaderWrote
	DeposedLeaderWoke
	CallOnOldStream
	SecondSubscriber
	OfferGone
	ExecutorGoneAtAccept
	ExecutorGoneAtLaunch
	EndWithoutCause
	Silence
	UnknownWhileRunning
	AgentUnreachable
	UnreachableBack
	TaskLostOnTheWay
	TaskOutlivesExecutor
	UpdateRetried
	TriggerRepeated
	WriteInParts
	ManyFiresAtOnce
	FireWhileRunning
	LateProcess
	Drained
	Forgotten
	NumFaults
)

var faultNames = [NumFaults]string{
	"leader crashes", "leader pauses", "session cut", "master failover without memory", "master failover with memory", "agent restarts",
	"agent partitioned", "machine lost for ever", "machine lost, agent replaced under a new id", "host reboots under the same id", "executor crashes",
	"executor over its memory limit", "clock steps forward", "clock steps back", "storm of offers and rescinds", "another framework takes offers",
	"framework removed", "registry session lost", "a dead process's SUBSCRIBE arrives late",
	"crash between config commit and step", "crash between two effects", "pause between two effects", "crash between the parts of a write", "slow commit",
	"commit unknown, was done", "commit unknown, was not done", "commit unknown and the term lost", "SUBSCRIBE fails", "call or its answer lost",
	"ACCEPT or its answer lost", "ACCEPT late", "ACCEPT answered late", "master rejects a task", "launch lost on the way to the agent", "KILL lost", "SHUTDOWN lost",
	"acknowledgement lost", "update lost", "update doubled", "update late", "FAILURE lost", "executor's exit not told", "executor fails to start",
	"package cannot be fetched", "executor does not survive an agent restart", "operator edits a document", "executor crashes as a task is on its way",
	"deposed leader tries to write", "deposed leader wakes up", "call on an old stream", "second subscriber takes over", "ACCEPT of a gone offer",
	"ACCEPT on an executor just gone", "launch for an executor just gone", "end told without cause", "silence for a recovering agent", "UNKNOWN for a running task", "agent marked unreachable", "unreachable agent returns",
	"task lost on the way", "task outlives its executor", "update sent again", "trigger repeated with its key", "write in several commits", "many fires in one instant",
	"fire finds its job running", "second process while the first is unreachable (failover)", "drain", "ghost forgotten by an operator",
}

func (f Fault) String() string { return faultNames[f] }

// chances of the faults that come by chance, each time that they could.
var chances = map[Fault]float64{
	CrashAfterConfig: 0.02, CrashBetweenEffects: 0.002, PauseBetweenEffects: 0.002, CrashBetweenParts: 0.02, SlowCommit: 0.01,
	CommitUnknownDone: 0.01, CommitUnknownNotDone: 0.01, CommitLostWithTerm: 0.003, SubscribeFails: 0.2, CallLost: 0.002,
	AcceptLost: 0.01, AcceptLate: 0.05, AcceptAnsweredLate: 0.1, MasterRejects: 0.01, RunLost: 0.01, KillLost: 0.1, ShutdownLost: 0.2,
	AckLost: 0.02, UpdateLost: 0.02, UpdateDoubled: 0.03, UpdateLate: 0.02, FailureLost: 0.3, ExitLost: 0.02, StartFails: 0.05, PackageFails: 0.02, ExecutorNotBack: 0.2,
	OperatorEdits: 1, ExecutorCrashAtLaunch: 0.01,
}

// mood decides which faults this world has, and how many.
func (w *world) mood() {
	level := []float64{0, 0.5, 1, 2}[w.rng.IntN(4)]
	if w.cfg.Seed%16 == 0 {
		level = 0
	}
	for f := range NumFaults {
		on := w.rng.IntN(2) == 0
		if w.cfg.Only != nil {
			on, level = slices.Contains(w.cfg.Only, f), 1
		}
		if !on {
			continue
		}
		if p, ok := chances[f]; ok {
			w.moods[f] = p * level
		} else if f <= StaleSubscriber {
			w.moods[f] = level
		}
	}
}

// dice says whether a fault comes now.
func (w *world) dice(f Fault) bool {
	if w.calm || f == NumFaults || !w.chance(w.moods[f]) {
		return false
	}
	w.count(f)
	return true
}

func (w *world) count(f Fault) {
	w.faults[f]++
	w.mix(faultNames[f])
	if w.trace.on() {
		w.trace.add("! %s", faultNames[f])
	}
}

// planFault has one of this world's planned faults happen, and plans the next.
func (w *world) planFault() {
	var on []Fault
	for f := LeaderCrash; f <= StaleSubscriber; f++ {
		if w.moods[f] > 0 {
			on = append(on, f)
		}
	}
	if len(on) == 0 {
		return
	}
	level := w.moods[on[0]]
	w.after(w.between(time.Second, time.Duration(float64(40*time.Second)/level)), func() {
		if w.calm {
			return
		}
		f, _ := pick(w, on)
		if w.happens(f) {
			w.count(f)
		}
		w.planFault()
	})
}

// happens makes a planned fault, and reports whether there was occasion for it.
func (w *world) happens(f Fault) bool {
	l := w.leading
	leads := l != nil && !l.dead && !l.paused
	a, _ := pick(w, w.agents)
	up := a != nil && a.online()
	switch f {
	case LeaderCrash:
		if !leads {
			return false
		}
		l.crash("at some moment")
	case LeaderPause:
		if !leads {
			return false
		}
		l.pause()
	case RegistrySessionLost:
		if !leads {
			return false
		}
		l.expire()
		w.after(w.between(time.Millisecond, 3*time.Second), func() { l.run(l.over) })
	case StaleSubscriber:
		if !leads || l.session == nil {
			return false
		}
		// A call of a process that died: it takes the stream over and is gone.
		ghost := &leader{w: w, dead: true}
		s := &session{l: ghost}
		s.stream = &stream{w: w, sess: s, m: w.master, open: true, dead: true}
		w.master.subscribe(s.stream, w.master.fw)
		s.stream.cutOff()
	case SessionCut:
		if w.master.stream == nil {
			return false
		}
		w.master.stream.breaks("the connection broke")
	case MasterFailoverEmpty, MasterFailoverMemory:
		w.failover(f == MasterFailoverMemory)
	case AgentRestart:
		if !up {
			return false
		}
		a.stop()
		w.after([]time.Duration{w.between(time.Second, 10*time.Second), w.between(10*time.Second, 3*time.Minute), w.between(time.Minute, 20*time.Minute)}[w.rng.IntN(3)], a.restart)
	case AgentPartition:
		if !up {
			return false
		}
		a.cut = true
		a.disconnect()
		w.after([]time.Duration{w.between(time.Second, 30*time.Second), w.between(time.Minute, 5*time.Minute), w.between(time.Minute, 30*time.Minute)}[w.rng.IntN(3)], a.heal)
	case MachineLost, MachineReplaced:
		if a == nil || a.lost {
			return false
		}
		a.die()
		if f == MachineReplaced {
			w.after(w.between(5*time.Second, 5*time.Minute), func() { w.replace(a, a.host) })
		}
	case HostReboot:
		if !up {
			return false
		}
		a.reboot()
	case ExecutorCrash, ExecutorOverMemory:
		if !up {
			return false
		}
		id, ok := pick(w, sorted(a.executors))
		if !ok || a.executors[id].dead {
			return false
		}
		if f == ExecutorOverMemory {
			a.end(a.executors[id], "REASON_CONTAINER_LIMITATION_MEMORY", "Memory limit exceeded", 9)
		} else {
			a.end(a.executors[id], "REASON_EXECUTOR_TERMINATED", "Executor terminated", 1280)
		}
	case ClockForward:
		w.skew += []time.Duration{w.between(time.Second, 30*time.Second), w.between(time.Minute, 3*time.Hour)}[w.rng.IntN(2)]
		w.lastJump = w.now
	case ClockBack:
		w.skew -= []time.Duration{w.between(time.Second, 30*time.Second), w.between(time.Minute, time.Hour)}[w.rng.IntN(2)]
		w.lastJump = w.now
	case OfferStorm:
		w.storm(10)
	case OtherFramework:
		k := w.master.agents[a.id]
		if !up || k == nil {
			return false
		}
		w.master.rescind(a.id)
		free := a.total.Minus(w.master.used(a.id))
		k.other = k.other.Plus(app.Resources{CPUMilli: max(free.CPUMilli/2, 0), MemMilli: max(free.MemMilli/2, 0)})
		w.after(w.between(time.Second, time.Minute), func() {
			k.other = app.Resources{}
			w.master.allocate(time.Millisecond)
		})
	case FrameworkRemoved:
		if w.rng.IntN(4) > 0 || w.master.fw == "" {
			return false
		}
		w.removeFramework()
	}
	return true
}

func (w *world) storm(n int) {
	if n == 0 || w.calm {
		return
	}
	for _, id := range sorted(w.master.agents) {
		if w.rng.IntN(2) == 0 {
			w.master.rescind(id)
		}
	}
	w.master.allocate(time.Millisecond)
	w.after(w.between(time.Millisecond, 30*time.Millisecond), func() { w.storm(n - 1) })
}

// failover puts a new master in place of the present one; agents find it in their time.
func (w *world) failover(memory bool) {
	old := w.master
	if old.stream != nil {
		old.stream.breaks("the master is gone")
	}
	w.master = newMaster(w, memory)
	if w.trace.on() {
		w.trace.add("%s leads, with memory: %v", w.master.id, memory)
	}
	slow := w.rng.IntN(3) == 0
	for _, a := range w.agents {
		a.with = nil
		if !a.online() {
			continue
		}
		d := w.between(100*time.Millisecond, 3*time.Second)
		if slow {
			d = w.between(time.Second, 3*time.Minute)
		}
		a.connect(d)
	}
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

// replace puts another agent, under a new id, in the place of a lost one.
func (w *world) replace(a *agent, host string) {
	for _, b := range w.agents {
		if b == a {
			w.agents = slices.DeleteFunc(w.agents, func(b *agent) bool { return b == a })
			size := 0
			for i, cpu := range []int64{2000, 4000, 16000} {
				if a.total.CPUMilli == cpu {
					size = i
				}
			}
			w.addAgent(host, size)
			return
		}
	}
}

// removeFramework is an operator's teardown: all is killed.
func (w *world) removeFramework() {
	m := w.master
	w.removed[m.fw] = true
	for _, a := range w.agents {
		for _, t := range a.tasks {
			if t.process != nil {
				t.process.removed = true
			}
		}
		m.toAgent(a.id, NumFaults, (*agent).endRemoved)
	}
	clear(m.tasks)
	clear(m.away)
	for _, k := range m.agents {
		clear(k.executors)
	}
	if m.stream != nil {
		m.stream.breaks("Framework has been removed")
	}
}

// quiesce ends the faults: from here on, all that can run has to end.
func (w *world) quiesce() {
	w.calm = true
	w.trace.add("the faults stop")
	for _, a := range slices.Clone(w.agents) {
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

// forgetGhosts is an operator who knows which machines are gone.
func (w *world) forgetGhosts(l *leader) {
	for _, g := range sorted(w.check.ghosts) {
		agentID := w.check.ghosts[g]
		if a := w.agent(agentID); a == nil || a.lost {
			w.count(Forgotten)
			l.put(scheduler.ForgetAsked{TaskID: g})
		}
	}
}

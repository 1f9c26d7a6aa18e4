package sim

import (
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
)

// planFault schedules one of this world's planned faults, and then the next one.
func (w *world) planFault() {
	var on []Fault
	for f := LeaderCrash; f <= lastPlanned; f++ {
		if w.rates[f] > 0 {
			on = append(on, f)
		}
	}
	if len(on) == 0 {
		return
	}
	level := w.rates[on[0]]
	w.after(w.between(time.Second, time.Duration(float64(40*time.Second)/level)), func() {
		if w.calm {
			return
		}
		f, _ := pick(w, on)
		if w.inject(f) {
			w.count(f)
		}
		w.planFault()
	})
}

// inject makes a planned fault happen, and reports whether that was possible.
func (w *world) inject(f Fault) bool {
	l := w.leading
	leads := l != nil && !l.dead && !l.paused
	a, _ := pick(w, w.agents)
	up := a != nil && a.online()
	switch f {
	case LeaderCrash, LeaderPause, RegistrySessionLost, StaleSubscriber, RegistryCut, OperatorReconciles,
		OperatorForgets, RoleChanged:
		if !leads {
			return false
		}
	case StreamSilent, StreamSlow, SessionCut, ClusterRefuses, ClusterAway:
		if w.platform().subscriber() == nil {
			return false
		}
	case MaintenanceWindow, AgentRestart, AgentPartition, HostReboot, ExecutorStopped, ExecutorCrash,
		ExecutorOverMemory, ExecutorDiskFull:
		if !up {
			return false
		}
	}
	switch f {
	case LeaderCrash:
		l.crash("at some moment")
	case LeaderPause:
		l.pause()
	case NobodyToTell:
		w.mailAwayUntil = w.now + w.between(10*time.Second, 20*time.Minute)
	case HistoryDown:
		w.history.downUntil = w.now + w.between(5*time.Second, 20*time.Minute)
	case RegistrySessionLost:
		l.expire()
		w.after(w.between(time.Millisecond, 3*time.Second), l.endTerm)
	case StaleSubscriber:
		if l.session == nil {
			return false
		}
		// The late SUBSCRIBE of a process that has died opens the present stream, which then breaks.
		dead := &leader{w: w, dead: true}
		s := &session{l: dead}
		s.stream = &stream{w: w, sess: s, m: w.master, open: true, dead: true}
		w.master.subscribe(s.stream, w.master.fw)
		s.stream.cut()
	case RegistryCut:
		l.cutFromRegistry(w.between(time.Second, 15*time.Second))
	case StreamSilent:
		if s := w.platform().subscriber(); s.dead || s.silent {
			return false
		}
		s := w.platform().subscriber()
		s.silent = true
		s.sess.l.soon(w.between(60*time.Second, 75*time.Second),
			func() { s.sess.end("5 heartbeats were missed", false) })
	case StreamSlow:
		w.platform().subscriber().slowUntil = w.now + w.between(time.Second, 20*time.Second)
	case ClockHourForward:
		w.shiftClock(time.Hour)
	case ClockHourBack:
		w.shiftClock(-time.Hour)
	case MaintenanceWindow:
		return w.maintain(a)
	case OperatorReconciles:
		explicit := w.rng.IntN(2) == 0
		l.request(operator.ReconcileRequested{Explicit: explicit, Actor: byUser}, nil)
	case OperatorForgets:
		return w.forgetSome(l)
	case RoleChanged:
		if w.opt.Role = "blue"; l.role == "blue" {
			w.opt.Role = "*"
		}
		l.stop("it restarts with another role")
	case SessionCut:
		w.platform().subscriber().fail("the connection broke")
	case ClusterRefuses, ClusterAway:
		if f == ClusterRefuses {
			w.refusesUntil = w.now + w.between(5*time.Second, 8*time.Minute)
		} else {
			w.awayUntil = w.now + w.between(10*time.Second, 8*time.Minute)
		}
		w.platform().subscriber().fail("the connection broke")
	case MasterFailoverEmpty, MasterFailoverMemory:
		w.failover(f == MasterFailoverMemory)
	case AgentRestart:
		a.stop()
		w.after([]time.Duration{w.between(time.Second, 10*time.Second), w.between(10*time.Second, 3*time.Minute),
			w.between(time.Minute, 20*time.Minute)}[w.rng.IntN(3)], a.restart)
	case AgentPartition:
		a.cut = true
		a.disconnect()
		w.after([]time.Duration{w.between(time.Second, 30*time.Second), w.between(time.Minute, 5*time.Minute),
			w.between(time.Minute, 30*time.Minute)}[w.rng.IntN(3)], a.repair)
	case MachineLost, MachineReplaced:
		if a == nil || a.lost {
			return false
		}
		a.die()
		if w.api != nil {
			w.after(w.between(time.Minute, 10*time.Minute), func() { w.api.deleteNode(a.id) })
		}
		if f == MachineReplaced {
			w.after(w.between(5*time.Second, 5*time.Minute), func() { w.replace(a, a.host) })
		}
	case HostReboot:
		a.reboot()
	case ExecutorStopped, ExecutorCrash, ExecutorOverMemory, ExecutorDiskFull:
		id, ok := pick(w, sorted(a.executors))
		x := a.executors[id]
		if !ok || x.dead || f == ExecutorStopped && (x.stopped || !x.ready) {
			return false
		}
		switch f {
		case ExecutorStopped:
			a.stopExecutor(x)
		case ExecutorOverMemory:
			a.end(x, cluster.ReasonContainerMemory, "Memory limit exceeded", 9)
		case ExecutorDiskFull:
			a.end(x, cluster.ReasonContainerDisk, "Disk usage exceeds quota", 9)
		default:
			a.end(x, cluster.ReasonExecutorTerminated, "Executor terminated", 1280)
		}
	case ClockForward:
		w.shiftClock([]time.Duration{w.between(time.Second, 30*time.Second),
			w.between(time.Minute, 3*time.Hour)}[w.rng.IntN(2)])
	case ClockBack:
		w.shiftClock(-[]time.Duration{w.between(time.Second, 30*time.Second),
			w.between(time.Minute, time.Hour)}[w.rng.IntN(2)])
	case PodDeleted, PodForceDeleted:
		return w.api.deleteSome(f == PodForceDeleted)
	case OthersPods:
		return up && w.api.takeSpace(a.id)
	case OfferStorm:
		w.storm(10)
	case OtherFramework:
		k := w.master.agents[a.id]
		if !up || k == nil {
			return false
		}
		w.master.rescind(a.id)
		free := a.total.Minus(w.master.used(a.id)).Minus(sum(w.master.reservedFree(a.id)))
		k.other = k.other.Plus(resources.Amount{CPUMilli: max(free.CPUMilli/2, 0), MemMilli: max(free.MemMilli/2, 0)})
		w.after(w.between(time.Second, time.Minute), func() {
			k.other = resources.Amount{}
			w.master.allocate(time.Millisecond)
		})
	case FrameworkRemoved:
		if w.rng.IntN(4) > 0 || w.master.fw == "" {
			return false
		}
		if w.rng.IntN(2) == 0 && up {
			// The busiest agent is away during the removal. When it is back, another master leads.
			for _, b := range w.agents {
				if b.online() && len(b.tasks) > len(a.tasks) {
					a = b
				}
			}
			a.cut = true
			a.disconnect()
			w.after(w.between(2*time.Second, 20*time.Second), func() { w.failover(w.rng.IntN(2) == 0) })
			w.after(w.between(20*time.Second, 5*time.Minute), a.repair)
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

// failover replaces the present master by a new one; agents find it after random delays.
func (w *world) failover(memory bool) {
	old := w.master
	if old.stream != nil {
		old.stream.fail("the master is gone")
	}
	w.master = newMaster(w, memory)
	if !memory {
		w.check.masterForgot()
	}
	w.trace.add("%s leads, with memory: %v", w.master.id, memory)
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

// replace replaces a lost agent by another one, with a new id.
func (w *world) replace(a *agent, host string) {
	if i := slices.Index(w.agents, a); i >= 0 {
		w.agents = slices.Delete(w.agents, i, i+1)
		w.addAgent(host, a.total)
	}
}

// removeFramework tears down the framework, as an operator can on the master. The agents kill all of its tasks.
func (w *world) removeFramework() {
	m := w.master
	w.removed[m.fw] = m
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
	if s := m.stream; s != nil {
		s.fail("Framework has been removed")
		m.lost(s) // no call of the framework is accepted from now on
	}
}

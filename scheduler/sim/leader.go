package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// leader is a process in its term: the same machine that the shell drives, with a registry, a cluster and clocks that
// have faults, and crashes and pauses between any two of its effects.
type leader struct {
	w       *world
	no      int
	term    int64
	role    string
	core    *core.Core
	machine *term.Machine

	planned bool // a call of drive is planned
	wakeNo  int  // of the last planned wake, which replaces earlier ones
	dead    bool
	paused  bool
	held    []func() // actions that wait for the end of the pause
	began   time.Duration
	// loadedAt and loadedWall are the world's time and the wall clock when the core was loaded.
	loadedAt    time.Duration
	loadedWall  time.Time
	lastPause   time.Duration
	session     *session // the last opened session, until it has ended
	token       uint64
	asks        map[uint64]func(core.Reply)
	views       *observedViews // the views after its last step
	watch       watch
	out         outgoing
	drained     bool
	outbox      *outbox
	historyTold int64         // the number of its batches that it knows to be stored
	seen        int64         // the index of the last write that this process knows of
	cutUntil    time.Duration // until when it is cut off from the registry
}

// campaign starts a new leader in a new term after a delay, unless there is a leader by then.
func (w *world) campaign(delay time.Duration) {
	w.after(delay, func() {
		if l := w.leading; l != nil && !l.dead && l.term == w.store.term && !l.paused {
			return
		}
		// The session is with a server that lags; the write that begins the term makes it catch up (rule T1).
		has := w.store.indexBefore(w.between(0, maxLag))
		if has < w.store.index {
			w.count(ServerLagged)
		}
		if w.cfg.Bug != ReadsFirst {
			has = w.store.index
		}
		w.store.term++
		l := &leader{w: w, no: len(w.leaders) + 1, term: w.store.term, role: w.opt.Role, began: w.now,
			lastPause: -time.Hour, asks: map[uint64]func(core.Reply){},
			out: outgoing{underWay: map[string]bool{}, telling: map[string]bool{}, told: map[string]time.Duration{}}}
		l.watch.reset()
		w.leaders = append(w.leaders, l)
		w.leading = l
		l.outbox = w.history.outboxOf(l)
		opt := w.opt
		opt.Term = l.term
		l.core = core.New(opt)
		l.machine = term.New(l.core, rand.NewPCG(w.cfg.Seed, uint64(len(w.leaders))+76),
			term.Options{RefusedTimeout: w.refusedTimeout})
		w.trace.add("leader %d begins term %d", l.no, l.term)
		l.seen = has
		w.check.documentsLoaded()
		w.audits.load(w.store.list("/config", "/state"))
		l.loadedAt, l.loadedWall = w.now, w.wall()
		stored := loadedWithBug(w.cfg.Bug, w.store.listAt(has, "/config", "/state", "/ha", "/scheduler"))
		if err := l.core.Load(w.wall(), core.Stored{Entries: stored}); err != nil {
			w.fail("what a leader left can be loaded", "%v", err)
			return
		}
		l.scheduleDrive()
	})
}

// clocks returns the process's readings of its clocks.
func (l *leader) clocks() clock.Now {
	return clock.Now{Wall: l.w.wall(), Elapsed: l.w.now - l.loadedAt}
}

// termTime returns the time of the term.
func (l *leader) termTime() time.Time { return l.loadedWall.Add(l.w.now - l.loadedAt) }

// soon does something in the leader's process after a delay, unless the process is dead by then.
func (l *leader) soon(d time.Duration, do func()) {
	l.w.after(d, func() { l.run(do) })
}

func (l *leader) run(do func()) {
	switch {
	case l.dead:
	case l.paused:
		l.held = append(l.held, do)
	default:
		do()
	}
}

// input passes an input to the machine.
func (l *leader) input(input func(*term.Machine)) {
	l.run(func() {
		l.machine.Tick(l.clocks())
		input(l.machine)
		l.scheduleDrive()
	})
}

// request makes a request as the API does. answered, if not nil, receives the answer.
func (l *leader) request(request core.Event, answered func(core.Reply)) {
	l.token++
	q := core.Request{Token: l.token, Event: request}
	if answered == nil {
		answered = func(core.Reply) {}
	}
	l.input(func(m *term.Machine) {
		l.asks[q.Token] = answered
		m.Request(q)
	})
}

// scheduleDrive schedules the next call of drive, which handles all inputs that arrive by then.
func (l *leader) scheduleDrive() {
	if !l.planned {
		l.planned = true
		l.soon(l.w.between(10*time.Microsecond, time.Millisecond), l.drive)
	}
}

func (l *leader) drive() {
	l.planned = false
	l.machine.Tick(l.clocks())
	effects := l.machine.Ready()
	l.w.check.checkChanged(l, effects)
	l.perform(effects)
}

// perform carries out the effects of the machine, one after the other, unless the process crashes between two of them.
// A pause does not change their order.
func (l *leader) perform(effects []term.Effect) {
	w := l.w
	for i, e := range effects {
		before, after, seen := crashesAt(e)
		if seen && (w.roll(CrashBetweenEffects) || w.roll(before)) {
			l.crash("between effects")
			return
		}
		if seen && w.roll(PauseBetweenEffects) {
			l.pause()
			l.run(func() {
				l.carryOut(e)
				l.perform(effects[i+1:])
			})
			return
		}
		if l.carryOut(e); l.dead {
			return
		}
		if w.roll(after) {
			l.crash("right after an effect")
			return
		}
	}
	if l.machine.Done() {
		if len(l.asks) > 0 {
			w.fail("every request is answered", "leader %d has ended with %d of them open", l.no, len(l.asks))
		}
		l.die("its term has ended")
		return
	}
	l.planWake()
}

func (l *leader) planWake() {
	if at, ok := l.machine.Wake(); ok {
		l.wakeNo++
		no := l.wakeNo
		l.soon(at-l.clocks().Elapsed, func() {
			if no == l.wakeNo && !l.planned {
				l.drive()
			}
		})
	}
}

// crashesAt returns the faults that may crash the process just before and just after an effect. seen is false for an
// effect that is not visible outside the process, and for a commit.
func crashesAt(e term.Effect) (before, after Fault, seen bool) {
	switch e := e.(type) {
	case term.Answer:
		return CrashBeforeReply, NumFaults, true
	case term.Subscribe:
		return CrashBeforeSubscribe, NumFaults, true
	case term.Notify:
		return CrashBeforeNotify, CrashAfterNotify, true
	case term.Call:
		switch e.Call.(type) {
		case step.CallLaunch:
			return CrashBeforeAccept, CrashAfterAccept, true
		case step.CallAcknowledge:
			return CrashBeforeAck, CrashAfterAck, true
		case step.CallKill:
			return CrashBeforeKill, CrashAfterKill, true
		}
		return NumFaults, NumFaults, true
	}
	return NumFaults, NumFaults, false
}

// isRoutine reports whether nothing but heartbeats of executors and requests for leases has happened.
func isRoutine(events []core.Event) bool {
	return len(events) > 0 && !slices.ContainsFunc(events, func(e core.Event) bool {
		switch e := e.(type) {
		case core.ClusterEvent:
			m, is := e.Event.(cluster.Message)
			return !is || !m.Heartbeat
		case core.Request:
			_, is := e.Event.(core.LeaseRequested)
			return !is
		}
		return true
	})
}

// carryOut carries out one effect of the machine.
func (l *leader) carryOut(e term.Effect) {
	w := l.w
	w.check.effect(l, e)
	switch e := e.(type) {
	case term.Decided:
		if !isRoutine(e.Events) {
			w.report.Steps++
		}
		w.check.checkDecision(l, e.Events, e.Decision)
		if !l.out.deciding {
			w.check.afterDecision(l)
		}
	case term.Commit:
		l.commit(e)
	case term.Read:
		l.read(e.Paths)
	case term.Call:
		l.send(e)
	case term.Subscribe:
		l.subscribe(e)
	case term.CloseSession:
		if s := l.session; s != nil && s.number == e.Session {
			s.end("it was closed", false)
		}
	case term.WatchMaster:
		if w.cfg.Seed%2 == 0 { // in these worlds the leading master is known from ZooKeeper
			l.soon(time.Second, func() { l.input(func(m *term.Machine) { m.MasterChanged(e.Session) }) })
		}
	case term.Notify:
		l.notify(e.Notification)
	case term.AskStandby:
		if w.cfg.Seed%4 < 2 {
			l.soon(w.latency(), func() { l.input((*term.Machine).StandbyWaits) })
		}
	case term.Answer:
		if answered := l.asks[e.Token]; answered != nil {
			delete(l.asks, e.Token)
			answered(e.Reply)
		}
	case term.Drained:
		l.drained = true
	case term.Ended:
		switch {
		case e.Err == nil:
			w.count(HandedOver)
		case errors.Is(e.Err, term.ErrRefused):
			w.count(AbdicatedRefused)
		case errors.Is(e.Err, term.ErrUnsubscribed):
			w.count(AbdicatedForStandby)
		case errors.Is(e.Err, term.ErrContradiction):
			w.fail("nothing contradicts itself", "%v", e.Err)
		}
	}
}

// endTerm reports to the process that its term has ended.
func (l *leader) endTerm() {
	l.input(func(m *term.Machine) {
		l.out.ended = true
		m.TermEnded(registry.ErrTermEnded)
	})
}

// stop stops the process as an operator does; why is the reason.
func (l *leader) stop(why string) {
	l.w.trace.add("leader %d is stopped: %s", l.no, why)
	l.input((*term.Machine).Stop)
}

// expire ends the session with the registry, and so the term.
func (l *leader) expire() {
	if l.w.store.term == l.term {
		l.w.store.term++ // a term without a leader, so that the fence refuses the old term
	}
}

// endSession expires the session of a leader that still leads and does not learn of it. Another one is elected.
func (l *leader) endSession() {
	if w := l.w; !l.dead && w.leading == l && w.store.term == l.term {
		l.expire()
		w.leading = nil
		w.campaign(w.between(0, time.Second))
	}
}

func (l *leader) crash(where string) {
	if !l.dead {
		l.w.report.Kills++
	}
	l.die("crashed " + where)
}

func (l *leader) die(why string) {
	w := l.w
	if l.dead {
		return
	}
	w.trace.add("leader %d is gone: %s", l.no, why)
	l.dead = true
	l.outbox.gone = w.roll(HistoryDiskGone)
	if l.session != nil {
		l.session.stream.cut()
		l.session = nil
	}
	if w.leading == l {
		w.campaign(w.between(100*time.Millisecond, 20*time.Second))
	}
}

// pause stops the process for a while, like a long garbage collection or a stopped machine. Its session with the
// registry may expire meanwhile.
func (l *leader) pause() {
	if l.paused || l.dead {
		return
	}
	w := l.w
	l.paused, l.lastPause = true, w.now
	d := w.between(100*time.Millisecond, 40*time.Second)
	w.trace.add("leader %d is paused for %s", l.no, d)
	if d > 5*time.Second {
		w.after(w.between(4*time.Second, d+2*time.Second), l.endSession)
	}
	w.after(d, l.resume)
}

func (l *leader) resume() {
	if l.dead || !l.paused {
		return
	}
	w := l.w
	w.trace.add("leader %d wakes up", l.no)
	if l.term != w.store.term {
		w.count(DeposedLeaderWoke)
	}
	l.paused, l.lastPause = false, w.now
	held := l.held
	l.held = nil
	for i, do := range held {
		if l.dead {
			return
		}
		if l.paused {
			l.held = append(l.held, held[i:]...)
			return
		}
		do()
	}
}

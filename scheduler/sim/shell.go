package sim

import (
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// leader is a process in its term: what scheduler/loop.go is, with crashes.
type leader struct {
	w    *world
	no   int
	term int64
	role string
	core *core.Core
	rnd  rand.Source

	inbox      []core.Event
	requests   []*request
	busy       bool // a step or its commit and effects are under way
	planned    bool // a batch is planned
	wakeNo     int
	dead       bool
	paused     bool
	held       []func() // what waits for the end of the pause
	began      time.Duration
	loadedAt   time.Duration // the world's time and the wall clock's when the core was loaded
	loadedWall time.Time
	lastPause  time.Duration
	session    *session
	token      uint64
	asks       map[uint64]func(core.Reply)
	watch      watch
	drained    bool
	seen       int64    // the index of the last write that this process knows of
	changed    []string // paths that others changed, to be read again
	cutUntil   time.Duration
}

// campaign makes a new leader after a delay, in a new term.
func (w *world) campaign(delay time.Duration) {
	w.after(delay, func() {
		if l := w.leading; l != nil && !l.dead && l.term == w.store.term && !l.paused {
			return
		}
		// The session is with a server that lags; the term's write has it catch up (rule T1).
		has := w.store.had(w.between(0, mostLag))
		if has < w.store.index {
			w.count(ServerLagged)
		}
		if w.cfg.Bug != ReadsFirst {
			has = w.store.index
		}
		w.store.term++
		l := &leader{w: w, no: len(w.leaders) + 1, term: w.store.term, role: w.opt.Role, began: w.now, lastPause: -time.Hour,
			rnd: rand.NewPCG(w.cfg.Seed, uint64(len(w.leaders))+77), asks: map[uint64]func(core.Reply){}}
		l.watch.reset()
		w.leaders = append(w.leaders, l)
		w.leading = l
		l.core = core.New(w.opt)
		if w.trace.on() {
			w.trace.add("leader %d begins term %d", l.no, l.term)
		}
		l.seen = has
		w.check.documentsLoaded()
		l.loadedAt, l.loadedWall = w.now, w.wall()
		if err := l.core.Load(w.wall(), core.Stored{Entries: w.store.listAs(has, "/config", "/state", "/ha", "/scheduler")}); err != nil {
			w.fail("what a leader left can be loaded", "%v", err)
			return
		}
		l.poke()
	})
}

// clocks are what the process reads from its clocks.
func (l *leader) clocks() core.Now {
	return core.Now{Wall: l.w.wall(), Elapsed: l.w.now - l.loadedAt}
}

// termTime is the time that its core reckons in.
func (l *leader) termTime() time.Time { return l.loadedWall.Add(l.w.now - l.loadedAt) }

// soon does something in the leader's process, unless it is dead by then.
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

func (l *leader) poke() {
	if l.busy || l.planned {
		return
	}
	l.planned = true
	l.soon(l.w.between(10*time.Microsecond, time.Millisecond), l.takeBatch)
}

// waits reports whether there is something for the next batch.
func (l *leader) waits() bool { return len(l.inbox)+len(l.requests)+len(l.changed) > 0 }

func (l *leader) put(e core.Event) {
	l.inbox = append(l.inbox, e)
	l.poke()
}

// takeBatch takes all events that have come and steps the core.
func (l *leader) takeBatch() {
	l.planned = false
	if l.busy {
		return
	}
	events, requests := l.inbox, l.requests
	for _, path := range l.changed {
		events = append(events, l.reload(path)...)
	}
	l.inbox, l.requests, l.changed = nil, nil, nil
	l.step(events, func() { l.apply(requests) })
}

// reload reads a document that somebody else has changed, on this process's
// session: its server may lag, but not behind what the session has seen.
func (l *leader) reload(path string) []core.Event {
	w := l.w
	index := max(l.seen, w.store.had(w.between(0, mostLag)))
	if w.cfg.Bug == ReloadsAnywhere {
		index = w.store.had(mostLag)
	}
	entry, there := w.store.as(path, index)
	if seen, _ := w.store.as(path, l.seen); index < l.seen && l.term == w.store.term && seen.Version != entry.Version {
		w.fail("T4 a reload sees the write that it conflicted with", "%s is read as of version %d, and version %d was seen already", path, entry.Version, seen.Version)
	}
	events := l.core.Reloaded(path, entry, there)
	if l.term == w.store.term { // what a deposed leader reads is nobody's
		w.check.documentRead(path, entry, there)
	}
	return events
}

// noticed reports to the process that somebody else has changed a path.
func (l *leader) noticed(path string, index int64) {
	l.seen = max(l.seen, index)
	l.changed = append(l.changed, path)
	l.poke()
}

// step lets the core decide, commits, and then lets the effects out.
func (l *leader) step(events []core.Event, then func()) {
	l.stepDecided(events, func(*core.Decision) { then() })
}

// stepDecided is step, and then goes on with what was decided.
func (l *leader) stepDecided(events []core.Event, then func(*core.Decision)) {
	w := l.w
	l.busy = true
	w.steps++
	d := l.core.Step(l.clocks(), l.rnd, events)
	w.check.decided(l, events, &d)
	if w.cfg.Bug == ActsFirst {
		l.effects(&d, 0, func() {})
		d.Calls, d.Replies = nil, nil
	}
	if len(d.Writes) > 0 && w.dice(CrashBeforeCommit) {
		l.crash("before its commit")
		return
	}
	l.commit(d.Writes, d.Fenced, func(err error) {
		if err != nil {
			l.endTerm()
			return
		}
		if len(d.Writes) > 0 && w.dice(CrashAfterCommit) {
			l.crash("after its commit, before all effects")
			return
		}
		w.check.afterDecision(l)
		l.effects(&d, 0, func() {
			l.busy = false
			if d.Wake > 0 {
				l.wakeNo++
				no := l.wakeNo
				l.soon(d.Wake-l.clocks().Elapsed, func() {
					if no == l.wakeNo && !l.busy && !l.planned {
						l.takeBatch()
					}
				})
			}
			l.drained = l.drained || d.Drained
			then(&d)
			if l.waits() {
				l.poke()
			}
		})
	})
}

// effects lets calls, then replies, out one by one.
func (l *leader) effects(d *core.Decision, from int, then func()) {
	for i := from; i < len(d.Calls)+len(d.Replies); i++ {
		if l.w.dice(CrashBetweenEffects) || l.w.dice(before(d, i)) {
			l.crash("between effects")
			return
		}
		if i == from && i > 0 || !l.w.dice(PauseBetweenEffects) {
			l.effect(d, i)
			if l.w.dice(behind(d, i)) {
				l.crash("right after an effect")
				return
			}
			continue
		}
		l.pause()
		l.run(func() { l.effects(d, i, then) })
		return
	}
	then()
}

// before is the crash that may come just before an effect leaves.
func before(d *core.Decision, i int) Fault {
	if i >= len(d.Calls) {
		return CrashBeforeReply
	}
	switch d.Calls[i].(type) {
	case core.CallAccept:
		return CrashBeforeAccept
	case core.CallAcknowledge:
		return CrashBeforeAck
	case core.CallKill:
		return CrashBeforeKill
	case core.CallSubscribe:
		return CrashBeforeSubscribe
	}
	return NumFaults
}

// behind is the crash that may come just after an effect has left.
func behind(d *core.Decision, i int) Fault {
	if i >= len(d.Calls) {
		return NumFaults
	}
	switch d.Calls[i].(type) {
	case core.CallAccept:
		return CrashAfterAccept
	case core.CallAcknowledge:
		return CrashAfterAck
	case core.CallKill:
		return CrashAfterKill
	}
	return NumFaults
}

func (l *leader) effect(d *core.Decision, i int) {
	if i < len(d.Calls) {
		l.w.check.leaves(l, d.Calls[i])
		l.send(d.Calls[i])
		return
	}
	r := d.Replies[i-len(d.Calls)]
	if done := l.asks[r.Token]; done != nil {
		delete(l.asks, r.Token)
		done(r)
	}
}

// endTerm ends the term in good order: the process stands for election again.
func (l *leader) endTerm() {
	l.die("its term has ended")
}

// expire is the loss of the registry's session.
func (l *leader) expire() {
	if l.w.store.term == l.term {
		l.w.store.term++ // nobody's: the fence refuses the old term
	}
}

func (l *leader) crash(where string) {
	if !l.dead {
		l.w.kills++
	}
	l.die("crashed " + where)
}

func (l *leader) die(why string) {
	w := l.w
	if l.dead {
		return
	}
	if w.trace.on() {
		w.trace.add("leader %d is gone: %s", l.no, why)
	}
	l.dead = true
	if l.session != nil {
		l.session.stream.cutOff()
		l.session = nil
	}
	if w.leading == l {
		w.campaign(w.between(100*time.Millisecond, 20*time.Second))
	}
}

// pause stops the process for a while, as a long collection of garbage or a
// stopped machine does; its registry session may run out meanwhile.
func (l *leader) pause() {
	if l.paused || l.dead {
		return
	}
	w := l.w
	l.paused, l.lastPause = true, w.now
	d := w.between(100*time.Millisecond, 40*time.Second)
	if w.trace.on() {
		w.trace.add("leader %d is paused for %s", l.no, d)
	}
	if d > 5*time.Second {
		w.after(w.between(4*time.Second, d+2*time.Second), func() {
			if !l.dead && w.leading == l && w.store.term == l.term {
				l.expire()
				w.leading = nil
				w.campaign(w.between(0, time.Second))
			}
		})
	}
	w.after(d, l.resume)
}

func (l *leader) resume() {
	if l.dead || !l.paused {
		return
	}
	w := l.w
	if w.trace.on() {
		w.trace.add("leader %d wakes up", l.no)
	}
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

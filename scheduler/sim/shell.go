package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// leader is a process in its term: what scheduler/loop.go is, with crashes.
type leader struct {
	w    *world
	no   int
	term int64
	core *scheduler.Core
	rnd  rand.Source

	inbox     []scheduler.Event
	requests  []*request
	busy      bool // a step or its commit and effects are under way
	planned   bool // a turn is planned
	wakeNo    int
	dead      bool
	paused    bool
	held      []func() // what waits for the end of the pause
	began     time.Duration
	lastPause time.Duration
	session   *session
	token     uint64
	asks      map[uint64]func(scheduler.Reply)
	watch     watch
	drained   bool
}

// request is a change of configuration.
type request struct {
	name string
	plan func(*scheduler.Core) (scheduler.Planned, error)
	done func(error)
}

// campaign makes a new leader after a delay, in a new term.
func (w *world) campaign(delay time.Duration) {
	w.after(delay, func() {
		if l := w.leading; l != nil && !l.dead && l.term == w.store.term && !l.paused {
			return
		}
		w.store.term++
		l := &leader{w: w, no: len(w.leaders) + 1, term: w.store.term, began: w.now, lastPause: -time.Hour,
			rnd: rand.NewPCG(w.cfg.Seed, uint64(len(w.leaders))+77), asks: map[uint64]func(scheduler.Reply){}}
		l.watch.reset()
		w.leaders = append(w.leaders, l)
		w.leading = l
		l.core = scheduler.NewCore(w.opt)
		if w.trace.on() {
			w.trace.add("leader %d begins term %d", l.no, l.term)
		}
		// Read after the write that began the term (rule T1).
		if err := l.core.Load(w.wall(), scheduler.Stored{Entries: w.store.list("/config", "/state/disable", "/ha", "/brain")}); err != nil {
			w.fail("what a leader left can be loaded", "%v", err)
			return
		}
		l.poke()
	})
}

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
	l.soon(l.w.between(10*time.Microsecond, time.Millisecond), l.turn)
}

func (l *leader) put(e scheduler.Event) {
	l.inbox = append(l.inbox, e)
	l.poke()
}

// turn takes what has come.
func (l *leader) turn() {
	l.planned = false
	if l.busy {
		return
	}
	events, requests := l.inbox, l.requests
	l.inbox, l.requests = nil, nil
	l.step(events, func() { l.apply(requests) })
}

// apply makes the changes one after the other, then waits for more.
func (l *leader) apply(requests []*request) {
	if len(requests) == 0 {
		if len(l.inbox)+len(l.requests) > 0 {
			l.poke()
		}
		return
	}
	r, rest := requests[0], requests[1:]
	next := func() { l.apply(rest) }
	p, err := r.plan(l.core)
	if err != nil {
		r.done(err)
		l.step(nil, next)
		return
	}
	l.busy = true
	l.commit(p.Writes, false, func(err error) {
		var conflict *registry.Conflict
		switch {
		case errors.As(err, &conflict):
			r.done(err)
			l.step(l.reload(conflict.Path), next)
		case err != nil:
			l.over()
		case l.w.dice(CrashAfterConfig):
			l.crash("between a change and its step")
		default:
			l.step(p.Events, func() { r.done(nil); next() })
		}
	})
}

// reload reads a document that somebody else has changed.
func (l *leader) reload(path string) []scheduler.Event {
	dir, name := splitPath(path)
	entry, there := l.w.store.entries[path]
	switch dir {
	case pathApps:
		e := scheduler.AppChanged{Name: name, Version: entry.Version}
		if v, err := l.core.App(name); err == nil {
			e.Disabled = v.Disabled
		}
		if there {
			cfg, _, err := app.Decode(entry.Value, app.Default())
			if err != nil {
				return nil
			}
			e.Config = &cfg
		}
		return []scheduler.Event{e}
	case pathJobs:
		e := scheduler.JobChanged{Name: name, Version: entry.Version}
		if v, err := l.core.Job(name); err == nil {
			e.Disabled = v.Disabled
		}
		if there {
			cfg, _, err := jobs.Decode(entry.Value, jobs.Default())
			if err != nil {
				return nil
			}
			e.Config = &cfg
		}
		return []scheduler.Event{e}
	}
	return nil
}

// step lets the core decide, commits, and then lets the effects out.
func (l *leader) step(events []scheduler.Event, then func()) {
	w := l.w
	l.busy = true
	w.steps++
	d := l.core.Step(w.wall(), l.rnd, events)
	w.check.decided(l, events, &d)
	fenced := false
	for _, call := range d.Calls {
		if _, ok := call.(scheduler.CallSubscribe); ok {
			fenced = true
		}
	}
	l.commit(d.Writes, fenced, func(err error) {
		if err != nil {
			l.over()
			return
		}
		w.check.afterDecision(l)
		l.effects(&d, 0, func() {
			l.busy = false
			if !d.Wake.IsZero() {
				l.wakeNo++
				no := l.wakeNo
				l.soon(d.Wake.Sub(w.wall()), func() {
					if no == l.wakeNo && !l.busy && !l.planned {
						l.turn()
					}
				})
			}
			l.drained = l.drained || d.Drained
			then()
			if len(l.inbox)+len(l.requests) > 0 {
				l.poke()
			}
		})
	})
}

// effects lets calls, then replies, out one by one.
func (l *leader) effects(d *scheduler.Decision, from int, then func()) {
	for i := from; i < len(d.Calls)+len(d.Replies); i++ {
		if l.w.dice(CrashBetweenEffects) {
			l.crash("between effects")
			return
		}
		if i == from && i > 0 || !l.w.dice(PauseBetweenEffects) {
			l.effect(d, i)
			continue
		}
		l.pause()
		l.run(func() { l.effects(d, i, then) })
		return
	}
	then()
}

func (l *leader) effect(d *scheduler.Decision, i int) {
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

// commit writes in as many commits as the limit needs (rule T5), each with its
// own luck (rule T3).
func (l *leader) commit(writes []registry.Write, fenced bool, done func(error)) {
	w := l.w
	if len(writes) == 0 && !fenced {
		done(nil)
		return
	}
	n, size := 0, 0
	for n < len(writes) {
		size += len(writes[n].Path) + len(writes[n].Value)
		if n > 0 && size > w.limit {
			break
		}
		n++
	}
	part, rest := writes[:n], writes[n:]
	wait := w.between(200*time.Microsecond, 10*time.Millisecond)
	if w.dice(SlowCommit) {
		wait = w.between(100*time.Millisecond, 5*time.Second)
	}
	l.soon(wait, func() {
		again := func() { l.soon(w.between(time.Millisecond, 4*time.Second), func() { l.try(part, rest, done) }) }
		switch {
		case w.dice(CommitUnknownNotDone):
			again()
		case w.dice(CommitUnknownDone):
			err := w.store.commit(l.term, part)
			if err == nil {
				w.check.committed(part)
			}
			// Sent again, the conflict shows our own term and number: it had happened.
			l.soon(w.between(time.Millisecond, 4*time.Second), func() { l.tried(err, rest, done) })
		case w.dice(CommitLostWithTerm):
			if w.rng.IntN(2) == 0 {
				if err := w.store.commit(l.term, part); err == nil {
					w.check.committed(part)
				}
			}
			l.expire()
			done(registry.ErrOutcomeUnknown)
		default:
			l.try(part, rest, done)
		}
	})
}

func (l *leader) try(part, rest []registry.Write, done func(error)) {
	err := l.w.store.commit(l.term, part)
	if err == nil {
		l.w.check.committed(part)
	}
	l.tried(err, rest, done)
}

func (l *leader) tried(err error, rest []registry.Write, done func(error)) {
	switch {
	case err != nil:
		if errors.Is(err, registry.ErrTermOver) {
			l.w.count(DeposedLeaderWrote)
		}
		done(err)
	case len(rest) > 0 && l.w.dice(CrashBetweenParts):
		l.crash("between the parts of a write")
	default:
		l.commit(rest, false, done)
	}
}

// over ends the term in good order: the process stands for election again.
func (l *leader) over() {
	l.die("its term is over")
}

// expire is the loss of the registry's session.
func (l *leader) expire() {
	if l.w.store.term == l.term {
		l.w.store.term++ // nobody's: the fence refuses the old term
	}
}

func (l *leader) crash(where string) {
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

// session is one subscription as the shell sees it.
type session struct {
	l             *leader
	number        int64
	stream        *stream
	flow, command lane
	acks          [4]lane
	nextAck       int
	over          bool
}

// lane is a queue of calls of which one is under way.
type lane struct {
	queue []func(answered func())
	busy  bool
}

func (l *leader) send(call scheduler.Call) {
	w := l.w
	if w.trace.on() {
		w.trace.add("leader %d calls %s", l.no, showCall(call))
	}
	if c, ok := call.(scheduler.CallSubscribe); ok {
		l.subscribe(c)
		return
	}
	s := l.session
	if s == nil {
		return
	}
	switch c := call.(type) {
	case scheduler.CallAccept:
		s.accept(c)
	case scheduler.CallDecline:
		s.enqueue(&s.flow, func(m *master) { m.decline(c.Offers, c.Refuse) })
	case scheduler.CallRevive:
		s.enqueue(&s.flow, func(m *master) { m.revive() })
	case scheduler.CallSuppress:
		s.enqueue(&s.flow, func(m *master) { m.suppressed = true })
	case scheduler.CallKill:
		s.enqueue(&s.command, func(m *master) { m.kill(c.Kill) })
	case scheduler.CallShutdown:
		s.enqueue(&s.command, func(m *master) { m.shutdown(c.ExecutorID, c.AgentID) })
	case scheduler.CallReconcile:
		s.enqueue(&s.command, func(m *master) { m.reconcile(c.Tasks) })
	case scheduler.CallAcknowledge:
		s.nextAck = (s.nextAck + 1) % len(s.acks)
		s.enqueue(&s.acks[s.nextAck], func(m *master) { m.acknowledge(c.Ack) })
	}
}

func (s *session) enqueue(q *lane, act func(*master)) {
	q.queue = append(q.queue, func(answered func()) { s.transmit(act, CallLost, 0, answered) })
	if !q.busy {
		s.drive(q)
	}
}

func (s *session) drive(q *lane) {
	if len(q.queue) == 0 || s.over {
		q.busy, q.queue = false, nil
		return
	}
	q.busy = true
	call := q.queue[0]
	q.queue = q.queue[1:]
	call(func() { s.drive(q) })
}

// transmit sends one request. It may be lost, or its answer; both end the
// session, as a refusal does.
func (s *session) transmit(act func(*master), lost Fault, late time.Duration, answered func()) {
	l, w := s.l, s.l.w
	m := s.stream.m
	if w.dice(lost) {
		l.soon(w.between(10*time.Millisecond, 10*time.Second), func() { s.end("a call had no answer", false) })
		if w.rng.IntN(2) == 0 {
			return // it never arrives; otherwise it does, whatever the caller believes
		}
		late += w.between(0, 2*time.Second)
	}
	w.after(w.latency()+late, func() {
		if w.master != m {
			l.soon(w.latency(), func() { s.end("the master is gone", false) })
			return
		}
		if m.stream != s.stream {
			w.count(CallOnOldStream)
			l.soon(w.latency(), func() { s.end("the stream is not the present one", false) })
			return
		}
		act(m)
		w.after(w.latency(), func() { l.run(answered) })
	})
}

func (s *session) accept(c scheduler.CallAccept) {
	w := s.l.w
	var late time.Duration
	if w.dice(AcceptLate) {
		late = w.between(50*time.Millisecond, 4*time.Second)
	}
	answer := func() {
		if !s.over {
			s.l.put(scheduler.AcceptAnswered{Session: s.number, Seq: c.Seq, OK: true})
		}
	}
	if w.dice(AcceptAnsweredLate) {
		on := answer
		answer = func() { s.l.soon(w.between(50*time.Millisecond, 6*time.Second), on) }
	}
	s.transmit(func(m *master) { m.accept(c.Accept) }, AcceptLost, late, answer)
}

// subscribe opens a session.
func (l *leader) subscribe(c scheduler.CallSubscribe) {
	w := l.w
	s := &session{l: l, number: c.Session}
	s.stream = &stream{w: w, sess: s}
	failed := func(why string, removed bool) {
		l.put(scheduler.SessionEnded{Session: c.Session, Reason: why, Removed: removed})
	}
	if w.dice(SubscribeFails) {
		l.soon(w.between(time.Millisecond, 10*time.Second), func() { failed("no connection", false) })
		return
	}
	w.after(w.latency(), func() {
		m := w.master
		if w.removed[c.FrameworkID] {
			l.soon(w.latency(), func() { failed("Framework has been removed", true) })
			return
		}
		w.streams++
		s.stream.m, s.stream.id, s.stream.open = m, w.streams, true
		s.stream.dead = l.dead
		if !l.dead {
			l.session = s
		}
		m.subscribe(s.stream, c.FrameworkID)
		if l.dead {
			s.stream.cutOff() // its process died while the call was on its way
		}
	})
}

// deliver passes on what the stream told.
func (s *session) deliver(e cluster.Event) {
	if s.over {
		return
	}
	switch e := e.(type) {
	case cluster.Subscribed:
		s.l.put(scheduler.SessionBegan{Session: s.number, MasterID: e.MasterID})
	case cluster.FrameworkError:
		s.end(e.Message, e.Removed)
	default:
		s.l.put(scheduler.Told{Session: s.number, Event: e})
	}
}

// end closes the session.
func (s *session) end(why string, removed bool) {
	if s.over {
		return
	}
	s.over = true
	l := s.l
	if l.session == s {
		l.session = nil
	}
	if l.w.trace.on() {
		l.w.trace.add("leader %d: session %d ends: %s", l.no, s.number, why)
	}
	s.stream.cutOff()
	l.put(scheduler.SessionEnded{Session: s.number, Reason: why, Removed: removed})
}

// stream is the connection on which the master tells events, in order.
type stream struct {
	w    *world
	m    *master
	sess *session
	id   int64
	open bool // the master's side
	dead bool // nothing arrives any more
	last time.Duration
}

func (s *stream) tell(e cluster.Event) {
	if !s.open {
		return
	}
	at := max(s.last, s.w.now+s.w.latency())
	s.last = at
	s.w.after(at-s.w.now, func() {
		if s.dead {
			return
		}
		s.sess.l.run(func() { s.sess.deliver(e) })
	})
}

// cutOff breaks the connection from the leader's side; the master notices a
// little later.
func (s *stream) cutOff() {
	s.dead = true
	s.w.after(s.w.latency(), func() { s.m.lost(s) })
}

// breaks is a connection that breaks: both sides notice in their time.
func (s *stream) breaks(why string) {
	s.dead = true
	s.sess.l.soon(s.w.latency(), func() { s.sess.end(why, false) })
	s.w.after(s.w.latency(), func() { s.m.lost(s) })
}

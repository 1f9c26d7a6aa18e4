package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// session is one subscription as the shell sees it.
type session struct {
	l             *leader
	number        int64
	stream        *stream
	flow, command callQueue
	accepts       map[string]*callQueue // by agent
	acks          [4]callQueue
	nextAck       int
	ended         bool
	// arrived is the last ACCEPT of each agent that the master got.
	arrived map[string]int64
}

// callQueue is a queue of calls of which one is under way.
type callQueue struct {
	queue []func(answered func())
	busy  bool
}

func (l *leader) send(call core.Call) {
	w := l.w
	if w.trace.on() {
		w.trace.add("leader %d calls %s", l.no, showCall(call))
	}
	if c, ok := call.(core.CallSubscribe); ok {
		l.subscribe(c)
		return
	}
	s := l.session
	if s == nil {
		return
	}
	switch c := call.(type) {
	case core.CallAccept:
		s.accept(c)
	case core.CallDecline:
		s.enqueue(&s.flow, func(m *master) { m.decline(c.Offers, c.Refuse) })
	case core.CallRevive:
		s.enqueue(&s.flow, func(m *master) { m.revive() })
	case core.CallSuppress:
		s.enqueue(&s.flow, func(m *master) { m.suppressed = true })
	case core.CallKill:
		s.enqueue(&s.command, func(m *master) { m.kill(c.Kill) })
	case core.CallShutdown:
		s.enqueue(&s.command, func(m *master) { m.shutdown(c.ExecutorID, c.AgentID) })
	case core.CallReconcile:
		s.enqueue(&s.command, func(m *master) { m.reconcile(c.Tasks) })
	case core.CallAcknowledge:
		s.nextAck = (s.nextAck + 1) % len(s.acks)
		s.enqueue(&s.acks[s.nextAck], func(m *master) { m.acknowledge(c.Ack) })
	}
}

func (s *session) enqueue(q *callQueue, act func(*master)) {
	s.enqueueCall(q, func(answered func()) { s.transmit(act, CallLost, 0, answered) })
}

func (s *session) enqueueCall(q *callQueue, call func(answered func())) {
	q.queue = append(q.queue, call)
	if !q.busy {
		s.drive(q)
	}
}

func (s *session) drive(q *callQueue) {
	if len(q.queue) == 0 || s.ended {
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
	if s.stream.silent {
		return // no answer, and nothing arrives, until the heartbeats are missed
	}
	late += max(s.stream.slowUntil-w.now, 0)
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

// accept sends an ACCEPT when the one before for the same agent was answered (rule L3).
func (s *session) accept(c core.CallAccept) {
	q := s.accepts[c.Accept.AgentID]
	if q == nil {
		q = &callQueue{}
		s.accepts[c.Accept.AgentID] = q
	}
	s.enqueueCall(q, func(answered func()) { s.transmitAccept(c, answered) })
}

func (s *session) transmitAccept(c core.CallAccept, answered func()) {
	w := s.l.w
	var late time.Duration
	if w.dice(AcceptLate) {
		late = w.between(50*time.Millisecond, 4*time.Second)
	}
	answer := func() {
		if !s.ended {
			s.l.put(core.AcceptAnswered{Session: s.number, Seq: c.Seq, OK: true})
			answered()
		}
	}
	if w.dice(AcceptAnsweredLate) {
		on := answer
		answer = func() { s.l.soon(w.between(50*time.Millisecond, 6*time.Second), on) }
	}
	s.transmit(func(m *master) {
		if last := s.arrived[c.Accept.AgentID]; c.Seq < last {
			w.fail("L3 ACCEPTs for one agent keep their order", "%d on %s arrives after %d", c.Seq, c.Accept.AgentID, last)
		}
		s.arrived[c.Accept.AgentID] = c.Seq
		m.accept(c.Accept)
	}, AcceptLost, late, answer)
}

// subscribe opens a session.
func (l *leader) subscribe(c core.CallSubscribe) {
	w := l.w
	s := &session{l: l, number: c.Session, accepts: map[string]*callQueue{}, arrived: map[string]int64{}}
	s.stream = &stream{w: w, sess: s}
	failed := func(why string, removed bool) {
		l.put(core.SessionEnded{Session: c.Session, Reason: why, Removed: removed})
	}
	if w.dice(SubscribeFails) {
		l.soon(w.between(time.Millisecond, 10*time.Second), func() { failed("no connection", false) })
		return
	}
	w.after(w.latency(), func() {
		m := w.master
		if w.removed[c.FrameworkID] {
			m.removeAgain()
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

// deliver passes on what the stream delivered.
func (s *session) deliver(e cluster.Event) {
	if s.ended {
		return
	}
	switch e := e.(type) {
	case cluster.Subscribed:
		s.l.put(core.SessionBegan{Session: s.number, MasterID: e.MasterID})
	case cluster.FrameworkError:
		s.end(e.Message, e.Removed)
	default:
		s.l.put(core.ClusterEvent{Session: s.number, Event: e})
	}
}

// end closes the session.
func (s *session) end(why string, removed bool) {
	if s.ended {
		return
	}
	s.ended = true
	l := s.l
	if l.session == s {
		l.session = nil
	}
	if l.w.trace.on() {
		l.w.trace.add("leader %d: session %d ends: %s", l.no, s.number, why)
	}
	s.stream.cutOff()
	l.put(core.SessionEnded{Session: s.number, Reason: why, Removed: removed})
	if w := l.w; w.cfg.Seed%2 == 0 { // ZooKeeper says who leads, and is looked at
		w.after(time.Second, func() {
			if !l.dead {
				l.put(core.MasterChanged{Session: s.number})
			}
		})
	}
}

// stream is the connection on which the master sends events, in order.
type stream struct {
	w    *world
	m    *master
	sess *session
	id   int64
	open bool // the master's side
	dead bool // nothing arrives any more
	last time.Duration

	silent    bool          // nothing passes, and neither side knows
	slowUntil time.Duration // what passes arrives then
}

func (s *stream) send(e cluster.Event) {
	if !s.open {
		return
	}
	at := max(s.last, s.w.now+s.w.latency(), s.slowUntil)
	s.last = at
	s.w.after(at-s.w.now, func() {
		if s.dead || s.silent {
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

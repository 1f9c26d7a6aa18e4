package sim

import (
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// session is the leader's side of one subscription.
type session struct {
	l      *leader
	number int64
	stream *stream
	ended  bool
	// arrived is the last ACCEPT for each agent that the master has received.
	arrived map[string]int64
}

// callTimeout is how long a leader waits for the answer to a call.
const callTimeout = 10 * time.Second

// send sends a call. The call or its answer may be lost, and the master may refuse it.
func (l *leader) send(c term.Call) {
	w := l.w
	w.trace.add("leader %d calls %s", l.no, shown{c.Call})
	answered := false
	answer := func(after time.Duration, err error) {
		l.soon(after, func() {
			if answered {
				return
			}
			answered = true
			w.check.callAnswered(l, c)
			l.input(func(m *term.Machine) { m.Called(c.ID, err) })
		})
	}
	s := l.session
	if s == nil || s.ended || s.number != c.Session {
		answer(0, errors.New("the session has ended"))
		return
	}
	if w.cfg.Bug == AnswersCallsItself {
		answer(0, nil)
	}
	late := max(s.stream.slowUntil-w.now, 0)
	answerLate := time.Duration(0)
	lost := CallLost
	if _, isAccept := c.Call.(step.CallLaunch); isAccept {
		lost = AcceptLost
		if w.roll(AcceptLate) {
			late += w.between(50*time.Millisecond, 4*time.Second)
		}
		if w.roll(AcceptAnsweredLate) {
			answerLate = w.between(50*time.Millisecond, 6*time.Second)
		}
	} else if w.roll(CallAnsweredLate) {
		answerLate = w.between(50*time.Millisecond, 12*time.Second)
	}
	if s.stream.silent {
		answer(callTimeout, errors.New("no answer"))
		return // nothing arrives
	}
	if w.roll(lost) {
		answer(w.between(10*time.Millisecond, callTimeout), errors.New("the connection broke"))
		if w.rng.IntN(2) == 0 {
			return // the call never arrives; otherwise it does, whatever the caller believes
		}
		late += w.between(0, 2*time.Second)
	}
	late += w.latency()
	if late+answerLate > callTimeout-time.Second {
		answer(callTimeout, errors.New("no answer"))
	}
	m := s.stream.m
	w.after(late, func() {
		switch {
		case w.platform() != m:
			answer(w.latency(), errors.New("the master is gone"))
		case m.isVoid(s.stream):
			w.count(CallOnOldStream)
			answer(w.latency(), &cluster.Refused{Status: 403, Message: "the stream is not the present one"})
		case w.roll(CallRefused):
			answer(w.latency(), &cluster.Refused{Status: 503, Message: "not now"})
		default:
			m.receive(s, c.Call, func(err error) { answer(w.latency()+answerLate, err) })
		}
	})
}

// receive handles a call in the master.
func (m *master) receive(s *session, call step.Call, done func(error)) {
	defer done(nil)
	switch c := call.(type) {
	case step.CallLaunch:
		if last := s.arrived[c.Launch.AgentID]; c.Seq < last {
			s.l.w.fail("L3 ACCEPTs for one agent keep their order", "%d on %s arrives after %d", c.Seq,
				c.Launch.AgentID, last)
		}
		s.arrived[c.Launch.AgentID] = c.Seq
		m.accept(c.Launch)
	case step.CallDecline:
		m.decline(c.Offers, c.Refuse)
	case step.CallRevive:
		m.revive()
	case step.CallSuppress:
		m.suppressed = true
	case step.CallKill:
		m.kill(c.Kill)
	case step.CallShutdown:
		m.shutdown(c.ExecutorID, c.AgentID)
	case step.CallReconcile:
		m.reconcile(c.Tasks)
	case step.CallAcknowledge:
		m.acknowledge(c.Ack)
	}
}

// subscribe opens a session.
func (l *leader) subscribe(c term.Subscribe) {
	w := l.w
	w.trace.add("leader %d calls SUBSCRIBE %d as %s", l.no, c.Session, c.FrameworkID)
	failed := func(after time.Duration, err error) {
		l.soon(after, func() { l.input(func(m *term.Machine) { m.SessionEnded(c.Session, err) }) })
	}
	switch {
	case w.now < w.refusesUntil:
		failed(w.latency(), &cluster.Refused{Status: 401, Message: "who are you"})
		return
	case w.now < w.awayUntil || w.roll(SubscribeFails):
		failed(w.between(time.Millisecond, 10*time.Second), errors.New("no connection"))
		return
	}
	s := &session{l: l, number: c.Session, arrived: map[string]int64{}}
	s.stream = &stream{w: w, sess: s}
	w.after(w.latency(), func() {
		m := w.platform()
		if w.removed[c.FrameworkID] != nil {
			w.master.repeatRemoval()
			failed(w.latency(), cluster.FrameworkError{Message: "Framework has been removed", Removed: true})
			return
		}
		s.stream.m, s.stream.open = m, true
		s.stream.dead = l.dead
		if !l.dead {
			l.session = s
			l.input(func(m *term.Machine) { m.Opened(c.Session) })
		}
		m.subscribe(s.stream, c.FrameworkID)
		if l.dead {
			s.stream.cut() // its process died while the call was on its way
		}
	})
}

// deliver passes an event of the stream to the leader.
func (s *session) deliver(e cluster.Event) {
	if s.ended {
		return
	}
	s.l.input(func(m *term.Machine) { m.ClusterEvent(s.number, e) })
	if e, ok := e.(cluster.FrameworkError); ok {
		s.end(e.Message, e.Removed)
	}
}

// end closes the session.
func (s *session) end(why string, removed bool) {
	if s.ended {
		return
	}
	s.ended = true
	l := s.l
	w := l.w
	if l.session == s {
		l.session = nil
	}
	w.trace.add("leader %d: session %d ends: %s", l.no, s.number, why)
	s.stream.cut()
	l.input(func(m *term.Machine) {
		w.check.sessionEnded(l, s.number)
		m.SessionEnded(s.number, cluster.FrameworkError{Message: why, Removed: removed})
	})
}

// stream is the connection on which the master sends events, in order.
type stream struct {
	w    *world
	m    platform
	sess *session
	open bool          // as the master sees it
	dead bool          // no event arrives any more
	last time.Duration // when the last event arrives

	silent    bool          // events are lost, and neither side notices
	slowUntil time.Duration // events and calls do not arrive before that time
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

// cut breaks the connection from the leader's side; the master notices a little later.
func (s *stream) cut() {
	s.dead = true
	s.w.after(s.w.latency(), func() { s.m.lost(s) })
}

// fail breaks the connection: both sides notice after a delay.
func (s *stream) fail(why string) {
	s.dead = true
	s.sess.l.soon(s.w.latency(), func() { s.sess.end(why, false) })
	s.w.after(s.w.latency(), func() { s.m.lost(s) })
}

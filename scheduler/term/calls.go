package term

import (
	"errors"
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// calls are the calls to the cluster. Calls of one queue keep their order, because each is sent after the answer to
// the previous one. The ACCEPTs for one agent are in one queue. Otherwise a later ACCEPT could arrive first, its
// executor could end, and the earlier ACCEPT would start that executor again without a record of it. A call whose
// outcome is unknown ends the session; a new subscription and a reconciliation show the outcome (rule L3).
type calls struct {
	current  *sessionQueues     // nil while there is no session
	inFlight map[int64]sentCall // the unanswered calls, by Call.ID
	lastCall int64              // the ID of the last call
}

// sessionQueues are the call queues of one session. They end with it, and their waiting calls are dropped.
type sessionQueues struct {
	session int64
	flow    callQueue             // DECLINE, REVIVE, SUPPRESS
	command callQueue             // KILL, SHUTDOWN, RECONCILE
	accepts map[string]*callQueue // by agent; only those with an unanswered ACCEPT
	acks    [ackQueues]callQueue
	nextAck int
}

// ackQueues is how many acknowledgements are sent at once. Their order does not matter.
const ackQueues = 4

// callQueue has calls that are sent one after the other.
type callQueue struct {
	waiting []step.Call
	busy    bool // a call of the queue is unanswered
}

// sentCall is an unanswered call, with the queue from which it was taken.
type sentCall struct {
	queues *sessionQueues
	queue  *callQueue
	call   step.Call
}

// queueOf returns the queue of a call.
func (s *sessionQueues) queueOf(call step.Call) *callQueue {
	switch c := call.(type) {
	case step.CallLaunch:
		q := s.accepts[c.Launch.AgentID]
		if q == nil {
			q = &callQueue{}
			s.accepts[c.Launch.AgentID] = q
		}
		return q
	case step.CallAcknowledge:
		s.nextAck = (s.nextAck + 1) % ackQueues
		return &s.acks[s.nextAck]
	case step.CallKill, step.CallShutdown, step.CallReconcile:
		return &s.command
	default:
		return &s.flow
	}
}

// call adds a call to its queue. Without a session it drops the call: the core learns that the session has ended.
func (m *Machine) call(call step.Call) {
	if c, ok := call.(step.CallSubscribe); ok {
		m.subscribe(c)
		return
	}
	if s := m.current; s != nil {
		q := s.queueOf(call)
		q.waiting = append(q.waiting, call)
		m.startNext(s, q)
	}
}

// startNext sends the next call of a queue, unless one is unanswered.
func (m *Machine) startNext(s *sessionQueues, q *callQueue) {
	if q.busy || len(q.waiting) == 0 {
		return
	}
	call := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.busy = true
	m.lastCall++
	m.inFlight[m.lastCall] = sentCall{s, q, call}
	m.emit(Call{ID: m.lastCall, Session: s.session, Call: call})
}

// Called answers a Call: nil if the cluster has accepted it. Any error ends the session.
func (m *Machine) Called(id int64, err error) {
	sent, found := m.inFlight[id]
	if !found {
		return
	}
	delete(m.inFlight, id)
	s := sent.queues
	accept, isAccept := sent.call.(step.CallLaunch)
	if isAccept {
		m.acceptAnswered(s.session, accept.Seq, err)
	}
	switch {
	case m.current != s: // the session of the call has ended
	case err != nil:
		m.drop()
		m.emit(Log{Problem: true, Message: "call to the cluster failed; subscribing again",
			Attrs: []any{"error", err}})
		m.emit(CloseSession{s.session})
	default:
		sent.queue.busy = false
		m.startNext(s, sent.queue)
		if isAccept && !sent.queue.busy {
			delete(s.accepts, accept.Launch.AgentID)
		}
	}
}

// acceptAnswered reports the outcome of an ACCEPT to the core, if it is known.
func (m *Machine) acceptAnswered(session, seq int64, err error) {
	var refused *cluster.Refused
	switch {
	case err == nil:
		m.event(core.LaunchAnswered{Session: session, Seq: seq, OK: true})
	case errors.As(err, &refused):
		m.event(core.LaunchAnswered{Session: session, Seq: seq, Message: refused.Message})
	}
}

// drop ends the present session for all calls: it drops waiting calls, and those that the next Ready would return.
func (m *Machine) drop() {
	m.current = nil
	m.subscribed = false
	m.effects = slices.DeleteFunc(m.effects, func(e Effect) bool {
		call, isCall := e.(Call)
		if isCall {
			delete(m.inFlight, call.ID)
		}
		return isCall
	})
}

package term

import (
	"errors"
	"slices"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// calls are the calls to the cluster. Calls of one queue keep their order, because each is sent after the answer to the
// previous one. The ACCEPTs for each agent have their own queue. Otherwise a later ACCEPT could arrive first, its
// executor could end, and the earlier ACCEPT would start that executor again without a record of it. A call whose
// outcome is unknown ends the session; a new subscription and a reconciliation find the outcome (rule L3).
type calls struct {
	current  *sessionQueues // nil while there is no session
	inFlight map[int64]sentCall
	lastCall int64
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

// ackQueues is how many acknowledgements are sent at once; their order does not matter.
const ackQueues = 4

type callQueue struct {
	waiting []step.Call
	busy    bool // a call of the queue is unanswered
}

type sentCall struct {
	of    *sessionQueues
	queue *callQueue
	call  step.Call
}

func (p *sessionQueues) queueOf(call step.Call) *callQueue {
	switch c := call.(type) {
	case step.CallLaunch:
		q := p.accepts[c.Launch.AgentID]
		if q == nil {
			q = &callQueue{}
			p.accepts[c.Launch.AgentID] = q
		}
		return q
	case step.CallAcknowledge:
		p.nextAck = (p.nextAck + 1) % ackQueues
		return &p.acks[p.nextAck]
	case step.CallKill, step.CallShutdown, step.CallReconcile:
		return &p.command
	default:
		return &p.flow
	}
}

// call adds a call to its queue. Without a session it drops the call, because the core is told of the session's end.
func (m *Machine) call(call step.Call) {
	if c, ok := call.(step.CallSubscribe); ok {
		m.subscribe(c)
		return
	}
	if p := m.current; p != nil {
		q := p.queueOf(call)
		q.waiting = append(q.waiting, call)
		m.startNext(p, q)
	}
}

func (m *Machine) startNext(p *sessionQueues, q *callQueue) {
	if q.busy || len(q.waiting) == 0 {
		return
	}
	call := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.busy = true
	m.lastCall++
	m.inFlight[m.lastCall] = sentCall{p, q, call}
	m.emit(Call{ID: m.lastCall, Session: p.session, Call: call})
}

// Called answers a Call: nil if the cluster has accepted it. Any error ends the session.
func (m *Machine) Called(id int64, err error) {
	sent, known := m.inFlight[id]
	if !known {
		return
	}
	delete(m.inFlight, id)
	p := sent.of
	accept, isAccept := sent.call.(step.CallLaunch)
	if isAccept {
		m.acceptAnswered(p.session, accept.Seq, err)
	}
	switch {
	case m.current != p:
	case err != nil:
		m.drop()
		m.emit(Log{Problem: true, Message: "call to the cluster failed; subscribing again",
			Attrs: []any{"error", err}})
		m.emit(CloseSession{p.session})
	default:
		sent.queue.busy = false
		m.startNext(p, sent.queue)
		if isAccept && !sent.queue.busy {
			delete(p.accepts, accept.Launch.AgentID)
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

// drop ends the present session for all calls: waiting calls are dropped, and so are those that were about to leave.
func (m *Machine) drop() {
	m.current = nil
	m.subscribed = false
	m.effects = slices.DeleteFunc(m.effects, func(e Effect) bool {
		call, is := e.(Call)
		if is {
			delete(m.inFlight, call.ID)
		}
		return is
	})
}

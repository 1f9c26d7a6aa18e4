package sim

import (
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// outgoing is the state of the checks about the effects of a leader.
type outgoing struct {
	deciding   bool            // the last decision is not committed
	committing bool            // a commit is unanswered
	ended      bool            // the leader knows that its term has ended
	closed     int64           // the last session that it has closed, or knows to have ended
	underWay   map[string]bool // the call queues with an unanswered call
	acks       int             // the number of unanswered acknowledgements

	telling map[string]bool          // the jobs with an unanswered notification
	told    map[string]time.Duration // by job: when the leader last learned that people were notified

	// These are about the messages to the one address of all jobs.
	messages    int           // the number of messages so far
	lastMessage time.Duration // when the last one left
	addressBusy bool          // the last one is unanswered
}

// acksAtOnce is the maximum number of unanswered acknowledgements.
const acksAtOnce = 4

// queueOf returns the queue of a call. A call of a queue leaves only after the one before it was answered. queueOf
// returns "" for an acknowledgement, which is in no queue.
func queueOf(call step.Call) string {
	switch c := call.(type) {
	case step.CallLaunch:
		return "ACCEPT on " + c.Launch.AgentID
	case step.CallKill, step.CallShutdown, step.CallReconcile:
		return "commands"
	case step.CallAcknowledge:
		return ""
	}
	return "flow"
}

// effect checks an effect of a leader.
func (c *checker) effect(l *leader, e term.Effect) {
	out := &l.out
	switch e := e.(type) {
	case term.Decided:
		out.deciding = len(e.Decision.Writes) > 0 || e.Decision.Fenced
	case term.Commit:
		if out.committing {
			c.w.fail("T2 one commit is under way at a time", "leader %d begins another", l.no)
		}
		out.committing = true
	case term.CloseSession:
		c.sessionEnded(l, e.Session)
	case term.Subscribe:
		if out.ended {
			c.w.fail("T2 nothing leaves after the end of the term", "leader %d subscribes", l.no)
		}
	case term.Notify:
		if out.ended || out.deciding {
			c.w.fail("T2 nobody is told by a leader whose term has ended, or of what is not committed",
				"leader %d tells of %s", l.no, e.Job.JobName)
		}
	case term.Answer:
		if e.Err == nil && out.deciding {
			c.w.fail("write, then act", "leader %d answers request %d before the commit", l.no, e.Token)
		}
		if e.Token > l.token || l.asks[e.Token] == nil {
			c.w.fail("a request is answered once", "leader %d answers request %d again", l.no, e.Token)
		}
	case term.Call:
		c.checkCall(l, e)
	}
}

func (c *checker) checkCall(l *leader, call term.Call) {
	out, queue := &l.out, queueOf(call.Call)
	switch {
	case out.ended:
		c.w.fail("T2 nothing leaves after the end of the term", "leader %d calls %s", l.no, shown{call.Call})
	case call.Session <= out.closed:
		c.w.fail("L3 nothing leaves in a session that has ended", "leader %d calls %s in session %d", l.no,
			shown{call.Call}, call.Session)
	case queue == "":
		if out.acks++; out.acks > acksAtOnce {
			c.w.fail("few acknowledgements are under way at once", "leader %d sends %d", l.no, out.acks)
		}
	case out.underWay[queue]:
		c.w.fail("L3 a call leaves after the one before it was answered", "leader %d calls %s", l.no, shown{call.Call})
	default:
		out.underWay[queue] = true
	}
	if launch, is := call.Call.(step.CallLaunch); is {
		c.checkTokens(l, launch)
	}
	c.recordCall(l, call.Call)
}

// lastToken is the fencing token of a shard's last launch, and the term of the leader that launched it.
type lastToken struct{ term, token int64 }

// checkTokens checks the fencing tokens of a launch that leaves: they are greater than those of all earlier terms and
// launches. A launch of a leader that was frozen may leave after those of its successors. Its tokens are then less than
// theirs.
func (c *checker) checkTokens(l *leader, launch step.CallLaunch) {
	for i := range launch.Launch.Tasks {
		t := &launch.Launch.Tasks[i].Task
		shard := shardOf{t.JobName, t.Item}
		last := c.tokens[shard]
		late := l.term < last.term
		if late != (t.FencingToken < last.token) || t.FencingToken == last.token || t.FencingToken >= 1<<53 {
			c.w.fail("K6 the fencing tokens of a shard grow", "%s has %d in term %d after %d in term %d", t.TaskID,
				t.FencingToken, l.term, last.token, last.term)
		}
		if !late {
			c.tokens[shard] = lastToken{l.term, t.FencingToken}
		}
	}
}

// callAnswered records that the leader gets the answer to a call.
func (c *checker) callAnswered(l *leader, call term.Call) {
	switch queue := queueOf(call.Call); {
	case call.Session <= l.out.closed: // the queues have ended with the session
	case queue == "":
		l.out.acks--
	default:
		delete(l.out.underWay, queue)
	}
}

// sessionEnded records that a leader closes a session, or learns that it has ended.
func (c *checker) sessionEnded(l *leader, session int64) {
	if session > l.out.closed {
		l.out.closed = session
		clear(l.out.underWay)
		l.out.acks = 0
	}
}

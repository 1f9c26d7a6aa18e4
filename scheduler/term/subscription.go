package term

import (
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// ErrRefused is wrapped by the error of a term that ended because the cluster has only refused this scheduler for
// Options.RefusedTimeout.
var ErrRefused = errors.New("the cluster has refused this server")

// ErrUnsubscribed is wrapped by the error of a term that ended because there was no subscription for
// unsubscribedTimeout, and a standby may have one.
var ErrUnsubscribed = errors.New("there was no subscription to the cluster")

// subscription is the state of the attempts to subscribe. There is at most one attempt at a time.
type subscription struct {
	opened     int64  // the last session that was opened
	subscribed bool   // the cluster's events arrive
	outage     string // see Outage
	// framework is the ERROR event that ends the last session; zero if there was none.
	framework cluster.FrameworkError
	// refused holds while SUBSCRIBE is only refused, unsubscribed while there is no session for any reason.
	// unsubscribedBy is the last reason.
	refused, unsubscribed condition
	unsubscribedBy        error
}

// condition is the time since which a condition holds. The zero value means that it does not hold.
type condition struct {
	at    time.Duration
	holds bool
}

// lasted returns for how long the condition has held. If it did not hold, it holds from now on.
func (c *condition) lasted(now time.Duration) time.Duration {
	if !c.holds {
		*c = condition{now, true}
	}
	return now - c.at
}

// Subscribed reports whether the cluster's events arrive: the present session has its SUBSCRIBED.
func (m *Machine) Subscribed() bool { return m.subscribed }

// Outage returns why the last session ended or could not begin, "" before that.
func (m *Machine) Outage() string { return m.outage }

// subscribe emits Subscribe, unless another leader may have begun.
func (m *Machine) subscribe(c step.CallSubscribe) {
	if !m.lost {
		m.emit(Subscribe{Session: c.Session, FrameworkID: c.FrameworkID})
	}
}

// Opened reports that Subscribe has opened a session.
func (m *Machine) Opened(session int64) {
	m.refused, m.framework = condition{}, cluster.FrameworkError{}
	m.opened = session
	if !m.lost {
		m.current = &sessionQueues{session: session, accepts: map[string]*callQueue{}}
	}
}

// ClusterEvent reports an event of a session, in the session's order.
func (m *Machine) ClusterEvent(session int64, e cluster.Event) {
	switch e := e.(type) {
	case cluster.Subscribed:
		m.unsubscribed = condition{}
		m.subscribed = m.current != nil && m.current.session == session
		m.event(core.SessionBegan{Session: session, MasterID: e.MasterID})
	case cluster.FrameworkError:
		m.framework = e
	case cluster.Heartbeat:
	default:
		m.event(core.ClusterEvent{Session: session, Event: e})
	}
}

// SessionEnded reports that a session has ended, after all of its events, or that Subscribe could not open it. err
// says why.
func (m *Machine) SessionEnded(session int64, err error) {
	ended := core.SessionEnded{Session: session, Reason: m.framework.Message, Removed: m.framework.Removed}
	if m.opened != session || ended.Reason == "" {
		ended.Removed = meansRemoved(err)
		if err != nil {
			ended.Reason = err.Error()
		}
	}
	if m.opened != session {
		m.countRefusal(err)
		m.countOutage(err)
	}
	if m.current != nil && m.current.session == session {
		m.drop()
	}
	m.outage = ended.Reason
	m.event(ended)
	if !m.lost {
		m.emit(WatchMaster{session})
	}
}

// MasterChanged reports that another master leads than the one that was tried last.
func (m *Machine) MasterChanged(session int64) { m.event(core.MasterChanged{Session: session}) }

// countRefusal records whether the cluster has refused this framework again. It abdicates if the cluster has done only
// that for Options.RefusedTimeout, because another scheduler may be accepted.
func (m *Machine) countRefusal(err error) {
	var refused *cluster.Refused
	limit := m.opt.RefusedTimeout
	if limit == 0 || !errors.As(err, &refused) || refused.Status < 400 || refused.Status > 499 || meansRemoved(err) {
		m.refused = condition{}
		return
	}
	if lasted := m.refused.lasted(m.now.Elapsed); lasted >= limit {
		m.abdicate(fmt.Errorf("%w for %s, and this server abdicates for another one: %w; change that, then start this server again",
			ErrRefused, lasted.Round(time.Second), err))
	}
}

// unsubscribedTimeout is how long a leader without a session keeps the leadership if there is a standby, which may
// reach the cluster from its host.
const unsubscribedTimeout = 3 * time.Minute

// countOutage records that a session could not be opened. After unsubscribedTimeout it asks for a standby, in whose
// favor this leader abdicates (StandbyWaits). Without one the leader stays, because it still answers requests.
func (m *Machine) countOutage(err error) {
	lasted := m.unsubscribed.lasted(m.now.Elapsed)
	m.unsubscribedBy = err
	if lasted >= unsubscribedTimeout && !meansRemoved(err) && !m.lost {
		m.emit(AskStandby{})
	}
}

// StandbyWaits answers AskStandby if there is a standby.
func (m *Machine) StandbyWaits() {
	if m.unsubscribed.holds {
		lasted := m.unsubscribed.lasted(m.now.Elapsed)
		m.abdicate(fmt.Errorf("%w for %s, and this server abdicates for a standby: %w", ErrUnsubscribed,
			lasted.Round(time.Second), m.unsubscribedBy))
	}
}

// meansRemoved reports whether the error of a failed subscription means that the framework id was removed.
func meansRemoved(err error) bool {
	var fe cluster.FrameworkError
	return errors.As(err, &fe) && fe.Removed
}

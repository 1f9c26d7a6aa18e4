package term

import (
	"errors"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// ErrRefused is wrapped by the error of a term that ended because the cluster only refused this scheduler for
// Options.RefusedTimeout.
var ErrRefused = errors.New("the cluster has refused this server")

// ErrUnsubscribed is wrapped by the error of a term that ended in favor of a standby, because there was no
// subscription for long.
var ErrUnsubscribed = errors.New("there was no subscription to the cluster")

// subscription is the state of the attempts to subscribe, of which there is one at a time.
type subscription struct {
	opened     int64 // the last session that was open
	subscribed bool  // the cluster's events come in
	outage     string
	// framework is the ERROR event that ended the session, if one did.
	framework cluster.FrameworkError
	// The times since when SUBSCRIBE has only been refused, and since when there has been no session for any reason.
	refused, unsubscribed since
	unsubscribedBy        error
}

// since is a time of the term, or none.
type since struct {
	at  time.Duration
	set bool
}

// lasts returns how long the condition has lasted; its first call sets the beginning.
func (s *since) lasts(now time.Duration) time.Duration {
	if !s.set {
		*s = since{now, true}
	}
	return now - s.at
}

// Subscribed reports whether the cluster's events come in.
func (m *Machine) Subscribed() bool { return m.subscribed }

// Outage returns why the last session ended or could not begin, "" before that.
func (m *Machine) Outage() string { return m.outage }

func (m *Machine) subscribe(c step.CallSubscribe) {
	if !m.lost {
		m.emit(Subscribe{Session: c.Session, FrameworkID: c.FrameworkID})
	}
}

// Opened reports that Subscribe has opened a session.
func (m *Machine) Opened(session int64) {
	m.refused, m.framework = since{}, cluster.FrameworkError{}
	m.opened = session
	if !m.lost {
		m.current = &sessionQueues{session: session, accepts: map[string]*callQueue{}}
	}
}

// ClusterEvent reports an event of a session, in the session's order.
func (m *Machine) ClusterEvent(session int64, e cluster.Event) {
	switch e := e.(type) {
	case cluster.Subscribed:
		m.unsubscribed = since{}
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
		ended.Removed = removed(err)
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

// countRefusal abdicates when the cluster has only refused this framework for too long, because another scheduler may
// be accepted.
func (m *Machine) countRefusal(err error) {
	var refused *cluster.Refused
	limit := m.opt.RefusedTimeout
	if limit == 0 || !errors.As(err, &refused) || refused.Status < 400 || refused.Status > 499 || removed(err) {
		m.refused = since{}
		return
	}
	if lasts := m.refused.lasts(m.now.Elapsed); lasts >= limit {
		m.abdicate(fmt.Errorf("%w for %s, and this server abdicates for another one: %w; change that, then start this server again",
			ErrRefused, lasts.Round(time.Second), err))
	}
}

// unsubscribedTimeout is how long a leader without a session keeps the leadership although there is a standby, which
// may reach the cluster from its host.
const unsubscribedTimeout = 3 * time.Minute

// countOutage abdicates after unsubscribedTimeout. Without a standby, or where there can be none, the leader stays,
// because requests are still answered.
func (m *Machine) countOutage(err error) {
	lasts := m.unsubscribed.lasts(m.now.Elapsed)
	m.unsubscribedBy = err
	if lasts >= unsubscribedTimeout && !removed(err) && !m.lost {
		m.emit(AskStandby{})
	}
}

// StandbyWaits answers AskStandby if there is a standby.
func (m *Machine) StandbyWaits() {
	if m.unsubscribed.set {
		lasts := m.unsubscribed.lasts(m.now.Elapsed)
		m.abdicate(fmt.Errorf("%w for %s, and this server abdicates for a standby: %w", ErrUnsubscribed,
			lasts.Round(time.Second), m.unsubscribedBy))
	}
}

// removed reports whether a failed subscription means that the framework id was removed.
func removed(err error) bool {
	var fe cluster.FrameworkError
	return errors.As(err, &fe) && fe.Removed
}

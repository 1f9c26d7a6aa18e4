package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
)

// dispatcher sends calls to the cluster. Calls of one queue keep their order; the ACCEPTs
// for one agent have a queue of their own: if a later one arrived first, and the executor that both name
// ended in between, the earlier one would start it once more, unknown to us. A call whose
// outcome is unknown ends the session: what it meant is sorted out by
// subscribing again and reconciling (rule L3). It ends with the term: what waits
// in them is dropped.
type dispatcher struct {
	r      *termRunner
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	outage atomic.Pointer[string] // why the last session ended or could not begin

	// Since when SUBSCRIBE is only refused, and since when there is no session for whatever reason;
	// else zero. There is one try at a time.
	refusedSince, unsubscribedSince time.Time

	mu             sync.Mutex
	present        *sessionQueues // nil while there is no session
	watchingLeader func()         // ends the look for another master; nil when there is none
	calls          int            // under way or waiting
	idle           chan struct{}  // if not nil, closed when there are none
}

// sessionQueues are the call queues of one session; they end with it.
type sessionQueues struct {
	session cluster.Session
	number  int64
	flow    callQueue             // DECLINE, REVIVE, SUPPRESS
	command callQueue             // KILL, SHUTDOWN, RECONCILE
	accepts map[string]*callQueue // by agent; only those with an ACCEPT under way
	acks    [ackQueues]callQueue
	nextAck int
}

const (
	ackQueues   = 4
	callTimeout = 10 * time.Second
	// flushTime is how long calls that were committed may take to leave when a term is handed over.
	flushTime = 100 * time.Millisecond
)

// callQueue is a queue with at most one goroutine that empties it.
type callQueue struct {
	queue []func(context.Context) error
	busy  bool
	// emptied, if not nil, is called, with the lock held, when nothing is left in it.
	emptied func()
}

func newDispatcher(r *termRunner) *dispatcher {
	ctx, cancel := context.WithCancel(context.Background())
	l := &dispatcher{r: r, ctx: ctx, cancel: cancel}
	l.wg.Go(func() {
		select {
		case <-r.term.Done(): // a deposed leader does nothing more (rule T2)
			cancel()
		case <-ctx.Done():
		}
	})
	return l
}

// send starts a call. It never blocks.
func (l *dispatcher) send(call core.Call) {
	if c, ok := call.(core.CallSubscribe); ok {
		l.wg.Go(func() { l.subscribe(c) })
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.present
	if p == nil || l.ctx.Err() != nil {
		return // the session has ended, which is reported to the core; or the term has
	}
	s := p.session
	switch c := call.(type) {
	case core.CallAccept:
		q := p.accepts[c.Accept.AgentID]
		if q == nil {
			q = &callQueue{emptied: func() { delete(p.accepts, c.Accept.AgentID) }}
			p.accepts[c.Accept.AgentID] = q
		}
		l.enqueue(p, q, func(ctx context.Context) error { return l.accept(ctx, p, c) })
	case core.CallDecline:
		l.enqueue(p, &p.flow, func(ctx context.Context) error { return s.Decline(ctx, c.Offers, c.Refuse) })
	case core.CallRevive:
		l.enqueue(p, &p.flow, s.Revive)
	case core.CallSuppress:
		l.enqueue(p, &p.flow, s.Suppress)
	case core.CallKill:
		l.enqueue(p, &p.command, func(ctx context.Context) error {
			l.r.s.opt.Point(pointBeforeKill)
			return s.Kill(ctx, c.Kill)
		})
	case core.CallShutdown:
		l.enqueue(p, &p.command, func(ctx context.Context) error { return s.Shutdown(ctx, c.ExecutorID, c.AgentID) })
	case core.CallReconcile:
		l.enqueue(p, &p.command, func(ctx context.Context) error { return s.Reconcile(ctx, c.Tasks) })
	case core.CallAcknowledge:
		p.nextAck = (p.nextAck + 1) % ackQueues
		l.enqueue(p, &p.acks[p.nextAck], func(ctx context.Context) error {
			l.r.s.opt.Point(pointBeforeAck)
			err := s.Acknowledge(ctx, c.Ack)
			l.r.s.opt.Point(pointAfterAck)
			return err
		})
	}
}

// enqueue adds a call to a queue; the caller holds the lock.
func (l *dispatcher) enqueue(p *sessionQueues, q *callQueue, call func(context.Context) error) {
	l.calls++
	q.queue = append(q.queue, call)
	if !q.busy {
		q.busy = true
		l.wg.Go(func() { l.drive(p, q) })
	}
}

// drive empties a queue and ends.
func (l *dispatcher) drive(p *sessionQueues, q *callQueue) {
	for {
		l.mu.Lock()
		if len(q.queue) == 0 || l.present != p || l.ctx.Err() != nil {
			l.doneLocked(len(q.queue))
			q.queue, q.busy = nil, false
			if q.emptied != nil {
				q.emptied()
			}
			l.mu.Unlock()
			return
		}
		call := q.queue[0]
		q.queue = q.queue[1:]
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(l.ctx, callTimeout)
		err := call(ctx)
		cancel()
		if err != nil {
			l.failed(p, err)
		}
		l.done(1)
	}
}

func (l *dispatcher) done(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doneLocked(n)
}

func (l *dispatcher) doneLocked(n int) {
	l.calls -= n
	if l.calls == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// flush waits until no call waits or is under way, at most for so long. Nothing may be sent
// any more.
func (l *dispatcher) flush(most time.Duration) {
	l.mu.Lock()
	if l.calls == 0 {
		l.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	l.idle = idle
	l.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(most):
	case <-l.ctx.Done():
	}
}

// failed ends the session after a call that was refused or has no answer.
func (l *dispatcher) failed(p *sessionQueues, err error) {
	if l.drop(p) && l.ctx.Err() == nil {
		l.r.s.opt.Logger.Warn("call to the cluster failed; subscribing again", "error", err)
	}
	l.closeSession(p.session)
}

// drop makes a session no longer the present one, and reports whether it was.
func (l *dispatcher) drop(p *sessionQueues) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.present != p {
		return false
	}
	l.present = nil
	l.r.subscribed.Store(false)
	return true
}

func (l *dispatcher) closeSession(s cluster.Session) {
	if err := s.Close(); err != nil {
		l.r.s.opt.Logger.Debug("close a session", "error", err)
	}
}

// accept sends an ACCEPT and passes its answer on.
func (l *dispatcher) accept(ctx context.Context, p *sessionQueues, c core.CallAccept) error {
	l.r.s.opt.Point(pointBeforeAccept)
	if l.ctx.Err() != nil {
		return l.ctx.Err() // the term has ended; the next leader finds that the call was not sent (rule E1)
	}
	err := p.session.Accept(ctx, c.Accept)
	l.r.s.opt.Point(pointAfterAccept)
	var refused *cluster.Refused
	switch {
	case err == nil:
		l.r.inbox.put(core.AcceptAnswered{Session: p.number, Seq: c.Seq, OK: true})
	case errors.As(err, &refused):
		l.r.inbox.put(core.AcceptAnswered{Session: p.number, Seq: c.Seq, Message: refused.Message})
	}
	return err
}

// subscribe opens a session and forwards its events until it ends.
func (l *dispatcher) subscribe(c core.CallSubscribe) {
	f := l.r.s.opt.Framework
	f.ID = c.FrameworkID
	l.stopWatchingLeader()
	ctx, cancel := context.WithTimeout(l.ctx, callTimeout)
	l.r.s.opt.Point(pointBeforeSubscribe)
	if l.ctx.Err() != nil {
		cancel()
		return
	}
	s, err := l.r.s.opt.Driver.Subscribe(ctx, f)
	cancel()
	l.r.s.opt.Point(pointAfterSubscribe)
	l.countRefusal(err)
	if err != nil {
		l.countOutage(err)
		l.sessionEnded(core.SessionEnded{Session: c.Session, Reason: err.Error(), Removed: removed(err)})
		return
	}
	p := &sessionQueues{session: s, number: c.Session, accepts: map[string]*callQueue{}}
	l.mu.Lock()
	l.present = p
	l.mu.Unlock()
	stop := context.AfterFunc(l.ctx, func() { l.closeSession(s) })
	defer stop()
	ended := core.SessionEnded{Session: c.Session}
	for e := range s.Events() {
		switch e := e.(type) {
		case cluster.Subscribed:
			l.unsubscribedSince = time.Time{}
			l.r.subscribed.Store(true)
			l.r.inbox.put(core.SessionBegan{Session: c.Session, MasterID: e.MasterID})
		case cluster.FrameworkError:
			ended.Reason, ended.Removed = e.Message, e.Removed
		case cluster.Heartbeat:
		default:
			l.r.inbox.put(core.ClusterEvent{Session: c.Session, Event: e})
		}
	}
	l.drop(p)
	if err := s.Err(); err != nil && ended.Reason == "" {
		ended.Reason = err.Error()
		ended.Removed = removed(err)
	}
	l.closeSession(s)
	l.sessionEnded(ended)
}

// countRefusal abdicates when the cluster has done nothing but refuse this framework for too long:
// another scheduler may be let in.
func (l *dispatcher) countRefusal(err error) {
	var refused *cluster.Refused
	most := l.r.s.opt.RefusedMost
	if most == 0 || !errors.As(err, &refused) || refused.Status < 400 || refused.Status > 499 || removed(err) {
		l.refusedSince = time.Time{}
		return
	}
	now := l.r.s.opt.Clock()
	if l.refusedSince.IsZero() {
		l.refusedSince = now
	}
	if lasts := now.Sub(l.refusedSince); lasts >= most {
		select {
		case l.r.abdicated <- fmt.Errorf("%w for %s, and this server abdicates for another one: %w; change that, then start this server again",
			ErrRefused, lasts.Round(time.Second), err):
		default:
		}
	}
}

// unsubscribedMost is how long a leader without a session keeps the lead from a standby that
// may reach the cluster from where it runs.
const unsubscribedMost = 3 * time.Minute

// countOutage abdicates after that. Where there is no standby, or can be none, the lead is kept: requests
// are still answered.
func (l *dispatcher) countOutage(err error) {
	now := l.r.s.opt.Clock()
	if l.unsubscribedSince.IsZero() {
		l.unsubscribedSince = now
	}
	term, ok := l.r.term.(interface{ Standby(context.Context) bool })
	lasts := now.Sub(l.unsubscribedSince)
	if !ok || lasts < unsubscribedMost || removed(err) {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, callTimeout)
	defer cancel()
	if !term.Standby(ctx) {
		return
	}
	select {
	case l.r.abdicated <- fmt.Errorf("there was no subscription to the cluster for %s, and this server abdicates for a standby: %w", lasts.Round(time.Second), err):
	default:
	}
}

// sessionEnded reports that a session has ended, or could not begin, and then when another master leads.
func (l *dispatcher) sessionEnded(e core.SessionEnded) {
	l.outage.Store(&e.Reason)
	l.r.inbox.put(e)
	driver, ok := l.r.s.opt.Driver.(leaderWatcher)
	if !ok {
		return
	}
	ctx, end := context.WithCancel(l.ctx)
	l.mu.Lock()
	l.watchingLeader = end
	l.mu.Unlock()
	l.wg.Go(func() {
		defer end()
		if driver.NewLeader(ctx) == nil {
			l.r.inbox.put(core.MasterChanged{Session: e.Session})
		}
	})
}

// stopWatchingLeader: the next try is on its way.
func (l *dispatcher) stopWatchingLeader() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchingLeader != nil {
		l.watchingLeader()
		l.watchingLeader = nil
	}
}

// leaderWatcher is a driver that can report when another master leads.
type leaderWatcher interface {
	// NewLeader waits until another master leads than the one that the last Subscribe tried,
	// and returns nil then; else when ctx ends.
	NewLeader(ctx context.Context) error
}

// removed reports whether a failed subscription means that the framework id was torn down.
func removed(err error) bool {
	var fe cluster.FrameworkError
	return errors.As(err, &fe) && fe.Removed
}

// close ends the session and waits for all goroutines.
func (l *dispatcher) close() {
	l.cancel()
	l.wg.Wait()
}

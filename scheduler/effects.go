package scheduler

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// start starts to carry out an effect of the machine. It never waits.
func (r *termRunner) start(e term.Effect) {
	switch e := e.(type) {
	case term.Decided:
		r.decided = len(e.Events)
	case term.Commit:
		events := r.decided
		r.work.Go(func() {
			err := r.commit(e, events)
			r.inbox.put(func(m *term.Machine) { m.Committed(err) })
		})
	case term.Read:
		r.work.Go(func() {
			read := r.readDocuments(e.Paths)
			r.inbox.put(func(m *term.Machine) { m.DocumentsRead(read) })
		})
	case term.Call:
		if s, ok := r.sessions[e.Session]; ok {
			r.work.Go(func() { r.call(s, e) })
		}
	case term.Subscribe:
		r.unwatch()
		r.work.Go(func() { r.subscribe(e) })
	case term.CloseSession:
		if s, ok := r.sessions[e.Session]; ok {
			s.drop()
			r.work.Go(func() { r.closeSession(s.Session) })
		}
	case term.WatchMaster:
		r.watchMaster(e.Session)
	case term.AskStandby:
		r.work.Go(r.askStandby)
	case term.Answer:
		r.reply(e.Reply)
	case term.Notes:
		r.notes.write(time.Now(), e)
	case term.Changed:
		r.view.Note(e.Changed)
	case term.Notify:
		r.notify(e.Notification)
	case term.Log:
		level := slog.LevelInfo
		if e.Problem {
			level = slog.LevelWarn
		}
		r.s.opt.Logger.Log(r.ctx, level, e.Message, e.Attrs...)
	case term.Drained:
		close(r.drained)
	case term.Ended:
		r.s.recordEnd(e.Err)
		close(r.stopped)
	}
}

// commitWarnAfter is how long a commit may take before a warning is logged.
const commitWarnAfter = 2 * time.Second

// commit makes one commit, whatever the number and size of its writes (rule T5). It finishes even while the process is
// asked to stop, because its outcome would be unknown otherwise. events is the number of events of its step.
func (r *termRunner) commit(c term.Commit, events int) error {
	if !c.Change {
		r.s.opt.Point(pointBeforeCommit)
	}
	finishRecord := r.record(c.History)
	began := time.Now()
	late := time.AfterFunc(commitWarnAfter, func() {
		r.s.opt.Logger.Warn("commit not answered yet: until the registry answers, nothing is launched and no request answered; check its disk and load",
			"writes", len(c.Writes), "waited", commitWarnAfter)
	})
	err := r.term.Commit(context.Background(), c.Writes)
	if !late.Stop() {
		r.s.opt.Logger.Warn("slow commit answered", "took", time.Since(began).Round(time.Millisecond), "committed",
			err == nil)
	}
	r.s.commits.observe(time.Since(began), len(c.Writes), events, err != nil && !c.Change)
	finishRecord(err)
	switch {
	case err == nil && c.Change:
		r.s.opt.Point(pointConfigCommitted)
	case err == nil:
		r.s.opt.Point(pointAfterCommit)
	}
	return err
}

// maxReads is how many documents are read at a time.
const maxReads = 16

// readDocuments reads the documents at paths, and returns them in that order.
func (r *termRunner) readDocuments(paths []string) []term.Document {
	found := make([]term.Document, len(paths))
	var group errgroup.Group
	group.SetLimit(maxReads)
	for i, path := range paths {
		group.Go(func() error {
			entry, err := r.term.Get(r.ctx, path)
			found[i] = term.Document{Path: path, Entry: entry, Err: err}
			return nil
		})
	}
	_ = group.Wait() // each document has its own error
	return found
}

// callTimeout is the timeout of one call to the cluster.
const callTimeout = 10 * time.Second

// maxLaunching bounds the total size of the launches that are being sent at once to all agents. A launch uses memory
// for its encoded form only while it is being sent: waiting launches share the common part of all shards of an
// execution.
const maxLaunching = 32 << 20

// call sends a call, unless its session or the term has ended, and reports the outcome. If a call was not sent, a
// later reconciliation shows that (rule E1).
func (r *termRunner) call(s openSession, c term.Call) {
	if launch, ok := c.Call.(step.CallLaunch); ok {
		size := min(int64(launch.Launch.Size()), maxLaunching)
		if r.launching.Acquire(s.ctx, size) == nil {
			defer r.launching.Release(size)
		}
	}
	ctx, cancel := context.WithTimeout(s.ctx, callTimeout)
	defer cancel()
	before, after := pointsOf(c.Call)
	r.point(before)
	err := ctx.Err()
	if err == nil {
		err = send(ctx, s, c.Call)
		r.point(after)
	}
	r.inbox.put(func(m *term.Machine) { m.Called(c.ID, err) })
}

// send sends a call to a session.
func send(ctx context.Context, s openSession, call step.Call) error {
	switch c := call.(type) {
	case step.CallLaunch:
		return s.Launch(ctx, c.Launch)
	case step.CallDecline:
		return s.Decline(ctx, c.Offers, c.Refuse)
	case step.CallKill:
		return s.Kill(ctx, c.Kill)
	case step.CallShutdown:
		return s.EndExecutor(ctx, c.ExecutorID, c.AgentID)
	case step.CallReconcile:
		return s.Reconcile(ctx, c.Tasks)
	case step.CallAcknowledge:
		return s.Acknowledge(ctx, c.Ack)
	case step.CallRevive:
		return s.RequestOffers(ctx)
	default:
		return s.StopOffers(ctx)
	}
}

// subscribe opens a session and forwards its events until the session ends.
func (r *termRunner) subscribe(c term.Subscribe) {
	f := r.s.opt.Framework
	f.ID = c.FrameworkID
	timeout := callTimeout
	if driver, ok := r.s.opt.Driver.(patientSubscriber); ok {
		timeout = driver.SubscribeWithin()
	}
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	r.s.opt.Point(pointBeforeSubscribe)
	if r.ctx.Err() != nil {
		return
	}
	s, err := r.s.opt.Driver.Subscribe(ctx, f)
	r.s.opt.Point(pointAfterSubscribe)
	if err != nil {
		r.inbox.put(func(m *term.Machine) { m.SessionEnded(c.Session, err) })
		return
	}
	defer context.AfterFunc(r.ctx, func() { r.closeSession(s) })()
	calls, drop := context.WithCancel(r.ctx)
	defer drop()
	r.inbox.put(func(m *term.Machine) {
		r.sessions[c.Session] = openSession{s, calls, drop}
		m.Opened(c.Session)
	})
	if demander, ok := s.(cluster.Demander); ok {
		r.work.Go(func() { r.showUnplaced(calls, demander) })
	}
	for e := range s.Events() {
		if m, ok := e.(cluster.Message); ok && m.Lease != nil {
			r.work.Go(func() { r.answerByMessage(calls, s, m) })
			continue
		}
		r.inbox.put(func(m *term.Machine) { m.ClusterEvent(c.Session, e) })
	}
	err = s.Err()
	r.closeSession(s)
	r.inbox.put(func(m *term.Machine) {
		delete(r.sessions, c.Session)
		m.SessionEnded(c.Session, err)
	})
}

func (r *termRunner) closeSession(s cluster.Session) {
	if err := s.Close(); err != nil {
		r.s.opt.Logger.Debug("session not closed", "error", err)
	}
}

// patientSubscriber is a driver whose Subscribe makes several requests, each with a timeout of its own.
type patientSubscriber interface {
	// SubscribeWithin is how long the whole of Subscribe may take.
	SubscribeWithin() time.Duration
}

// leaderWatcher is a driver that can report when another master leads.
type leaderWatcher interface {
	// NewLeader waits until another master leads than the one that the last Subscribe tried. It returns an error if
	// ctx ends before that.
	NewLeader(ctx context.Context) error
}

// watchMaster reports when another master leads, until the next attempt to subscribe.
func (r *termRunner) watchMaster(session int64) {
	driver, ok := r.s.opt.Driver.(leaderWatcher)
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.unwatch()
	r.unwatch = cancel
	r.work.Go(func() {
		defer cancel()
		if driver.NewLeader(ctx) == nil {
			r.inbox.put(func(m *term.Machine) { m.MasterChanged(session) })
		}
	})
}

// askStandby asks the registry whether there is a standby, if the registry can tell.
func (r *termRunner) askStandby() {
	registered, ok := r.term.(interface{ Standby(context.Context) bool })
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, callTimeout)
	defer cancel()
	if registered.Standby(ctx) {
		r.inbox.put((*term.Machine).StandbyWaits)
	}
}

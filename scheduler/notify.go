package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// Notifier notifies people of failed runs, by mail, chat or a webhook.
type Notifier interface {
	// Notify tries once to send a message, and returns soon after ctx has ended. It may be called concurrently, but
	// only once at a time for one job. Its errors contain no secret, because they are logged. After an error people
	// may have been notified nevertheless.
	Notify(ctx context.Context, n notifications.Notification) error
}

const (
	// maxNotifyPerApp is the maximum number of messages of one app under way at once. A slow server delays few other
	// messages of its app, and none of another app, which may have nothing to do with that server.
	maxNotifyPerApp = 4
	// maxNotify bounds the messages of all apps under way at once, because all their servers may be slow. The apps
	// take turns.
	maxNotify = 64
	// notifyTimeout is the timeout of one message; the Notifier's own limits are shorter.
	notifyTimeout = time.Minute
)

// messages are the notifications to send in one term, by app. Only the loop uses them.
//
// Between any two calls, turns contains exactly once each app that has waiting messages and fewer than maxNotifyPerApp
// under way. The apps are in the order in which they may start their next message. While fewer than maxNotify messages
// are under way, turns is empty.
type messages struct {
	byApp    map[string]*appMessages
	turns    []string
	inFlight int
}

// appMessages are the waiting messages of one app, and the number of those under way. An app without any has no entry.
type appMessages struct {
	waiting  []notifications.Notification
	inFlight int
	hasTurn  bool // the app is in turns
}

// queueApp puts an app at the end of turns if it may start a message and is not in turns.
func (m *messages) queueApp(app string) {
	of := m.byApp[app]
	if of.hasTurn || of.inFlight >= maxNotifyPerApp || len(of.waiting) == 0 {
		return
	}
	of.hasTurn = true
	m.turns = append(m.turns, app)
}

// add adds a waiting message.
func (m *messages) add(n notifications.Notification) {
	app := n.Job.AppName
	of := m.byApp[app]
	if of == nil {
		of = &appMessages{}
		m.byApp[app] = of
	}
	of.waiting = append(of.waiting, n)
	m.queueApp(app)
}

// next returns the message to start now, of the app whose turn it is; false if none may start.
func (m *messages) next() (n notifications.Notification, ok bool) {
	if m.inFlight == maxNotify || len(m.turns) == 0 {
		return n, false
	}
	app := m.turns[0]
	m.turns = m.turns[1:]
	of := m.byApp[app]
	n, of.waiting = of.waiting[0], of.waiting[1:]
	of.hasTurn = false
	of.inFlight++
	m.inFlight++
	m.queueApp(app)
	return n, true
}

// finish records that a message of an app is no longer under way.
func (m *messages) finish(app string) {
	of := m.byApp[app]
	of.inFlight--
	m.inFlight--
	m.queueApp(app)
	if of.inFlight == 0 && len(of.waiting) == 0 {
		delete(m.byApp, app)
	}
}

// notify sends a message as soon as the limits allow it.
func (r *termRunner) notify(n notifications.Notification) {
	r.messages.add(n)
	r.startNotifying()
}

// startNotifying starts all messages that may start now.
func (r *termRunner) startNotifying() {
	for n, ok := r.messages.next(); ok; n, ok = r.messages.next() {
		r.work.Go(func() {
			err := r.sendNotification(n)
			r.inbox.put(func(machine *term.Machine) {
				r.messages.finish(n.Job.AppName)
				r.startNotifying()
				machine.Notified(n.Job.JobName, n.Seq, err)
			})
		})
	}
}

// sendNotification sends a message, unless the term has ended. In that case the next leader sends it.
func (r *termRunner) sendNotification(n notifications.Notification) error {
	ctx, cancel := context.WithTimeout(r.ctx, notifyTimeout)
	defer cancel()
	r.point(pointBeforeNotify)
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.s.opt.Notifier == nil {
		return errors.New("this server has no notifier")
	}
	err := r.s.opt.Notifier.Notify(ctx, n)
	r.point(pointAfterNotify)
	return err
}

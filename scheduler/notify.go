package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// Notifier tells people of runs that failed: by mail, chat or a webhook. It tries once, returns soon after ctx has ended, and may be
// called concurrently, for one job once at a time. Its errors hold no secret: they are logged. After one people may have been told, too.
type Notifier interface {
	Notify(ctx context.Context, n core.Notification) error
}

const (
	// notifyAtOnce is how many messages of one app are under way at once: one that is slow keeps few others of its
	// app waiting, and none of another app, whose people may have nothing to do with the server that is slow.
	notifyAtOnce = 4
	// notifyTimeout is how long one may take; the Notifier's own bounds are narrower.
	notifyTimeout = time.Minute
)

// messages are what is to be told in one term, by app. The loop has them for itself.
type messages map[string]*appMessages

// appMessages are those of one app that wait, and how many are under way. An app without any has no entry.
type appMessages struct {
	waiting  []core.Notification
	underWay int
}

// notify sends a message as soon as fewer than notifyAtOnce of its app are under way.
func (r *termRunner) notify(n core.Notification) {
	of := r.messages[n.Job.AppName]
	if of == nil {
		of = &appMessages{}
		r.messages[n.Job.AppName] = of
	}
	of.waiting = append(of.waiting, n)
	r.startNotifying(n.Job.AppName)
}

func (r *termRunner) startNotifying(app string) {
	of := r.messages[app]
	for of.underWay < notifyAtOnce && len(of.waiting) > 0 {
		n := of.waiting[0]
		of.waiting = of.waiting[1:]
		of.underWay++
		r.work.Go(func() {
			err := r.sendNotification(n)
			r.inbox.put(func(machine *term.Machine) {
				of.underWay--
				r.startNotifying(app)
				machine.Notified(n.Job.JobName, n.Seq, err)
			})
		})
	}
	if of.underWay == 0 {
		delete(r.messages, app)
	}
}

// sendNotification sends one, unless the term has ended: the next leader sends it then.
func (r *termRunner) sendNotification(n core.Notification) error {
	ctx, cancel := context.WithTimeout(r.ctx, notifyTimeout)
	defer cancel()
	r.point(pointBeforeNotify)
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.s.opt.Notifier == nil {
		return errors.New("this server has nothing to send messages with")
	}
	err := r.s.opt.Notifier.Notify(ctx, n)
	r.point(pointAfterNotify)
	return err
}

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
	// notifyAtOnce is how many messages are under way at once: one that is slow keeps no other job's waiting.
	notifyAtOnce = 8
	// notifyTimeout is how long one may take; the Notifier's own bounds are narrower.
	notifyTimeout = time.Minute
)

// messages are what is to be told in one term. The loop has it for itself.
type messages struct {
	waiting  []core.Notification
	underWay int
}

// notify has a message leave as soon as fewer than notifyAtOnce are under way.
func (r *termRunner) notify(n core.Notification) {
	r.messages.waiting = append(r.messages.waiting, n)
	r.startNotifying()
}

func (r *termRunner) startNotifying() {
	m := &r.messages
	for m.underWay < notifyAtOnce && len(m.waiting) > 0 {
		n := m.waiting[0]
		m.waiting = m.waiting[1:]
		m.underWay++
		r.work.Go(func() {
			err := r.sendNotification(n)
			r.inbox.put(func(machine *term.Machine) {
				m.underWay--
				r.startNotifying()
				machine.Notified(n.Job.JobName, n.Seq, err)
			})
		})
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

package sim

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/term"
)

// notify sends a notification of a leader. Whether it arrives does not depend on what happens to the leader
// afterwards.
func (l *leader) notify(n notifications.Notification) {
	w := l.w
	w.check.checkAddress(l, n)
	about := append([]notifications.Other{{Job: n.Job.JobName, Report: n.Report}}, n.Others...)
	tells := make([][]string, len(about))
	for i, o := range about {
		tells[i] = w.check.checkNotification(l, o)
	}
	took := w.between(time.Millisecond, 300*time.Millisecond)
	if w.roll(NotificationSlow) {
		took = w.between(time.Second, time.Minute)
	}
	arrive := func() {
		for i, o := range about {
			w.check.recordNotified(o.Job, tells[i])
		}
	}
	w.after(took, func() {
		var err error
		switch {
		case w.now < w.mailAwayUntil || w.roll(NotificationFails):
			err = errors.New("people can't be reached")
		case w.roll(NotificationUnanswered):
			err = errors.New("no answer")
			arrive()
		default:
			arrive()
		}
		l.run(func() {
			l.out.addressBusy = false
			for _, o := range about {
				delete(l.out.telling, o.Job)
				if err == nil {
					l.out.told[o.Job] = w.now
				}
			}
		})
		l.input(func(m *term.Machine) { m.Notified(n.Job.JobName, n.Seq, err) })
	})
}

// checkAddress checks that the messages to the one address of all jobs do not follow each other too quickly.
func (c *checker) checkAddress(l *leader, n notifications.Notification) {
	if l.out.addressBusy || l.out.messages > 0 && c.w.now-l.out.lastMessage < notifications.AddressInterval {
		c.w.fail("N2 an address gets few messages", "leader %d tells of %s, and sent a message %s ago; under way: %v",
			l.no, n.Job.JobName, c.w.now-l.out.lastMessage, l.out.addressBusy)
	}
	l.out.addressBusy, l.out.lastMessage = true, c.w.now
	l.out.messages++
}

// recordFailure records an execution that was committed as failed. If its job has a handler, people must be notified,
// unless the leader has read only after the failure, in the same step, that the job has one.
func (c *checker) recordFailure(r record) {
	if slices.Contains(c.w.audits.editsOfStep, "job.update "+r.Job) {
		return
	}
	if j := c.job(r.Job); j.cfg != nil && j.cfg.Notifies() {
		c.untold[r.Job] = append(c.untold[r.Job], r.ID)
		c.mustTell = append(c.mustTell, r.Job)
	}
}

// checkNotificationsWritten checks, after a commit, that the registry has the notifications for its failures.
func (c *checker) checkNotificationsWritten() {
	for _, job := range c.mustTell {
		if _, there := c.w.store.entries[pathNotification+"/"+job]; !there {
			c.w.fail("N1 what people are to be told is written with the result", "job %s has failed: %v", job,
				c.untold[job])
		}
	}
	c.mustTell = nil
}

// notificationRemoved records that a job's notification was removed from the registry.
func (c *checker) notificationRemoved(job string) {
	if j := c.job(job); len(c.untold[job]) > 0 && j.cfg != nil && j.cfg.Notifies() {
		c.w.fail("N1 people are notified of each failure",
			"job %s: nobody was notified of %v, and its record is removed", job, c.untold[job])
	}
	delete(c.untold, job)
}

// checkNotification checks a notification that is sent, and returns the failures that it reports, which are the
// oldest. The step that made the notification may have found further failures after that. They are counted in the
// record that the step has written, and the next notification reports them.
func (c *checker) checkNotification(l *leader, n notifications.Other) []string {
	w, job := c.w, n.Job
	if l.out.telling[job] {
		w.fail("N2 a job has one message under way", "leader %d tells of %s", l.no, job)
	}
	l.out.telling[job] = true
	if at, ok := l.out.told[job]; ok && w.now-at < time.Minute {
		w.fail("N2 a minute is between two messages of a job", "leader %d tells of %s, and did %s ago", l.no, job,
			w.now-at)
	}
	untold := c.untold[job]
	pending := struct{ Further int }{n.Further}
	_ = json.Unmarshal(w.store.entries[pathNotification+"/"+job].Value, &pending)
	if l.term == w.store.term && max(n.Further, pending.Further)+1 < len(untold) {
		w.fail("N2 failures are reported or counted",
			"a message tells of %d failures of job %s, %d are counted, and there are %v", n.Further+1, job,
			pending.Further+1, untold)
	}
	if n.Further > 0 {
		w.count(FailuresCounted)
	}
	return slices.Clone(untold[:min(n.Further+1, len(untold))])
}

// recordNotified records that people were notified of these failures.
func (c *checker) recordNotified(job string, tells []string) {
	if len(tells) == 0 {
		c.w.count(ToldAgain)
	}
	c.untold[job] = slices.DeleteFunc(c.untold[job], func(id string) bool { return slices.Contains(tells, id) })
	if len(c.untold[job]) == 0 {
		delete(c.untold, job)
	}
}

// setHandler gives a job a random error handler, or none.
func (u *users) setHandler(cfg *jobs.Config) {
	switch u.w.rng.IntN(8) {
	case 0, 1, 2, 3, 4:
		cfg.JobErrorHandlerType, cfg.Props = jobs.HandlerWebhook,
			document.Texts{jobs.PropWebhookURL: {Value: "https://hook/x"}}
	case 5:
		cfg.JobErrorHandlerType = jobs.HandlerIgnore
	}
}

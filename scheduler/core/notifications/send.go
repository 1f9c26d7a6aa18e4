package notifications

import (
	"cmp"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// Send sends the pending message of a job with this step, or schedules it for the time at which it may be sent. It
// does nothing if there is none, one is being sent, or it was refused with the present settings, and drops the message
// if the job no longer notifies anyone.
func (ns *Notifications) Send(job string) {
	n := ns.pending[job]
	if n == nil || ns.inFlight[job] != 0 {
		return
	}
	j := ns.config.Job(job)
	settings, to := ns.settings(job)
	switch {
	case j != nil && ns.config.IsFaulty(j) && j.Config() == nil:
		return // the job may have a handler again once its document is fixed
	case settings == "":
		ns.Drop(job)
		return
	}
	if n.Refused != "" {
		n.refusedBy = cmp.Or(n.refusedBy, settings)
		if n.refusedBy == settings {
			ns.shared.Timers.At(n.Since.Add(NotifyTimeout), func(now time.Time) {
				if p := ns.pending[job]; p == n && p.Refused != "" && now.Sub(p.Since) >= NotifyTimeout {
					ns.expire(job)
				}
			})
			return
		}
		n.Refused, n.after = "", time.Time{}
		ns.changed.Add(job)
	}
	a := ns.addresses[to]
	if a == nil {
		a = &address{waiting: map[string]bool{}}
		ns.addresses[to] = a
	}
	a.waiting[job] = true
	if due := ns.due(job); due.After(ns.shared.Now()) {
		ns.wakeAt(to, due)
		return
	}
	ns.sendTo(to)
}

// wakeAt sets a timer that sends a message to an address at a time, unless the address has an earlier timer.
func (ns *Notifications) wakeAt(to string, when time.Time) {
	a := ns.addresses[to]
	if !a.wake.IsZero() && !when.Before(a.wake) {
		return
	}
	a.wake = when
	ns.shared.Timers.At(when, func(time.Time) {
		if ns.addresses[to] == a && a.wake.Equal(when) {
			a.wake = time.Time{}
			ns.sendTo(to)
		}
	})
}

// sendTo sends one message to an address with this step, if one may be sent: about the job whose failures have waited
// longest, and about all others with the same settings that may be reported. Otherwise it sets a timer.
func (ns *Notifications) sendTo(to string) {
	a, now := ns.addresses[to], ns.shared.Now()
	switch {
	case a == nil || a.busy:
		return
	case a.next.After(now):
		ns.wakeAt(to, a.next)
		return
	}
	var due []string
	settingsOf := map[string]string{} // of the due jobs
	var soonest time.Time
	for _, job := range step.SortedKeys(a.waiting) {
		n := ns.pending[job]
		settings, present := ns.settings(job)
		if n == nil || n.Refused != "" || ns.inFlight[job] != 0 || present != to {
			delete(a.waiting, job) // Send adds it to another address
			continue
		}
		if when := ns.due(job); !when.After(now) {
			due, settingsOf[job] = append(due, job), settings
		} else if soonest.IsZero() || when.Before(soonest) {
			soonest = when
		}
	}
	if len(due) == 0 {
		if soonest.IsZero() {
			delete(ns.addresses, to)
		} else {
			ns.wakeAt(to, soonest)
		}
		return
	}
	first := slices.MinFunc(due, func(x, y string) int { return ns.pending[x].Since.Compare(ns.pending[y].Since) })
	due = slices.DeleteFunc(due, func(job string) bool { return job == first || settingsOf[job] != settingsOf[first] })
	ns.lastSeq++
	m := message{address: to, settings: settingsOf[first], jobs: append([]string{first}, due...)}
	out := Notification{Seq: ns.lastSeq, Job: *ns.recipient(first)}
	for _, job := range m.jobs {
		n := ns.pending[job]
		report := n.report()
		n.seq, n.firstAfter = ns.lastSeq, time.Time{}
		n.reported, n.noticed, n.omitted = report.Failures(), len(n.Notices), n.Omitted
		ns.inFlight[job] = n.seq
		delete(a.waiting, job)
		switch job {
		case first:
			out.Report = report
		case Operators:
			out.Others = append(out.Others, Other{Report: report})
		default:
			out.Others = append(out.Others, Other{job, report})
		}
	}
	a.busy = true
	ns.messages[ns.lastSeq] = m
	ns.outgoing = append(ns.outgoing, out)
	ns.shared.Fence() // a deposed leader must not notify
}

package notifications

import (
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// NotificationSent is the event that reports the outcome of a Notification. Problem is "" if the message was sent. If
// it is not, the message may have arrived nevertheless, for instance if only the answer was lost. Final and Sent are
// those of Error.
type NotificationSent struct {
	Job         string
	Seq         int64
	Problem     string
	Final, Sent bool
}

// CoreEvent marks NotificationSent as an event of a step.
func (NotificationSent) CoreEvent() {}

// applyOutcome applies the outcome of a message to one of its jobs. Failures that were reported after the message was
// sent stay pending.
func (ns *Notifications) applyOutcome(job string, m message, e NotificationSent) {
	if ns.inFlight[job] == e.Seq {
		delete(ns.inFlight, job)
	}
	isSent := e.Problem == "" || e.Sent
	if isSent {
		ns.recordSent(job)
	}
	n := ns.pending[job]
	if n == nil || n.seq != e.Seq {
		return // the job was deregistered meanwhile
	}
	n.seq = 0
	now := ns.shared.Now()
	if isSent {
		n.tries, n.after, n.problem, n.Since = 0, time.Time{}, "", now
		n.First, n.firstAfter = n.firstAfter, time.Time{}
		if !n.setSent() {
			ns.Drop(job)
		}
		ns.changed.Add(job)
		return
	}
	n.tries++
	n.noticed, n.omitted = 0, 0
	n.after, n.problem, n.firstAfter = now.Add(step.Backoff(minNotifyDelay, MaxNotifyDelay, n.tries-1)), e.Problem,
		time.Time{}
	if now.Sub(n.Since) >= NotifyTimeout {
		ns.expire(job)
		return
	}
	if settings, _ := ns.settings(job); e.Final && settings == m.settings {
		n.after = now.Add(NotifyInterval) // a message about the next failure waits until then
		n.Refused, n.refusedBy = e.Problem, settings
		ns.changed.Add(job)
	}
}

// noteOutcome notes that a message was not sent, or not to all recipients: once, however many jobs it reports.
func (ns *Notifications) noteOutcome(m message, e NotificationSent) {
	for _, job := range m.jobs {
		n := ns.pending[job]
		if n == nil && !e.Sent {
			continue // it was dropped, and that was noted
		}
		note := step.Note{Kind: step.NoteNotification, Job: job, Problem: true}
		if job == Operators {
			note.Job = ""
		}
		others := ""
		if k := len(m.jobs) - 1; k > 0 {
			others = ", with those of " + problem.Counted(k, "other job")
		}
		switch {
		case e.Sent:
			note.Detail = fmt.Sprintf("it was not sent to everybody%s: %s", others, e.Problem)
		case n.Refused != "":
			note.Execution = n.Execution
			note.Detail = fmt.Sprintf("it was refused%s, and is not tried again before these settings change or the "+
				"job fails again: %s", others, e.Problem)
		default:
			note.Execution = n.Execution
			next, _ := ns.NextTry(job)
			note.Detail = fmt.Sprintf("it was not sent%s; next try at %s: %s", others,
				ns.shared.Shown(next).Format(time.TimeOnly), e.Problem)
		}
		ns.shared.Note(note)
		return
	}
}

// RecordOutcome applies the outcome of a message. A message that was not sent is tried again with growing delays until
// NotifyTimeout has passed, unless it was refused permanently. An unknown message is ignored.
func (ns *Notifications) RecordOutcome(e NotificationSent) {
	m, isMessage := ns.messages[e.Seq]
	if !isMessage {
		return
	}
	delete(ns.messages, e.Seq)
	a := ns.addresses[m.address] // the interval begins now, because the core does not know when the message left
	a.busy, a.next = false, ns.shared.Now().Add(AddressInterval)
	if e.Problem == "" || e.Sent {
		ns.shared.Numbers.NotificationsSent++
	} else {
		ns.shared.Numbers.NotificationsFailed++
	}
	for _, job := range m.jobs {
		ns.applyOutcome(job, m, e)
		ns.shared.JobChanged(job) // the job's notes say that people could not be notified yet
	}
	if e.Problem != "" {
		ns.noteOutcome(m, e)
	}
	for _, job := range m.jobs {
		ns.Send(job)
	}
	ns.sendTo(m.address)
}

// recordSent records that people were notified of a job, until NotifyInterval has passed.
func (ns *Notifications) recordSent(job string) {
	ns.sent[job] = ns.shared.Now()
	ns.shared.Timers.At(ns.shared.Now().Add(NotifyInterval), func(now time.Time) {
		if at, ok := ns.sent[job]; ok && now.Sub(at) >= NotifyInterval {
			delete(ns.sent, job)
		}
	})
}

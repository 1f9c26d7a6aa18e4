// Package notifications decides when people are notified of failed runs, and keeps each notification until it was
// sent. Notifications owns the pending messages, which are stored with the results that they report, so that people
// receive each failure at least once, despite crashes and changes of leader. ReportFailure adds messages; their
// outcomes, changed documents and timers advance them. The package sends nothing itself: Take returns the messages of
// a step, and the shell sends them once the step is committed.
package notifications

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Failure describes one failed run: an execution, or one run of a daemon's shard. It is stored with the pending
// message.
type Failure struct {
	Execution string    `json:"execution"`
	Fire      time.Time `json:"fire"`
	// Shards are the first FailedShardsShown of the shards that failed; FailedShards counts all of them.
	Shards       []FailedShard `json:"shards"`
	FailedShards int           `json:"failedShards"`
}

// FailedShard is one shard of a failed run, with the state in which it ended and the reason for that.
type FailedShard struct {
	Item   int              `json:"item"`
	State  executions.State `json:"state"`
	TaskID string           `json:"taskId,omitempty"`
	Agent  string           `json:"agent,omitempty"`
	Cause  reason.Reason    `json:"cause,omitzero"`
}

// Notification is a message about a job's newest failure, for the shell to send. A NotificationSent with the same
// Job and Seq reports its outcome.
type Notification struct {
	// Seq numbers the messages of a term, from 1.
	Seq int64
	// Job is the job's present document, with the secrets of its error handler. They must be neither written nor
	// logged.
	Job jobs.Config
	Failure
	// Further counts the other failures since the last message that was sent.
	Further int
}

// NotificationSent is the event that reports the outcome of a Notification. Problem is "" if it was sent. With any
// other Problem it may have been sent too, for instance when only the answer was lost.
type NotificationSent struct {
	Job     string
	Seq     int64
	Problem string
}

// CoreEvent marks NotificationSent as an event of a step.
func (NotificationSent) CoreEvent() {}

const (
	// NotifyInterval is the minimum interval between two messages about one job.
	NotifyInterval = time.Minute
	// minNotifyDelay is the delay before a message that could not be sent is tried again; it doubles with each try.
	minNotifyDelay = time.Second
	// MaxNotifyDelay bounds that delay.
	MaxNotifyDelay = 10 * time.Minute
	// NotifyTimeout is the age, counted from its first failure, at which a message that could not be sent is dropped.
	NotifyTimeout = 24 * time.Hour
	// FailedShardsShown bounds how many of a run's failed shards a message names.
	FailedShardsShown = 5
)

// pending is the one pending message of a job, however many failures it reports. It is written with the result that it
// reports, and removed once it was sent, so that people receive each failure at least once.
type pending struct {
	Failure
	Further int       `json:"further,omitempty"`
	Since   time.Time `json:"since"` // the first of these failures

	// seq is the number of the message that is being sent, 0 if none is; told counts the failures that it reports.
	seq      int64
	reported int
	// The number of failed tries, the time of the next one, and the last error.
	tries   int
	after   time.Time
	problem string
}

// Notifications holds the pending notifications, by job. These hold between any two calls of its methods:
//
//   - pending has at most one message for each job. For each one that is not being sent a timer is set for the
//     time at which it may be sent, unless the job's document cannot be used: then the document's change sends
//     it.
//   - sent has the time of the last message about each job for which that is less than NotifyInterval ago.
type Notifications struct {
	shared  *step.Shared
	config  *config.Set
	pending map[string]*pending
	// inFlight has, by job, the number of the message that is being sent. The job may have been deregistered since,
	// and registered again.
	inFlight map[string]int64
	sent     map[string]time.Time
	changed  store.Changed
	lastSeq  int64
	out      []Notification // those of this step
}

// New makes a Notifications without pending messages. Restore adds those that are stored.
func New(s *step.Shared, k *config.Set) *Notifications {
	return &Notifications{shared: s, config: k, pending: map[string]*pending{}, inFlight: map[string]int64{},
		sent: map[string]time.Time{}}
}

// Restore adds the stored message of a job. It fails if value cannot be decoded.
func (ns *Notifications) Restore(job string, value []byte) error {
	var n pending
	if err := json.Unmarshal(value, &n); err != nil {
		return err
	}
	ns.shared.Clamp(0, &n.Since)
	ns.pending[job] = &n
	return nil
}

// ScheduleAll schedules all restored messages. It is called once, after all calls of Restore.
func (ns *Notifications) ScheduleAll() {
	for _, job := range step.SortedKeys(ns.pending) {
		ns.shared.Timers.At(ns.shared.Now(), func(time.Time) { ns.Send(job) })
	}
}

// Take returns the messages that this step sends, and forgets them. They may be sent once the step is committed.
func (ns *Notifications) Take() []Notification {
	out := ns.out
	ns.out = nil
	return out
}

// Unsent is a message whose sending has failed so far. Since is in the time of the term (clock.Clock), and Problem is
// the failure of the last try.
type Unsent struct {
	Execution string
	Tries     int
	Since     time.Time // of the time of the term
	Problem   string
}

// Unsent returns the message of a job whose sending has failed so far; false if there is none.
func (ns *Notifications) Unsent(job string) (u Unsent, is bool) {
	if n := ns.pending[job]; n != nil && n.problem != "" {
		return Unsent{n.Execution, n.tries, n.Since, n.problem}, true
	}
	return u, false
}

// Jobs returns the names of all jobs with a pending message, sorted.
func (ns *Notifications) Jobs() []string { return step.SortedKeys(ns.pending) }

// add records a failure in the job's pending message.
func (ns *Notifications) add(job string, f Failure) {
	n := ns.pending[job]
	if n == nil {
		n = &pending{Since: ns.shared.Now()}
		ns.pending[job] = n
	} else {
		n.Further++
	}
	n.Failure = f
	ns.changed.Add(job)
}

// Drop forgets the pending message of a job, if there is one, because the job was deregistered or no longer notifies
// anyone.
func (ns *Notifications) Drop(job string) {
	if ns.pending[job] != nil {
		delete(ns.pending, job)
		ns.changed.Add(job)
	}
}

// due returns the time at which a pending message may be sent.
func (ns *Notifications) due(job string) time.Time {
	due := ns.pending[job].after
	if sentAt, ok := ns.sent[job]; ok && sentAt.Add(NotifyInterval).After(due) {
		due = sentAt.Add(NotifyInterval)
	}
	return due
}

// applyOutcome applies the outcome of a message. Failures that were reported after the message was sent stay pending.
func (ns *Notifications) applyOutcome(e NotificationSent) {
	if e.Problem == "" {
		ns.sent[e.Job] = ns.shared.Now()
		ns.shared.Numbers.NotificationsSent++
	} else {
		ns.shared.Numbers.NotificationsFailed++
	}
	if ns.inFlight[e.Job] == e.Seq {
		delete(ns.inFlight, e.Job)
	}
	n := ns.pending[e.Job]
	if n == nil || n.seq != e.Seq {
		return // the job was deregistered meanwhile
	}
	n.seq = 0
	if e.Problem == "" {
		n.tries, n.after, n.problem, n.Since = 0, time.Time{}, "", ns.shared.Now()
		if n.Further -= n.reported; n.Further < 0 {
			ns.Drop(e.Job)
		}
		ns.changed.Add(e.Job)
		return
	}
	n.tries++
	n.after = ns.shared.Now().Add(step.Backoff(minNotifyDelay, MaxNotifyDelay, n.tries-1))
	n.problem = e.Problem
	if ns.shared.Now().Sub(n.Since) < NotifyTimeout {
		ns.shared.Note(step.Note{Kind: step.NoteNotification, Job: e.Job, Execution: n.Execution, Problem: true,
			Detail: fmt.Sprintf("it was not sent; next try at %s: %s",
				ns.shared.Shown(n.after).Format(time.TimeOnly), e.Problem)})
		return
	}
	ns.shared.Note(step.Note{Kind: step.NoteNotificationDropped, Job: e.Job, Execution: n.Execution, Problem: true,
		Detail: fmt.Sprintf("it was not sent within %s and is dropped, tried %s: %s", NotifyTimeout,
			problem.Counted(n.tries, "time"), e.Problem)})
	ns.Drop(e.Job)
}

// Write adds the messages that were added, changed or removed in this step to its commit.
func (ns *Notifications) Write(r *store.Commit) {
	store.PutChanged(r, store.PathNotification, ns.pending, &ns.changed)
}

// ReportFailure notifies people of a failed run, if the job's present document has an error handler that does so. It
// must be called in the step whose commit has the result. For a run of a daemon, f has one shard with its item, task,
// agent and cause, the fire, and the id of the execution that the shard belongs to.
func (ns *Notifications) ReportFailure(job string, f Failure) {
	j := ns.config.Job(job)
	if j == nil || j.Config() == nil || !j.Config().Notifies() {
		return
	}
	f.FailedShards = max(f.FailedShards, len(f.Shards))
	f.Shards = f.Shards[:min(len(f.Shards), FailedShardsShown)]
	ns.add(job, f)
	ns.Send(job)
}

// Send sends the pending message of a job with this step, or schedules it for the time at which it may be sent. It
// does nothing if there is none or one is being sent, and drops the message if the job no longer notifies anyone.
func (ns *Notifications) Send(job string) {
	n := ns.pending[job]
	if n == nil || ns.inFlight[job] != 0 {
		return
	}
	j := ns.config.Job(job)
	switch {
	case j != nil && ns.config.IsFaulty(j) && j.Config() == nil:
		return // the job may have a handler again once its document is fixed
	case j == nil || j.Config() == nil || !j.Config().Notifies():
		ns.Drop(job)
		return
	}
	if due := ns.due(job); due.After(ns.shared.Now()) {
		ns.shared.Timers.At(due, func(time.Time) { ns.Send(job) })
		return
	}
	ns.lastSeq++
	n.seq, n.reported = ns.lastSeq, n.Further+1
	ns.inFlight[job] = n.seq
	ns.out = append(ns.out, Notification{Seq: n.seq, Job: *j.Config(), Failure: n.Failure, Further: n.Further})
	ns.shared.Fence() // a deposed leader must not notify
}

// RecordOutcome applies the outcome of a message: one that failed is tried again with growing delays until
// NotifyTimeout has passed.
func (ns *Notifications) RecordOutcome(e NotificationSent) {
	ns.applyOutcome(e)
	if _, sentAt := ns.sent[e.Job]; sentAt {
		ns.shared.Timers.At(ns.shared.Now().Add(NotifyInterval), func(now time.Time) {
			if at, ok := ns.sent[e.Job]; ok && now.Sub(at) >= NotifyInterval {
				delete(ns.sent, e.Job)
			}
		})
	}
	ns.shared.JobChanged(e.Job) // the job's notes say that people could not be notified yet
	ns.Send(e.Job)
}

// FailureOf describes the failure of an execution that has ended: its shards that neither finished nor were killed.
func FailureOf(e *executions.Execution) Failure {
	f := Failure{Execution: e.ID(), Fire: e.Fire()}
	for i := range e.NumShards() {
		s := e.Shard(i)
		if s.State() == executions.Finished || s.State() == executions.Killed {
			continue
		}
		f.FailedShards++
		if len(f.Shards) < FailedShardsShown {
			f.Shards = append(f.Shards, FailedShard{Item: s.Item(), State: s.State(), TaskID: s.TaskID(),
				Agent: s.Agent(), Cause: s.Cause()})
		}
	}
	return f
}

// IgnoresFailures reports whether the owner of a job wants its failures ignored (jobErrorHandlerType IGNORE). The
// log then does not mark them as problems.
func (ns *Notifications) IgnoresFailures(job string) bool {
	j := ns.config.Job(job)
	return j != nil && j.Config() != nil && j.Config().JobErrorHandlerType == jobs.HandlerIgnore
}

// NextTry returns, in the time of the term, when the pending message of a job is tried again, zero before its first
// failure; false if the job has none.
func (ns *Notifications) NextTry(job string) (at time.Time, waits bool) {
	n := ns.pending[job]
	if n == nil {
		return time.Time{}, false
	}
	return n.after, true
}

// LastSeq returns the number of the last message that was sent in this term, 0 before the first.
func (ns *Notifications) LastSeq() int64 { return ns.lastSeq }

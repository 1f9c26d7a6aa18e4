// Package notifications decides when people are notified of failed runs and of other troubles, and keeps each
// notification until it was sent. Notifications owns the pending messages, which are stored with the results that they
// report, so that people receive each failure at least once, despite crashes and changes of leader. ReportFailure and
// Notify add messages; their outcomes, changed documents and timers advance them. The package sends nothing itself:
// Take returns the messages of a step, and the shell sends them once the step is committed.
package notifications

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

const (
	// NotifyInterval is the minimum interval between two messages about one job.
	NotifyInterval = time.Minute
	// AddressInterval is the minimum interval between the answer to a message and the next message to its address. So
	// at most 15 a minute are sent: the robots of DingTalk and WeChat refuse more than 20, and a former leader may
	// have sent some of them.
	AddressInterval = 4 * time.Second
	// minNotifyDelay is the delay before a message that could not be sent is tried again; it doubles with each try.
	minNotifyDelay = time.Second
	// MaxNotifyDelay bounds that delay.
	MaxNotifyDelay = 10 * time.Minute
	// NotifyTimeout is the age, counted from its first failure, at which a message that could not be sent is dropped.
	NotifyTimeout = 24 * time.Hour
	// FailedShardsShown bounds how many of a run's failed shards a message names.
	FailedShardsShown = 5
	// MaxNotices bounds the notices that are kept for one message. Of more, the oldest are only counted.
	MaxNotices = 100
)

// Operators stands, instead of the name of a job, for the people who run the scheduler (Options.Operators). No job has
// this name.
const Operators = "@operators"

// pending is the one pending message of a job, however many failures and notices it reports. It is stored by the commit
// with the result that it reports, and removed once it was sent, so that people receive each failure at least once.
type pending struct {
	Failure           // the newest; the zero Failure if it reports none
	Further int       `json:"further,omitempty"`
	Notices []Notice  `json:"notices,omitempty"`
	Omitted int       `json:"omittedNotices,omitempty"`
	Since   time.Time `json:"since"` // the first of these failures and notices
	// First and Last are when the first and the newest of them were reported, on the wall clock.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Refused is why the message was refused permanently, "" if it was not. It is tried again only with another
	// failure or notice, or with other settings.
	Refused string `json:"refused,omitempty"`

	// seq is the number of the message that is being sent, 0 if none is. reported counts the failures in that message,
	// noticed its notices that are still kept, and omitted those that it only counts. firstAfter is when the first
	// failure or notice after them was reported.
	seq                        int64
	reported, noticed, omitted int
	firstAfter                 time.Time
	// The number of failed tries, the time of the next one, and the last error.
	tries   int
	after   time.Time
	problem string
	// refusedBy are the settings with which it was refused; "" if it was refused under a former leader.
	refusedBy string
}

// address is the state of an address to which messages are sent (jobs.Config.NotifyAddress).
type address struct {
	waiting map[string]bool // the jobs whose messages wait for it
	busy    bool            // a message to it is being sent
	next    time.Time       // when the next message may be sent, unless busy
	wake    time.Time       // the time of its timer; zero if none is set
}

// message is a message that is being sent.
type message struct {
	address  string
	settings string
	jobs     []string
}

// Notifications holds the pending notifications, by job. These hold between any two calls of its methods:
//
//   - pending has at most one message for each job. A message that is not being sent waits for its address, which has a
//     timer for the time at which the next message may be sent, unless one is being sent to it. Exceptions are a job
//     whose document cannot be used, and a job whose message was refused: a change of the document sends the message.
//   - One message at a time is being sent to an address. It reports all jobs that wait for the address, may be
//     reported, and have the same settings.
//   - sent has, by job, the time of the last message about the job, if that is less than NotifyInterval ago.
type Notifications struct {
	shared  *step.Shared
	config  *config.Set
	pending map[string]*pending
	// inFlight has, by job, the number of the message that is being sent. The job may have been deregistered since,
	// and registered again.
	inFlight  map[string]int64
	messages  map[int64]message // that are being sent, by number
	addresses map[string]*address
	sent      map[string]time.Time
	changed   store.Changed
	lastSeq   int64
	outgoing  []Notification // those of this step
}

// New makes a Notifications without pending messages. Restore adds those that are stored.
func New(s *step.Shared, k *config.Set) *Notifications {
	return &Notifications{shared: s, config: k, pending: map[string]*pending{}, inFlight: map[string]int64{},
		messages: map[int64]message{}, addresses: map[string]*address{}, sent: map[string]time.Time{}}
}

// Restore adds the stored message of a job. It fails if value cannot be decoded.
func (ns *Notifications) Restore(job string, value []byte) error {
	var n pending
	if err := json.Unmarshal(value, &n); err != nil {
		return err
	}
	ns.shared.Clamp(0, &n.Since)
	if n.First.IsZero() { // an earlier release stored it
		n.First, n.Last = n.Since, n.Since
	}
	if job == Operators {
		n.Refused = "" // their settings change only when servers start again
	}
	n.problem = n.Refused
	// If the message seems to be too old, no leader has tried to send it meanwhile, or the clock is wrong.
	if now := ns.shared.Now(); n.Refused == "" && now.Sub(n.Since) > NotifyTimeout {
		n.Since = now
		ns.changed.Add(job)
	}
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
	out := ns.outgoing
	ns.outgoing = nil
	return out
}

// Unsent is a message whose sending has failed so far. Since is in the time of the term (clock.Clock), and Problem is
// the failure of the last try.
type Unsent struct {
	Execution string
	Tries     int
	Since     time.Time
	Problem   string
}

// Unsent returns the message of a job whose sending has failed so far; false if there is none.
func (ns *Notifications) Unsent(job string) (u Unsent, found bool) {
	if n := ns.pending[job]; n != nil && n.problem != "" {
		return Unsent{n.Execution, n.tries, n.Since, n.problem}, true
	}
	return u, false
}

// Jobs returns the names of all jobs with a pending message, sorted.
func (ns *Notifications) Jobs() []string { return step.SortedKeys(ns.pending) }

// add returns the job's pending message, which it makes if there is none, for the caller to add a failure or a notice.
func (ns *Notifications) add(job string) *pending {
	n, now := ns.pending[job], ns.shared.Wall()
	if n == nil {
		n = &pending{Since: ns.shared.Now(), First: now}
		ns.pending[job] = n
	}
	if n.seq != 0 && n.firstAfter.IsZero() {
		n.firstAfter = now
	}
	n.Last, n.Refused = now, ""
	ns.changed.Add(job)
	return n
}

// report returns what the message says.
func (n *pending) report() Report {
	return Report{Failure: n.Failure, Further: n.Further, Notices: slices.Clone(n.Notices), Omitted: n.Omitted,
		First: n.First, Last: n.Last}
}

// setSent records that the failures and notices in the message that is being sent were sent. It returns whether others
// have been added since.
func (n *pending) setSent() (further bool) {
	if n.Execution != "" {
		if n.Further -= n.reported; n.Further < 0 {
			n.Failure, n.Further = Failure{}, 0
		}
	}
	n.Notices = slices.Delete(n.Notices, 0, n.noticed)
	n.Omitted -= n.omitted
	n.noticed, n.omitted = 0, 0
	return n.Execution != "" || len(n.Notices) > 0
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

// expire drops a message that could not be sent within NotifyTimeout.
func (ns *Notifications) expire(job string) {
	n := ns.pending[job]
	ns.shared.Note(step.Note{Kind: step.NoteNotificationDropped, Job: job, Execution: n.Execution, Problem: true,
		Detail: fmt.Sprintf("it was not sent within %s and is dropped, tried %s: %s", NotifyTimeout,
			problem.Counted(n.tries, "time"), n.problem)})
	ns.Drop(job)
}

// Write adds the messages that were added, changed or removed in this step to its commit.
func (ns *Notifications) Write(r *store.Commit) {
	store.PutChanged(r, store.PathNotification, ns.pending, &ns.changed)
}

// ReportFailure notifies people of a failed run, if the job's present document has an error handler that does so. It
// must be called in the step whose commit has the result. For a run of a daemon, f describes the one shard that made
// the run.
func (ns *Notifications) ReportFailure(job string, f Failure) {
	if ns.recipient(job) == nil {
		return
	}
	f.FailedShards = max(f.FailedShards, len(f.Shards))
	f.Shards = f.Shards[:min(len(f.Shards), FailedShardsShown)]
	n := ns.add(job)
	if n.Execution != "" {
		n.Further++
	}
	n.Failure = f
	ns.Send(job)
}

// Notify sends a notice to the people of a job, or to Operators, if they are to be notified. It must be called in the
// step whose commit records that the notice was given.
func (ns *Notifications) Notify(job string, why reason.Reason) {
	if ns.recipient(job) == nil {
		return
	}
	n := ns.add(job)
	n.Notices = append(n.Notices, Notice{At: ns.shared.Wall(), Why: why})
	if len(n.Notices) > MaxNotices {
		n.Notices = slices.Delete(n.Notices, 0, 1)
		if n.noticed > 0 {
			n.noticed-- // the message that is being sent has it
		} else {
			n.Omitted++
		}
	}
	ns.Send(job)
}

// recipient returns the settings by which the people of a job, or Operators, are notified; nil if they are not.
func (ns *Notifications) recipient(job string) *jobs.Config {
	c := &ns.shared.Opt.Operators
	if job != Operators {
		j := ns.config.Job(job)
		if j == nil || j.Config() == nil {
			return nil
		}
		c = j.Config()
	}
	if !c.Notifies() {
		return nil
	}
	return c
}

// settings returns the settings by which a job notifies people, and its address; both are "" if it does not.
func (ns *Notifications) settings(job string) (settings, address string) {
	c := ns.recipient(job)
	if c == nil {
		return "", ""
	}
	return c.NotifySettings(), c.NotifyAddress()
}

// IgnoresFailures reports whether the owner of a job wants its failures ignored (jobErrorHandlerType IGNORE). The
// log then does not mark them as problems.
func (ns *Notifications) IgnoresFailures(job string) bool {
	j := ns.config.Job(job)
	return j != nil && j.Config() != nil && j.Config().JobErrorHandlerType == jobs.HandlerIgnore
}

// NextTry returns, in the time of the term, when the pending message of a job may be tried again, zero before its first
// failure; false if the job has none.
func (ns *Notifications) NextTry(job string) (at time.Time, found bool) {
	n := ns.pending[job]
	if n == nil {
		return time.Time{}, false
	}
	_, to := ns.settings(job)
	if a := ns.addresses[to]; a != nil && !n.after.IsZero() && a.next.After(n.after) {
		return a.next, true
	}
	return n.after, true
}

// LastSeq returns the number of the last message of this term, 0 before the first.
func (ns *Notifications) LastSeq() int64 { return ns.lastSeq }

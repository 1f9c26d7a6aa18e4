package notifications

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/reason"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
)

// Failure is a run that failed: an execution, or one run of a daemon's shard.
type Failure struct {
	Execution string    `json:"execution"`
	Fire      time.Time `json:"fire"`
	// Shards are the first of those that failed, FailedShards is how many there are.
	Shards       []FailedShard `json:"shards"`
	FailedShards int           `json:"failedShards"`
}

// FailedShard is a shard of a run that failed, and why.
type FailedShard struct {
	Item   int              `json:"item"`
	State  executions.State `json:"state"`
	TaskID string           `json:"taskId,omitempty"`
	Agent  string           `json:"agent,omitempty"`
	Cause  reason.Reason    `json:"cause,omitzero"`
}

// Notification tells people of a job's newest failure. NotificationSent with the same Job and Seq is its outcome.
type Notification struct {
	Seq int64
	// Job is the job as it is now, with the secrets of its handler: they are neither written nor logged.
	Job jobs.Config
	Failure
	// Further is how many failures more there were since people were told last.
	Further int
}

// NotificationSent is the outcome of a Notification: Problem is "" when people were told. After any other they may have been told, too.
type NotificationSent struct {
	Job     string
	Seq     int64
	Problem string
}

func (NotificationSent) CoreEvent() {}

const (
	// notifyEvery is the least time between two messages about one job.
	NotifyEvery = time.Minute
	// A message that could not be sent is tried again after so long, each time twice as long up to the most, and no more when it is old.
	notifyFirst = time.Second
	NotifyMost  = 10 * time.Minute
	NotifyFor   = 24 * time.Hour
	// failedShardsShown is how many of a run's failed shards a message names.
	FailedShardsShown = 5
)

// pendingNotification is the notification that is pending of a job: one message, however many failures there are. It is written with
// the result that it reports and removed when it was sent, so that people hear of each failure at least once.
type pending struct {
	Failure
	Further int       `json:"further,omitempty"`
	Since   time.Time `json:"since"` // the first of these failures

	// seq is that of the message under way, 0 while there is none; told is how many failures it tells of.
	seq  int64
	told int
	// How often it could not be sent, when it may be tried again, and what was the matter.
	tries   int
	after   time.Time
	problem string
}

// notifications are what people are to be told, by job. These hold between any two calls of its methods:
//
//   - pending has at most one of each job; of each one that is not under way a timer is set for when it may be sent, or its
//     job's document can't be used: then the document's change sends it;
//   - sent has when people were told last, of the jobs of which that was less than notifyEvery ago.
type Notifications struct {
	*step.Shared
	config  *config.Set
	pending map[string]*pending
	// underWay is the message under way of a job, which may have been deregistered meanwhile, and registered again.
	underWay map[string]int64
	sent     map[string]time.Time
	changed  store.Changed
	lastSeq  int64
	out      []Notification // those of this step
}

func New(s *step.Shared, k *config.Set) *Notifications {
	return &Notifications{Shared: s, config: k, pending: map[string]*pending{}, underWay: map[string]int64{}, sent: map[string]time.Time{}}
}

// restore takes in what is stored of a job.
func (ns *Notifications) Restore(job string, value []byte) error {
	var n pending
	if err := json.Unmarshal(value, &n); err != nil {
		return err
	}
	ns.Clamp(0, &n.Since)
	ns.pending[job] = &n
	return nil
}

// loaded has what was restored be sent.
func (ns *Notifications) Loaded() {
	for _, job := range step.SortedKeys(ns.pending) {
		ns.Timers.At(ns.Now(), func(time.Time) { ns.SendNotification(job) })
	}
}

// take returns the messages of a step that ends.
func (ns *Notifications) Take() []Notification {
	out := ns.out
	ns.out = nil
	return out
}

// Unsent is a message that could not be sent yet.
type Unsent struct {
	Execution string
	Tries     int
	Since     time.Time // of the time of the term
	Problem   string
}

// unsent is the message of a job that could not be sent yet, if there is one.
func (ns *Notifications) Unsent(job string) (u Unsent, is bool) {
	if n := ns.pending[job]; n != nil && n.problem != "" {
		return Unsent{n.Execution, n.tries, n.Since, n.problem}, true
	}
	return u, false
}

// jobs are those with a pending message, sorted.
func (ns *Notifications) Jobs() []string { return step.SortedKeys(ns.pending) }

// add takes a failure that people are to be notified of.
func (ns *Notifications) add(job string, f Failure) {
	n := ns.pending[job]
	if n == nil {
		n = &pending{Since: ns.Now()}
		ns.pending[job] = n
	} else {
		n.Further++
	}
	n.Failure = f
	ns.changed.Add(job)
}

func (ns *Notifications) Drop(job string) {
	if ns.pending[job] != nil {
		delete(ns.pending, job)
		ns.changed.Add(job)
	}
}

// due is when a pending message may be sent.
func (ns *Notifications) due(job string) time.Time {
	due := ns.pending[job].after
	if told, ok := ns.sent[job]; ok && told.Add(NotifyEvery).After(due) {
		due = told.Add(NotifyEvery)
	}
	return due
}

// answered takes the outcome of a message. What has come since it left stays pending.
func (ns *Notifications) answered(e NotificationSent) {
	if e.Problem == "" {
		ns.sent[e.Job] = ns.Now()
		ns.Numbers.NotificationsSent++
	} else {
		ns.Numbers.NotificationsFailed++
	}
	if ns.underWay[e.Job] == e.Seq {
		delete(ns.underWay, e.Job)
	}
	n := ns.pending[e.Job]
	if n == nil || n.seq != e.Seq {
		return // its job was deregistered meanwhile
	}
	n.seq = 0
	if e.Problem == "" {
		n.tries, n.after, n.problem, n.Since = 0, time.Time{}, "", ns.Now()
		if n.Further -= n.told; n.Further < 0 {
			ns.Drop(e.Job)
		}
		ns.changed.Add(e.Job)
		return
	}
	n.tries++
	n.after = ns.Now().Add(step.Backoff(notifyFirst, NotifyMost, n.tries-1))
	n.problem = e.Problem
	if ns.Now().Sub(n.Since) < NotifyFor {
		ns.Note(step.Note{Kind: step.NoteNotification, Job: e.Job, Execution: n.Execution, Problem: true,
			Detail: fmt.Sprintf("it could not be sent, and is tried again at %s: %s", ns.Shown(n.after).Format(time.TimeOnly), e.Problem)})
		return
	}
	ns.Note(step.Note{Kind: step.NoteNotificationEnd, Job: e.Job, Execution: n.Execution, Problem: true,
		Detail: fmt.Sprintf("it could not be sent for %s and is given up, tried %s: %s", NotifyFor, problem.Counted(n.tries, "time"), e.Problem)})
	ns.Drop(e.Job)
}

func (ns *Notifications) Write(r *store.Commit) {
	store.PutChanged(r, store.PathNotification, ns.pending, &ns.changed)
}

// reportFailure has people be notified of a run that failed, if its job, as it is now, has a handler for that. Whoever ends a run calls it in
// the step whose commit has the result. A daemon's run is one shard: its item, task, agent and cause, the fire, and the id of the
// execution that the shard belongs to.
func (ns *Notifications) ReportFailure(job string, f Failure) {
	j := ns.config.Job(job)
	if j == nil || j.Config() == nil || !j.Config().Notifies() {
		return
	}
	f.FailedShards = max(f.FailedShards, len(f.Shards))
	f.Shards = f.Shards[:min(len(f.Shards), FailedShardsShown)]
	ns.add(job, f)
	ns.SendNotification(job)
}

// sendNotification lets out what is pending of a job, as soon as it may.
func (ns *Notifications) SendNotification(job string) {
	n := ns.pending[job]
	if n == nil || ns.underWay[job] != 0 {
		return
	}
	j := ns.config.Job(job)
	switch {
	case j != nil && ns.config.IsFaulty(j) && j.Config() == nil:
		return // it may have a handler again once it is mended
	case j == nil || j.Config() == nil || !j.Config().Notifies():
		ns.Drop(job)
		return
	}
	if due := ns.due(job); due.After(ns.Now()) {
		ns.Timers.At(due, func(time.Time) { ns.SendNotification(job) })
		return
	}
	ns.lastSeq++
	n.seq, n.told = ns.lastSeq, n.Further+1
	ns.underWay[job] = n.seq
	ns.out = append(ns.out, Notification{Seq: n.seq, Job: *j.Config(), Failure: n.Failure, Further: n.Further})
	ns.Fence() // a deposed leader tells nobody
}

// notificationSent takes the outcome of a message.
func (ns *Notifications) NotificationSent(e NotificationSent) {
	ns.answered(e)
	if _, told := ns.sent[e.Job]; told {
		ns.Timers.At(ns.Now().Add(NotifyEvery), func(now time.Time) {
			if at, ok := ns.sent[e.Job]; ok && now.Sub(at) >= NotifyEvery {
				delete(ns.sent, e.Job)
			}
		})
	}
	ns.SeeJob(e.Job) // its notes say that people could not be notified yet
	ns.SendNotification(e.Job)
}

// failureOf is what a notification of an execution that failed says.
func FailureOf(e *executions.Execution) Failure {
	f := Failure{Execution: e.ID(), Fire: e.Fire()}
	for i := range e.NumShards() {
		s := e.Shard(i)
		if s.State() == executions.Finished || s.State() == executions.Killed {
			continue
		}
		f.FailedShards++
		if len(f.Shards) < FailedShardsShown {
			f.Shards = append(f.Shards, FailedShard{Item: s.Item(), State: s.State(), TaskID: s.TaskID(), Agent: s.Agent(), Cause: s.Cause()})
		}
	}
	return f
}

// ignoresFailures reports whether a job's failures are no problem for its owner (jobErrorHandlerType IGNORE): they are not logged as one.
func (ns *Notifications) IgnoresFailures(job string) bool {
	j := ns.config.Job(job)
	return j != nil && j.Config() != nil && j.Config().JobErrorHandlerType == jobs.HandlerIgnore
}

// After is the after.
func (p *pending) After() time.Time { return p.after }

// Pending is the pending.
func (n *Notifications) Pending() map[string]*pending { return n.pending }

// LastSeq is the lastSeq.
func (n *Notifications) LastSeq() int64 { return n.lastSeq }

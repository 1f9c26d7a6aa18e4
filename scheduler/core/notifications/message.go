package notifications

import (
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
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

// Notice is a sentence about something other than a failed run, for instance that a machine is silent or that the job
// is blocked. At is when it was reported, on the wall clock.
type Notice struct {
	At  time.Time     `json:"at"`
	Why reason.Reason `json:"why"`
}

// FailedShard is one shard of a failed run, with the state in which it ended and the cause.
type FailedShard struct {
	Item   int              `json:"item"`
	State  executions.State `json:"state"`
	TaskID string           `json:"taskId,omitempty"`
	Agent  string           `json:"agent,omitempty"`
	Cause  reason.Reason    `json:"cause,omitzero"`
}

// Notification is a message for the shell to send: about one job, and about other jobs whose messages go to the same
// recipients. A NotificationSent with the same Seq reports its outcome.
type Notification struct {
	// Seq numbers the messages of a term, from 1.
	Seq int64
	// Job is the job's present document, with the secrets of its error handler. They must be neither written nor
	// logged. The message for Operators has Options.Operators, whose name is empty.
	Job jobs.Config
	Report
	// Others are the reports of further jobs with the same settings, which share the message. One of them may be that
	// of Operators, with an empty name.
	Others []Other
}

// Report is what a message says of one job: its newest failure, how many others there were, and the notices. There is
// at least one failure or notice.
type Report struct {
	Failure // the zero Failure if no run has failed
	// Further counts the other failures since the last sent message about the job.
	Further int
	// Notices are the newest MaxNotices since the last sent message, the oldest first. Omitted counts those before.
	Notices []Notice
	Omitted int
	// First and Last are when the first and the newest failure or notice was reported, on the wall clock.
	First, Last time.Time
}

// Failures returns the number of failed runs that are reported.
func (r *Report) Failures() int {
	if r.Execution == "" {
		return 0
	}
	return 1 + r.Further
}

// Other is what a message says of another job.
type Other struct {
	Job string
	Report
}

// Error is the outcome of a message that was not sent, or did not reach all recipients. Any error of another type is
// temporary.
type Error struct {
	// Text says what happened, and what to do, without any secret.
	Text string
	// Final says that the message was refused permanently: trying again with the same settings can't help.
	Final bool
	// Sent says that the recipients were notified nevertheless, except those that Text names.
	Sent bool
}

func (e *Error) Error() string { return e.Text }

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

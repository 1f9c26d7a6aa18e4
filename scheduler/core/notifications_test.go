package core

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// withWebhook makes a job send its failures to a webhook, with a secret.
func withWebhook(j *jobs.Config) {
	j.JobErrorHandlerType = jobs.HandlerWebhook
	j.Props = document.Texts{jobs.PropWebhookURL: {Value: "https://h/x"}, jobs.PropWebhookSecret: {Value: "hunter2"}}
}

// TestN1SecretsStayInTheJobsDocument checks that the secrets of a webhook are only in the job's document and in the
// message, not in other records, in the log, or in what is sent to agents.
func TestN1SecretsStayInTheJobsDocument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withWebhook)
	d := s.update(l[0], cluster.Failed)
	if len(d.Notifications) != 1 || d.Notifications[0].Job.Prop(jobs.PropWebhookSecret) != "hunter2" || !d.Fenced {
		t.Fatalf("notifications %+v, fenced %v", d.Notifications, d.Fenced)
	}
	for path, value := range s.stored {
		if strings.Contains(string(value), "hunter2") && path != "/config/job/my_job" {
			t.Errorf("the secret is in %s: %s", path, value)
		}
	}
	for _, n := range d.Notes {
		if strings.Contains(fmt.Sprint(n), "hunter2") {
			t.Errorf("the secret is in a note for the log: %+v", n)
		}
	}
	if described, err := l[0].Description(); err != nil || strings.Contains(string(described), "hunter2") {
		t.Errorf("the secret is sent to the agent: %s, %v", described, err)
	}
}

// TestN1ARunOfADaemon checks that a failed run of a daemon's shard leads to a notification like that of an execution.
func TestN1ARunOfADaemon(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(withWebhook)
	fire := s.now
	s.core.notifications.ReportFailure("my_job",
		notifications.Failure{Execution: "my_job@daemon", Fire: fire,
			Shards: []notifications.FailedShard{{Item: 2, State: executions.Failed, Cause: reason.FromText("boom")}}})
	got := s.step().Notifications
	if len(got) != 1 || got[0].FailedShards != 1 || got[0].Shards[0].Cause.String() != "boom" ||
		!got[0].Fire.Equal(fire) {
		t.Fatalf("notifications %+v", got)
	}
}

// TestN1FewShardsAreNamed checks that a notification names only the first failed shards, so that its record stays
// small, and counts all of them.
func TestN1FewShardsAreNamed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(withWebhook, func(j *jobs.Config) { j.ShardingTotalCount = 7 })
	for i := range 7 {
		state := cluster.Failed
		if i == 0 {
			state = cluster.Finished
		}
		s.update(l[i], state)
	}
	n := s.last.Notifications
	if len(n) != 1 || n[0].FailedShards != 6 || len(n[0].Shards) != notifications.FailedShardsShown ||
		n[0].Shards[0].Item != 1 {
		t.Fatalf("notifications %+v", n)
	}
}

// TestN2AMessageIsDroppedAfterADay checks that a notification that cannot be sent is tried many times, is dropped after
// a day, and that the log says so.
func TestN2AMessageIsDroppedAfterADay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withWebhook)
	began := s.now
	d := s.update(l[0], cluster.Failed)
	tries := 0
	for {
		next, waits := s.core.notifications.NextTry("my_job")
		if !waits {
			break
		}
		if len(d.Notifications) == 0 {
			s.now = next
			d = s.step()
			continue
		}
		tries++
		d = s.step(notifications.NotificationSent{Job: "my_job", Seq: d.Notifications[0].Seq, Problem: "no answer"})
	}
	if took := s.now.Sub(began); took < notifications.NotifyTimeout ||
		took > notifications.NotifyTimeout+notifications.MaxNotifyDelay || tries < 140 || tries > 170 {
		t.Errorf("dropped after %s and %d tries", took, tries)
	}
	if last := d.Notes[len(d.Notes)-1]; last.Kind != step.NoteNotificationDropped ||
		!strings.Contains(last.Detail, "is dropped") {
		t.Errorf("the last note is %+v", last)
	}
	if _, exists := s.stored["/scheduler/notification/my_job"]; exists {
		t.Error("the record of the dropped notification stays")
	}
}

// TestN2ADeregisteredJob deregisters a job whose notification is being sent, and registers another job of that name.
// The next notification must not be sent within a minute of the former one, and the outcome of the former one must not
// count for it.
func TestN2ADeregisteredJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withWebhook)
	old := s.update(l[0], cluster.Failed).Notifications[0]
	s.apply(s.core.planDeregisterJob("my_job"))
	if _, exists := s.stored["/scheduler/notification/my_job"]; exists {
		t.Fatal("the record of the deregistered job's notification stays")
	}
	s.job(oneShard, withWebhook)
	s.step(notifications.NotificationSent{Job: "my_job", Seq: old.Seq})
	s.core.notifications.ReportFailure("my_job", notifications.Failure{Shards: []notifications.FailedShard{{}}})
	if d := s.step(); len(d.Notifications) > 0 {
		t.Error("two notifications within a minute")
	}
	s.now = s.now.Add(notifications.NotifyInterval)
	if d := s.step(); len(d.Notifications) != 1 {
		t.Errorf("after a minute, notifications %+v", d.Notifications)
	}
	if s.now = s.now.Add(2 * time.Minute); len(s.step().Notifications) > 0 {
		t.Error("a second notification while the first is being sent")
	}
}

// TestErrorHandlersThatSendNoNotification checks that the handlers LOG and THROW log a failure as a problem, and that
// IGNORE logs it without making it a problem. None of them sends a notification [D81].
func TestErrorHandlersThatSendNoNotification(t *testing.T) {
	t.Parallel()
	for handler, problem := range map[string]bool{"": true, jobs.HandlerLog: true, jobs.HandlerThrow: true,
		jobs.HandlerIgnore: false} {
		s := newStage(t)
		l := s.runJob(oneShard, func(j *jobs.Config) { j.JobErrorHandlerType = handler })
		d := s.update(l[0], cluster.Failed)
		if len(d.Notes) != 2 || len(d.Notifications) > 0 {
			t.Fatalf("%s: notes %+v, notifications %+v", handler, d.Notes, d.Notifications)
		}
		for _, n := range d.Notes {
			if n.Problem != problem || !strings.HasPrefix(n.Detail, string(executions.Failed)) {
				t.Errorf("%s: the note is %+v", handler, n)
			}
		}
	}
}

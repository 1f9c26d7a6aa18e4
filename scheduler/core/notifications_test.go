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

// withWebhook makes a job notify people, with a secret.
func withWebhook(j *jobs.Config) {
	j.JobErrorHandlerType = jobs.HandlerWebhook
	j.Props = document.Texts{jobs.PropWebhookURL: {Value: "https://h/x"}, jobs.PropWebhookSecret: {Value: "hunter2"}}
}

// The secrets leave only with the message: neither its record nor the records of a run contain them.
func TestN1SecretsStayInTheJobsDocument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withWebhook)
	d := s.update(l[0], cluster.Failed)
	if len(d.Notifications) != 1 || d.Notifications[0].Job.Prop(jobs.PropWebhookSecret) != "hunter2" || !d.Fenced {
		t.Fatalf("people are told %+v, fenced %v", d.Notifications, d.Fenced)
	}
	for path, value := range s.stored {
		if strings.Contains(string(value), "hunter2") && path != "/config/job/my_job" {
			t.Errorf("a secret is in %s: %s", path, value)
		}
	}
	for _, n := range d.Notes {
		if strings.Contains(fmt.Sprint(n), "hunter2") {
			t.Errorf("a secret is in a note: %+v", n)
		}
	}
	if described, err := l[0].Description(); err != nil || strings.Contains(string(described), "hunter2") {
		t.Errorf("a secret goes to the agent: %s, %v", described, err)
	}
}

// People are notified of a run of a daemon's shard as of an execution.
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
		t.Fatalf("people are told %+v", got)
	}
}

// A message names few shards and counts the others, so that its record stays small.
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
		t.Fatalf("people are told %+v", n)
	}
}

// A message that cannot be sent is dropped after a day, and the log says so.
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
		t.Errorf("given up after %s and %d tries", took, tries)
	}
	if last := d.Notes[len(d.Notes)-1]; last.Kind != step.NoteNotificationDropped ||
		!strings.Contains(last.Detail, "is dropped") {
		t.Errorf("the log says %+v", last)
	}
	if _, there := s.stored["/scheduler/notification/my_job"]; there {
		t.Error("its record stays")
	}
}

// A job that was deregistered and registered again under its name is not notified of too soon, nor because of an old
// message's outcome.
func TestN2ADeregisteredJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.runJob(oneShard, withWebhook)
	old := s.update(l[0], cluster.Failed).Notifications[0]
	s.apply(s.core.planDeregisterJob("my_job"))
	if _, there := s.stored["/scheduler/notification/my_job"]; there {
		t.Fatal("its record stays")
	}
	s.job(oneShard, withWebhook)
	s.step(notifications.NotificationSent{Job: "my_job", Seq: old.Seq})
	s.core.notifications.ReportFailure("my_job", notifications.Failure{Shards: []notifications.FailedShard{{}}})
	if d := s.step(); len(d.Notifications) > 0 {
		t.Error("two messages within a minute")
	}
	s.now = s.now.Add(notifications.NotifyInterval)
	if d := s.step(); len(d.Notifications) != 1 {
		t.Errorf("after a minute people are told %+v", d.Notifications)
	}
	if s.now = s.now.Add(2 * time.Minute); len(s.step().Notifications) > 0 {
		t.Error("two messages under way")
	}
}

// LOG and THROW log a failure as a problem, IGNORE just logs it; it is a failure in any case [D81].
func TestErrorHandlersThatTellNobody(t *testing.T) {
	t.Parallel()
	for handler, problem := range map[string]bool{"": true, jobs.HandlerLog: true, jobs.HandlerThrow: true,
		jobs.HandlerIgnore: false} {
		s := newStage(t)
		l := s.runJob(oneShard, func(j *jobs.Config) { j.JobErrorHandlerType = handler })
		d := s.update(l[0], cluster.Failed)
		if len(d.Notes) != 2 || len(d.Notifications) > 0 {
			t.Fatalf("%s: notes %+v, people are told %+v", handler, d.Notes, d.Notifications)
		}
		for _, n := range d.Notes {
			if n.Problem != problem || !strings.HasPrefix(n.Detail, string(executions.Failed)) {
				t.Errorf("%s: %+v", handler, n)
			}
		}
	}
}

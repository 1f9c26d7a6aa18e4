package core

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/store"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// notified returns the codes of all notices for the people of a job, or for notifications.Operators, since the
// beginning. They are all still stored, because the tests that use it report no message as sent.
func (s *stage) notified(job string) (codes []string) {
	s.t.Helper()
	value := s.stored[store.Under(store.PathNotification, job)]
	if value == nil {
		return nil
	}
	var kept struct{ Notices []notifications.Notice }
	if err := json.Unmarshal(value, &kept); err != nil {
		s.t.Fatal(err)
	}
	for _, n := range kept.Notices {
		codes = append(codes, string(n.Why.Code()))
	}
	return codes
}

// expectNotices checks what the operators were notified of so far.
func (s *stage) expectNotices(want ...string) {
	s.t.Helper()
	if got := s.notified(notifications.Operators); !slices.Equal(got, want) {
		s.t.Errorf("at %s operators were notified of %v, want %v", s.now.Format(time.TimeOnly), got, want)
	}
}

// withOperators starts a term whose operators are notified.
func (s *stage) withOperators() {
	s.opt.Operators = jobs.Config{JobErrorHandlerType: jobs.HandlerWebhook,
		Props: document.Texts{jobs.PropWebhookURL: {Value: "https://h/ops"}}}
	s.restart()
}

// beatingWithOperators is like startBeating, but in a term whose operators are notified. The executors send heartbeats
// for the first minute.
func beatingWithOperators(t *testing.T, agents int, change func(*jobs.Config)) *beating {
	t.Helper()
	b := startBeating(t, agents, change)
	b.withOperators()
	for i, l := range b.launches {
		b.update(l, cluster.Running, func(u *cluster.Update) { u.AgentID = b.agents[i] })
	}
	b.beatFor(time.Minute)
	return b
}

// problemsOf returns the problems of the given kinds that the overview shows, each as its kind and its reason.
func (s *stage) problemsOf(kinds ...views.ProblemKind) (found []string) {
	for _, p := range s.core.views.Facts().Problems {
		if slices.Contains(kinds, p.Kind) {
			found = append(found, string(p.Kind)+": "+p.Why.String())
		}
	}
	return found
}

// TestN3AMachineIsSilentAndBack checks that a silence of less than half a minute is not reported. A longer one is
// reported once, and its end is reported after the machine was heard for a minute. A new leader must not repeat either
// notice.
func TestN3AMachineIsSilentAndBack(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 3, func(j *jobs.Config) { j.Failover = true })
	b.beatFor(24*time.Second, "S1")
	b.beatFor(2 * time.Minute)
	b.expectNotices()

	b.beatFor(40*time.Second, "S1")
	b.expectNotices("machine_silent")
	if got := b.problemsOf(views.ProblemAgentUnreachable); len(got) != 1 {
		t.Errorf("the overview has %q", got)
	}
	b.restart() // a new leader
	for i, l := range b.launches {
		b.update(l, cluster.Running, func(u *cluster.Update) { u.AgentID = b.agents[i] })
	}
	b.beatFor(50 * time.Second)
	b.expectNotices("machine_silent")
	b.beatFor(45 * time.Second)
	b.expectNotices("machine_silent", "machine_back")
	b.beatFor(2 * time.Hour)
	b.expectNotices("machine_silent", "machine_back")
	for path := range b.stored {
		if strings.HasPrefix(path, store.PathIncident) {
			t.Errorf("%s is still stored", path)
		}
	}
}

// TestN3AMachineIsGone checks that a silent machine is reported as gone when the cluster removes its agent.
func TestN3AMachineIsGone(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 3, func(j *jobs.Config) { j.Failover = true })
	b.beatFor(40*time.Second, "S1")
	b.step(b.clusterEvent(cluster.Failure{AgentID: "S1"}))
	b.beatFor(2*time.Minute, "S1")
	b.expectNotices("machine_silent", "machine_gone")
}

// TestN3AReplacedAttemptThatIsBackBlocksNothing checks that an attempt that was given up and replaced does not block
// its job when it is back, so that the job's people are not notified.
func TestN3AReplacedAttemptThatIsBackBlocksNothing(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 1, func(j *jobs.Config) { withWebhook(j); j.Failover = true })
	b.beatFor(65*time.Second, "S1")
	b.offer("S2", 3, 8192)
	later := b.answerAccepts()
	if len(later) != 1 {
		t.Fatalf("%d launches on another agent", len(later))
	}
	b.update(later[0], cluster.Running)
	b.beatFor(30*time.Second, "S1")
	b.update(b.launches[0], cluster.Running, func(u *cluster.Update) { u.AgentID = "S1" })
	b.beatFor(40 * time.Second)
	if got := b.notified("my_job"); len(got) > 0 {
		t.Errorf("the job's people were notified of %v", got)
	}
}

// TestN3TheEndOfASilenceIsReportedWithoutAnyTask checks that the leader wakes to report the end of a silence, although
// no task runs and nothing else happens in the cluster.
func TestN3TheEndOfASilenceIsReportedWithoutAnyTask(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 1, func(*jobs.Config) {})
	b.beatFor(2*time.Minute, "S1")
	b.expectNotices("machine_silent")
	b.step(b.clusterEvent(cluster.Failure{AgentID: "S1", Gone: true}))
	b.update(b.launches[0], cluster.Gone, fromMaster(cluster.ReasonAgentRemoved))
	b.runFor(3 * time.Minute)
	b.expectNotices("machine_silent", "machine_gone")
}

// TestN4ASilenceIsCountedOnceForAllLeaders checks that several leaders during one silence do not count it several
// times, so that the machine is not cordoned for flapping.
func TestN4ASilenceIsCountedOnceForAllLeaders(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 3, func(j *jobs.Config) { j.UnreachableSeconds = 3600 })
	for range 4 {
		b.beatFor(50*time.Second, "S1")
		b.restart()
		for i, l := range b.launches {
			b.update(l, cluster.Running, func(u *cluster.Update) { u.AgentID = b.agents[i] })
		}
	}
	b.beatFor(time.Minute, "S1")
	b.expectNotices("machine_silent")
}

// TestN4TheOnlyMachineIsNotCordoned checks that the only machine is not cordoned although it flaps, because nothing
// could run without it.
func TestN4TheOnlyMachineIsNotCordoned(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 1, func(j *jobs.Config) { j.UnreachableSeconds = 600 })
	for range 5 {
		b.beatFor(20*time.Second, "S1")
		b.beatFor(70 * time.Second)
	}
	if b.core.machines.IsCordoned("S1") {
		t.Error("the only machine is cordoned")
	}
}

// TestN3MessagesToOperatorsThatAreRefused checks that the overview names no job for a refused message to operators,
// and that the message is tried again after a restart.
func TestN3MessagesToOperatorsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.withOperators()
	s.core.notifications.Notify(notifications.Operators, reason.FromText("one"))
	seq := s.step().Notifications[0].Seq
	s.step(notifications.NotificationSent{Job: "", Seq: seq, Problem: "401", Final: true})
	for _, p := range s.core.views.Facts().Problems {
		if p.Kind == views.ProblemUnnotified && p.Job != "" {
			t.Errorf("the overview has %+v", p)
		}
	}
	s.restart()
	s.runFor(time.Minute)
	if n := s.core.notifications.LastSeq(); n != 1 {
		t.Errorf("%d messages were sent after another start", n)
	}
}

// TestN3MostMachinesAreSilent checks that a silence of most machines is reported as one, until the cluster reports the
// machines as unreachable.
func TestN3MostMachinesAreSilent(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 4, func(j *jobs.Config) { j.Failover = true })
	b.beatFor(5*time.Minute, "S1", "S2", "S3")
	b.expectNotices("most_silent")
	if got := b.problemsOf(views.ProblemMostSilent); len(got) != 1 || !strings.Contains(got[0], "3 of 4") {
		t.Errorf("the overview has %q", got)
	}
	b.beatFor(3 * time.Minute)
	b.expectNotices("most_silent", "most_heard_again")

	b.beatFor(time.Minute, "S1", "S2", "S3")
	for i := range 3 { // the cluster notices it
		b.update(b.launches[i], cluster.Unreachable, fromMaster(cluster.ReasonAgentRemoved),
			func(u *cluster.Update) { u.AgentID = b.agents[i] })
	}
	b.beatFor(90*time.Second, "S1", "S2", "S3")
	b.expectNotices("most_silent", "most_heard_again", "most_silent", "machine_silent", "machine_silent",
		"machine_silent", "most_unreachable")
}

// TestN3ABlockedJob checks that the operators and the people of a blocked job are notified, that the overview says
// what blocks the job, and that its people are notified again when it is no longer blocked.
func TestN3ABlockedJob(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 1, func(j *jobs.Config) {
		withWebhook(j)
		j.Exclusive, j.LeaseSeconds, j.Failover = true, 3600, true
	})
	b.beatFor(2*time.Minute, "S1")
	b.expectNotices("machine_silent", "job_blocked")
	if got := b.notified("my_job"); !slices.Equal(got, []string{"job_blocked"}) {
		t.Errorf("the job's people were notified of %v", got)
	}
	got := b.problemsOf(views.ProblemBlocked)
	if len(got) != 1 || !strings.Contains(got[0], "lease") || !strings.Contains(got[0], "since") {
		t.Errorf("the overview has %q", got)
	}
	if n := b.core.views.Stats().JobsBlocked; n != 1 {
		t.Errorf("%d jobs are blocked", n)
	}
	b.step(Request{Token: 1, Event: operator.DeadRequested{Machine: "S1", Force: true}})
	b.beatFor(2*time.Minute, "S1")
	if got := b.notified("my_job"); !slices.Equal(got, []string{"job_blocked", "job_unblocked"}) {
		t.Errorf("the job's people were notified of %v", got)
	}
}

// TestN4AMachineThatFlaps checks that the third silence within an hour cordons a machine for ten minutes, and each
// further one for twice as long, up to forty. A cordon by an operator must not change.
func TestN4AMachineThatFlaps(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 3, func(j *jobs.Config) { j.UnreachableSeconds = 600 })
	// swing makes the machine silent and heard again, and returns how long it is cordoned from then on.
	swing := func() (cordon time.Duration) {
		b.beatFor(20*time.Second, "S1")
		b.beatFor(30 * time.Second)
		m, _ := b.core.machines.Get("S1")
		return m.Until.Sub(b.now).Round(time.Minute)
	}
	for i, want := range []time.Duration{0, 0, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 40 * time.Minute} {
		if want == 0 && b.core.machines.IsCordoned("S1") {
			t.Fatalf("cordoned after %d silences", i)
		} else if got := swing(); want > 0 && got != want-time.Minute && got != want {
			t.Errorf("silence %d: cordoned for %s, want %s", i+1, got, want)
		}
	}
	b.expectNotices("machine_flaps", "machine_flaps", "machine_flaps", "machine_flaps")
	got := b.problemsOf(views.ProblemCordoned)
	if len(got) != 1 || !strings.Contains(got[0], "3 times within an hour") {
		t.Errorf("the overview has %q", got)
	}
	b.step(Request{Token: 1, Event: operator.UncordonRequested{Machine: "S1"}})
	if swing(); b.core.machines.IsCordoned("S1") {
		t.Error("cordoned at the first silence after an operator uncordoned it")
	}
	b.step(Request{Token: 1, Event: operator.CordonRequested{Machine: "S1", Reason: "a disk"}})
	swing()
	swing()
	if m, _ := b.core.machines.Get("S1"); m.Reason != "a disk" || !m.Until.IsZero() {
		t.Errorf("the operator's cordon became %+v", m)
	}
}

// TestN4ADrainOfAMachineThatFlaps checks that a drain that keeps the reason and the end of the server's cordon is not
// replaced by the next cordon for flapping.
func TestN4ADrainOfAMachineThatFlaps(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 3, func(*jobs.Config) {})
	b.core.machines.CordonFlapping("S1", 3, b.now.Add(10*time.Minute))
	was, _ := b.core.machines.Get("S1")
	b.step(Request{Token: 1, Event: operator.DrainRequested{
		CordonRequested: operator.CordonRequested{Machine: "S1", Reason: was.Reason, Until: was.Until}}})
	if b.core.machines.CordonFlapping("S1", 4, b.now.Add(20*time.Minute)) {
		t.Error("the cordon for flapping replaces the drain")
	}
	if m, _ := b.core.machines.Get("S1"); m.Draining.IsZero() || !m.Until.Equal(was.Until) {
		t.Errorf("the drain became %+v", m)
	}
}

// TestN3ADrainedMachine checks that the end of a drain is reported once, also across a restart, and that the overview
// shows the cordoned machine.
func TestN3ADrainedMachine(t *testing.T) {
	t.Parallel()
	b := beatingWithOperators(t, 1, func(j *jobs.Config) {})
	b.step(Request{Token: 1, Event: operator.DrainRequested{
		CordonRequested: operator.CordonRequested{Machine: "S1", Reason: "a disk"}}})
	if got := b.problemsOf(views.ProblemCordoned); len(got) != 1 || !strings.Contains(got[0], "1 task is left") {
		t.Errorf("the overview has %q", got)
	}
	b.update(b.launches[0], cluster.Finished)
	b.runFor(time.Minute)
	b.expectNotices("machine_is_drained")
	if got := b.problemsOf(views.ProblemCordoned); len(got) != 1 || !strings.Contains(got[0], "is drained") {
		t.Errorf("the overview has %q", got)
	}
	b.restart()
	b.runFor(2 * time.Minute)
	b.expectNotices("machine_is_drained")
}

// TestN3AnOverdueDrain checks that operators are told when a task is left on a machine five minutes after it was to be
// empty, and again when the machine is drained. While the machine is silent, only its silence is reported.
func TestN3AnOverdueDrain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		silent []string
		want   []string // the notices before the task ends
	}{
		"the task does not end": {nil, []string{"machine_drain_overdue"}},
		"the machine is silent": {[]string{"S1"}, []string{"machine_silent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := beatingWithOperators(t, 1, func(j *jobs.Config) { j.UnreachableSeconds = 3600 })
			b.step(Request{Token: 1, Event: operator.DrainRequested{After: time.Minute,
				CordonRequested: operator.CordonRequested{Machine: "S1", Reason: "a disk"}}})
			b.beatFor(5 * time.Minute)
			b.expectNotices()
			b.beatFor(3*time.Minute, test.silent...)
			b.expectNotices(test.want...)
			b.restart()
			b.beatFor(time.Minute, test.silent...)
			b.expectNotices(test.want...)
			b.update(b.launches[0], cluster.Killed)
			b.beatFor(10*time.Second, test.silent...)
			b.expectNotices(append(test.want, "machine_is_drained")...)
		})
	}
}

// TestN3NoticesShareTheMessageOfFailures checks that notices and failures of a job are sent in one message. A notice
// that is added while a message is being sent must stay for the next one. Beyond a limit, notices are only counted.
func TestN3NoticesShareTheMessageOfFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(withWebhook)
	ns := s.core.notifications
	ns.Notify("my_job", reason.FromText("one"))
	d := s.step()
	if len(d.Notifications) != 1 || d.Notifications[0].Failures() != 0 || len(d.Notifications[0].Notices) != 1 {
		t.Fatalf("sent %+v", d.Notifications)
	}
	ns.Notify("my_job", reason.FromText("two"))
	ns.ReportFailure("my_job", notifications.Failure{Execution: "x", FailedShards: 1})
	s.step(notifications.NotificationSent{Job: "my_job", Seq: d.Notifications[0].Seq})
	d = s.stepAfter(notifications.NotifyInterval)
	if len(d.Notifications) != 1 || d.Notifications[0].Failures() != 1 || len(d.Notifications[0].Notices) != 1 ||
		d.Notifications[0].Notices[0].Why.String() != "two" {
		t.Fatalf("sent %+v", d.Notifications)
	}
	for range notifications.MaxNotices + 5 {
		ns.Notify("my_job", reason.FromText("more"))
	}
	s.step(notifications.NotificationSent{Job: "my_job", Seq: d.Notifications[0].Seq})
	d = s.stepAfter(notifications.NotifyInterval)
	r := d.Notifications[0].Report
	if r.Failures() != 0 || len(r.Notices) != notifications.MaxNotices || r.Omitted != 5 {
		t.Fatalf("sent %d failures, %d notices, %d omitted", r.Failures(), len(r.Notices), r.Omitted)
	}
	s.step(notifications.NotificationSent{Job: "my_job", Seq: d.Notifications[0].Seq})
	if len(ns.Jobs()) > 0 {
		t.Errorf("still to be sent: %v", ns.Jobs())
	}
}

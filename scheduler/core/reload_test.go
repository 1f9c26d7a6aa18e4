package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
)

// TestExternalEditsAreApplied edits, breaks, mends and deletes documents and disabled marks in the registry, as an
// operator may do, and checks the effect of each edit.
func TestExternalEditsAreApplied(t *testing.T) {
	t.Parallel()
	for _, format := range []step.DocumentFormat{step.JSONDocuments, step.YAMLDocuments} {
		s := newStage(t)
		s.opt.Documents = format
		s.restart()
		s.app()
		s.job(func(c *jobs.Config) { c.Cron = "0 0 3 * * ?" })
		const path = "/config/job/my_job"
		own := string(s.stored[path]) // the document that the scheduler wrote
		if events := s.edit(path, own, 0); events != nil {
			t.Errorf("the scheduler's own commit changes something when it is reported: %+v", events)
		}
		since := s.core.config.Job("my_job").Since()
		s.now = s.now.Add(time.Minute)
		s.edit(path, own, 1)
		if j := s.core.config.Job("my_job"); j.Version() != 1 || !j.Since().Equal(since) {
			t.Error("the same content in a new version changes more than the version (rule F2)")
		}
		// A YAML document is read whatever format the scheduler writes. Its cron counts from now, because it is new.
		edited := "jobName: my_job\nappName: my_app\njobExecutionType: TRANSIENT\ncron: 0 0 4 * * ?   # an hour later\nshardingTotalCount: 2\ncpuCount: 1\nmemoryMB: 64\njobType: SCRIPT\n"
		s.edit(path, edited, 2)
		j := s.core.config.Job("my_job")
		if j.Config().Cron != "0 0 4 * * ?" || j.Config().ShardingTotalCount != 2 || !j.Since().Equal(s.now) {
			t.Errorf("the edited document is not applied: %+v", j.Config())
		}
		if v, err := s.core.views.Job("my_job"); err != nil ||
			!strings.Contains(strings.Join(v.Notes, ";"), "jobType is ignored") {
			t.Errorf("the edited job has the notes %v, %v", v.Notes, err)
		}
		// A broken document leaves the last good one in force, and a note says so until it is fixed.
		s.edit(path, "jobName: [", 3)
		if !slices.ContainsFunc(s.last.Notes,
			func(n step.Note) bool { return n.Kind == step.NoteFaulty && strings.Contains(n.Detail, path) }) {
			t.Errorf("the broken document is not logged: %+v", s.last.Notes)
		}
		if again := s.edit(path, "jobName: [", 3); again != nil {
			t.Error("the same fault is reported twice")
		}
		notes := func() string {
			x, err := s.core.views.Explain("my_job")
			if err != nil || len(x.NextFires) == 0 {
				t.Fatalf("the last good document is not in force: %+v, %v", x, err)
			}
			return strings.Join(x.Notes, ";")
		}
		if !strings.Contains(notes(), "the last good document is in force") ||
			len(s.core.views.FaultyDocuments()) != 1 {
			t.Errorf("with a broken document, explain has the notes %s", notes())
		}
		s.edit("/state/disable/job/my_job", "my_job", 0)
		if !s.core.config.Job("my_job").Mark().Disables() ||
			!strings.Contains(strings.Join(s.explain("my_job").Notes, ";"), "last good") {
			t.Error("a disabled mark that was set externally does not disable, or hides the broken document")
		}
		s.apply(s.core.planDisableJob("my_job", false))
		if !strings.Contains(notes(), "last good") {
			t.Error("enabling the job hides its broken document")
		}
		s.edit(path, edited, 4)
		if strings.Contains(notes(), "last good") || len(s.core.views.FaultyDocuments()) != 0 {
			t.Errorf("with a mended document, explain has the notes %s", notes())
		}
		// The deletion of the document is a deregistration (rule K2).
		s.edit(path, "", 0)
		if _, err := s.core.views.Job("my_job"); err == nil {
			t.Error("the job still exists after the deletion of its document")
		}
		// A disabled mark may be written before its document.
		s.edit("/state/disable/job/my_job", "my_job", 0)
		s.edit(path, edited, 0)
		if j := s.core.config.Job("my_job"); j == nil || !j.Mark().Disables() {
			t.Error("a disabled mark that was written before the document has no effect")
		}
		s.edit("/state/disable/job/my_job", "", 0)
		if s.core.config.Job("my_job").Mark().Disables() {
			t.Error("the job is disabled after its mark was removed")
		}
		s.edit("/state/disable/app/my_app", "my_app", 0)
		if why := s.core.config.InactiveReason(s.core.config.Job("my_job")); !why.Is(reason.AppDisabled) {
			t.Errorf("the job of a disabled app is inactive because %s", why)
		}
		s.edit("/config/app/my_app", "", 0)
		if why := s.core.config.InactiveReason(s.core.config.Job("my_job")); !strings.Contains(why.String(),
			"not registered") {
			t.Errorf("the job of a deleted app is inactive because %s", why)
		}
		if events := s.core.Reloaded("/config/app/nobody", registry.Entry{}, false); events != nil {
			t.Errorf("the deletion of an unknown app changes something: %+v", events)
		}
	}
}

// TestYAMLDocumentsAreWrittenAsTheOriginalDoes checks the YAML documents and the disabled mark byte for byte, and that
// the next leader reads them.
func TestYAMLDocumentsAreWrittenAsTheOriginalDoes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.opt.Documents = step.YAMLDocuments
	s.restart()
	s.app()
	s.job(func(c *jobs.Config) { c.Cron = "0 0 3 * * ?" })
	s.apply(s.core.planDisableJob("my_job", true))
	for path, want := range map[string]string{
		"/config/app/my_app":        "appCacheEnable: true\nappName: my_app\nappURL: http://127.0.0.1/p.tar\nbootstrapScript: bin/start.sh\ncpuCount: 0.5\neventTraceSamplingCount: 0\nmemoryMB: 128.0\n",
		"/config/job/my_job":        "appName: my_app\ncpuCount: 1.0\ncron: 0 0 3 * * ?\ndescription: ''\nfailover: false\njobExecutionType: TRANSIENT\njobName: my_job\njobParameter: ''\nmemoryMB: 64.0\nmisfire: false\nshardingItemParameters: ''\nshardingTotalCount: 3\n",
		"/state/disable/job/my_job": "my_job",
	} {
		if got := string(s.stored[path]); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
		}
	}
	before, _ := s.core.views.Job("my_job")
	s.restart()
	if after, err := s.core.views.Job("my_job"); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the next leader reads the job as %+v, %v; want %+v", after, err, before)
	}
}

// TestReconcileRequested checks which calls an operator's request to reconcile leads to.
func TestReconcileRequested(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job()
	s.trigger()
	s.offer("S1", 8, 8000)
	launches := s.answerAccepts()
	s.reportRunning(launches)
	s.step(Request{Token: 2, Event: operator.ReconcileRequested{Explicit: true}})
	if sent := calls[step.CallReconcile](s.last); len(sent) != 1 || len(sent[0].Tasks) != 3 ||
		s.last.Replies[0].Err != nil {
		t.Errorf("explicit: sent %+v, answered %+v", sent, s.last.Replies)
	}
	s.step(Request{Token: 3, Event: operator.ReconcileRequested{}})
	if sent := calls[step.CallReconcile](s.last); len(sent) != 1 || len(sent[0].Tasks) != 0 {
		t.Errorf("implicit: sent %+v", sent)
	}
	s.step(SessionEnded{Session: s.core.subscription.Number(), Reason: "cut"})
	s.step(Request{Token: 4, Event: operator.ReconcileRequested{}})
	if r := s.last.Replies; len(r) != 1 || r[0].Err == nil || r[0].Err.Kind != problem.Unavailable {
		t.Errorf("without a session: answered %+v", r)
	}
}

// TestTheTasksOfAnExternallyDeletedAppAreKilledInOrder deletes an app externally, which kills the tasks of its eight
// jobs in one step. The order of the kills must not depend on the order of a map.
func TestTheTasksOfAnExternallyDeletedAppAreKilledInOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	for i := range 8 {
		s.job(oneShard, func(j *jobs.Config) { j.JobName, j.CPUCount = fmt.Sprint("j", i), 0.1 })
		s.triggerJob(fmt.Sprint("j", i))
	}
	s.offer("S1", 8, 8192)
	s.answerAccepts()
	s.edit("/config/app/my_app", "", 0)
	var killed []string
	for _, k := range calls[step.CallKill](s.last) {
		killed = append(killed, k.Kill.TaskID)
	}
	if len(killed) != 8 || !slices.IsSorted(killed) {
		t.Errorf("killed %v, want eight tasks in order", killed)
	}
}

// edit makes an external edit, and returns the events to which it led. It writes an entry or, if the value is "",
// deletes it.
func (s *stage) edit(path, value string, version int64) []Event {
	s.t.Helper()
	entry := registry.Entry{Path: path, Value: []byte(value), Version: version}
	if value == "" {
		delete(s.stored, path)
	} else {
		s.stored[path] = []byte(value)
	}
	events := s.core.Reloaded(path, entry, value != "")
	s.step(events...)
	return events
}

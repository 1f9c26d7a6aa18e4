package core

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
)

// TestRunAgain repeats a run after it has ended and the leader has changed. The new run must get the overrides of the
// first. The test also checks which repetitions are refused.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobParameter = "the job's"; j.Misfire = true })
	parameter := "its own" // of the first run
	env := document.Texts{"LEVEL": {Value: "debug"}, "KEY": {Value: "hush", Secret: true}}
	s.offer("S1", 8, 8000)
	trigger := func(r operator.TriggerRequested) (string, *problem.Error) {
		t.Helper()
		reply := s.step(Request{Token: 7, Event: r}).Replies[0]
		return reply.ExecutionID, reply.Err
	}
	// finishRun launches the waiting run, ends it, and returns its parameter and environment.
	finishRun := func() (parameter string, env map[string]string) {
		t.Helper()
		s.runFor(time.Second)
		s.offer("S1", 8, 8000)
		launches := s.answerAccepts()
		if len(launches) != 1 {
			t.Fatalf("%d tasks were launched, want 1", len(launches))
		}
		task := launches[0].Task
		s.update(launches[0], cluster.Running, withSandbox(t, sandboxOf(launches[0], "c-1")))
		s.update(launches[0], cluster.Finished)
		return task.JobParameter, task.Env
	}
	first, _ := trigger(operator.TriggerRequested{Job: "my_job",
		Overrides: jobs.Overrides{JobParameter: &parameter, Env: env}})
	finishRun()
	s.restart()
	second, err := trigger(operator.TriggerRequested{RerunOf: first, Key: "once"})
	if twice, _ := trigger(operator.TriggerRequested{RerunOf: first, Key: "once"}); err != nil || second == first ||
		twice != second {
		t.Fatalf("the run of %s is repeated as %s, and for the same key as %s: %v", first, second, twice, err)
	}
	if p, env := finishRun(); p != parameter || env["LEVEL"] != "debug" || env["KEY"] != "hush" {
		t.Errorf("the second run has parameter %q and environment %v", p, env)
	}
	row := s.core.views.Audits(search.Audits{Action: "job.trigger", Limit: 1})[0]
	if want := `{"execution":"` + second + `","repeats":"` + first +
		`","jobParameter":"its own","env":{"KEY":{"value":"******","secret":true},"LEVEL":"debug"}}`; row.After != want {
		t.Error(cmp.Diff(want, row.After))
	}
	view, viewErr := s.core.views.Execution(second)
	if shown := view.Overrides; viewErr != nil || shown == nil || *shown.JobParameter != parameter ||
		shown.Env["LEVEL"].Value != "debug" || shown.Env["KEY"].Value != "******" {
		t.Errorf("the overrides of the second run are shown as %+v, %v", shown, viewErr)
	}
	plain, _ := trigger(operator.TriggerRequested{Job: "my_job"})
	finishRun()
	if view, err := s.core.views.Execution(plain); err != nil || view.Overrides != nil {
		t.Errorf("a run without overrides shows %+v, %v", view.Overrides, err)
	}
	if _, err := trigger(operator.TriggerRequested{RerunOf: plain, NoEnv: true}); err != nil {
		t.Error(err)
	}
	if p, env := finishRun(); p != "the job's" || env["LEVEL"] != "" {
		t.Errorf("the repetition of a run without overrides has parameter %q and environment %v", p, env)
	}
	expectRefused := func(want string, r operator.TriggerRequested) {
		t.Helper()
		if _, err := trigger(r); err == nil || err.Code != want || strings.Contains(err.Message, "hush") {
			t.Errorf("the error is %v, want %s without the secret", err, want)
		}
	}
	expectRefused("not_allowed", operator.TriggerRequested{RerunOf: first, NoEnv: true})
	expectRefused("execution_not_found", operator.TriggerRequested{RerunOf: "none"})
	s.apply(s.core.planDeregisterJob("my_job"))
	expectRefused("job_not_found", operator.TriggerRequested{RerunOf: first})
	// A job of the same name may belong to another app.
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard, func(j *jobs.Config) { j.AppName = "other_app" })
	expectRefused("job_moved", operator.TriggerRequested{RerunOf: first})
	if view, err := s.core.views.Execution(first); err != nil || view.Overrides != nil {
		t.Errorf("the overrides of the former app's run are shown: %+v, %v", view.Overrides, err)
	}
}

// TestARunsSecretsGoToNoOtherAddress triggers a run of an HTTP job with a parameter for this run, and then changes the
// job. The waiting run must be killed, and must not be repeated, if a secret in its parameter would go to another
// address, or if the job belongs to another app.
func TestARunsSecretsGoToNoOtherAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		parameter string
		change    func(*jobs.Config)
		refused   bool
	}{
		"another address": {"from https://me:hush@h/x", func(j *jobs.Config) { j.Props = httpProps("http://evil/") }, true},
		"no secret":       {"2026-05-01", func(j *jobs.Config) { j.Props = httpProps("http://evil/") }, false},
		"another app":     {"2026-05-01", func(j *jobs.Config) { j.AppName = "other_app" }, true},
		"something else":  {"from https://me:hush@h/x", func(j *jobs.Config) { j.MaxRetries = 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.app()
			s.app(func(a *app.Config) { a.AppName = "other_app" })
			s.job(oneShard, func(j *jobs.Config) { j.Misfire, j.Props = true, httpProps("http://api/") })
			first := s.step(Request{Token: 7, Event: operator.TriggerRequested{Job: "my_job",
				Overrides: jobs.Overrides{JobParameter: &test.parameter}}}).Replies[0].ExecutionID
			s.updateJob("my_job", test.change)
			if v := s.execution(first); (v.State == executions.Killed) != test.refused {
				t.Errorf("the waiting run is %s: %s", v.State, v.Reason)
			}
			reply := s.step(Request{Token: 8, Event: operator.TriggerRequested{RerunOf: first}}).Replies[0]
			if (reply.Err != nil && reply.Err.Code == "job_moved") != test.refused {
				t.Errorf("the error of its repetition is %v", reply.Err)
			}
		})
	}
}

// httpProps returns the properties of an HTTP job that sends a POST to an address.
func httpProps(address string) document.Texts {
	return document.Texts{jobs.PropHTTPURL: {Value: address}, jobs.PropHTTPMethod: {Value: "POST"}}
}

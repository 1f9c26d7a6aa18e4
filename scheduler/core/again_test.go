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

// TestRunAgain: a repeated run has the settings of its own that the original run had, also after that has ended and
// under another leader.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.app()
	s.job(oneShard, func(j *jobs.Config) { j.JobParameter = "the job's"; j.Misfire = true })
	parameter := "its own"
	env := document.Texts{"LEVEL": {Value: "debug"}, "KEY": {Value: "hush", Secret: true}}
	s.offer("S1", 8, 8000)
	ask := func(r operator.TriggerRequested) (string, *problem.Error) {
		t.Helper()
		reply := s.step(Request{Token: 7, Event: r}).Replies[0]
		return reply.ExecutionID, reply.Err
	}
	// runs ends the present run, and returns the settings that it had.
	runs := func() (parameter string, env map[string]string) {
		t.Helper()
		s.until(time.Second)
		s.offer("S1", 8, 8000)
		launches := s.accepted()
		if len(launches) != 1 {
			t.Fatalf("%d launches", len(launches))
		}
		task := launches[0].Task
		s.update(launches[0], cluster.Running, saysSandbox(t, runOf(launches[0], "c-1")))
		s.update(launches[0], cluster.Finished)
		return task.JobParameter, task.Env
	}
	first, _ := ask(operator.TriggerRequested{Job: "my_job",
		Overrides: jobs.Overrides{JobParameter: &parameter, Env: env}})
	runs()
	s.restart()
	second, err := ask(operator.TriggerRequested{RerunOf: first, Key: "once"})
	if twice, _ := ask(operator.TriggerRequested{RerunOf: first, Key: "once"}); err != nil || second == first ||
		twice != second {
		t.Fatalf("%s %s %v", second, twice, err)
	}
	if p, e := runs(); p != parameter || e["LEVEL"] != "debug" || e["KEY"] != "hush" {
		t.Errorf("%q %v", p, e)
	}
	row := s.core.views.Audits(search.Audits{Action: "job.trigger", Limit: 1})[0]
	if want := `{"execution":"` + second + `","repeats":"` + first +
		`","jobParameter":"its own","env":{"KEY":{"value":"******","secret":true},"LEVEL":"debug"}}`; row.After != want {
		t.Error(cmp.Diff(want, row.After))
	}
	view, viewErr := s.core.views.Execution(second)
	if shown := view.Overrides; viewErr != nil || shown == nil || *shown.JobParameter != parameter ||
		shown.Env["LEVEL"].Value != "debug" || shown.Env["KEY"].Value != "******" {
		t.Errorf("%v %+v", viewErr, shown)
	}
	plain, _ := ask(operator.TriggerRequested{Job: "my_job"})
	runs()
	if view, err := s.core.views.Execution(plain); err != nil || view.Overrides != nil {
		t.Errorf("%v %+v", err, view.Overrides)
	}
	if _, err := ask(operator.TriggerRequested{RerunOf: plain, NoEnv: true}); err != nil {
		t.Error(err)
	}
	if p, e := runs(); p != "the job's" || e["LEVEL"] != "" {
		t.Errorf("%q %v", p, e)
	}
	refused := func(want string, r operator.TriggerRequested) {
		t.Helper()
		if _, err := ask(r); err == nil || err.Code != want || strings.Contains(err.Message, "hush") {
			t.Errorf("want %s: %v", want, err)
		}
	}
	refused("not_allowed", operator.TriggerRequested{RerunOf: first, NoEnv: true})
	refused("execution_not_found", operator.TriggerRequested{RerunOf: "none"})
	s.apply(s.core.planDeregisterJob("my_job"))
	refused("job_not_found", operator.TriggerRequested{RerunOf: first})
	// A job of the same name may belong to another app.
	s.app(func(a *app.Config) { a.AppName = "other_app" })
	s.job(oneShard, func(j *jobs.Config) { j.AppName = "other_app" })
	refused("job_moved", operator.TriggerRequested{RerunOf: first})
	if view, err := s.core.views.Execution(first); err != nil || view.Overrides != nil {
		t.Errorf("%v %+v", err, view.Overrides)
	}
}

// TestOwnSecretsGoWhereTheyWereGivenTo: the parameters that a trigger gave to a run of an HTTP job are sent to no
// other address after a change of the job, neither by a run that repeats it nor by the run itself.
func TestOwnSecretsGoWhereTheyWereGivenTo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		parameter string
		change    func(*jobs.Config)
		moved     bool
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
			if v := s.execution(first); (v.State == executions.Killed) != test.moved {
				t.Errorf("the run itself is %s: %s", v.State, v.Reason)
			}
			reply := s.step(Request{Token: 8, Event: operator.TriggerRequested{RerunOf: first}}).Replies[0]
			if (reply.Err != nil && reply.Err.Code == "job_moved") != test.moved {
				t.Errorf("run again: %v", reply.Err)
			}
		})
	}
}

func httpProps(address string) document.Texts {
	return document.Texts{jobs.PropHTTPURL: {Value: address}, jobs.PropHTTPMethod: {Value: "POST"}}
}

package explain_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// coreOfTwo has two apps, mine and theirs, with one job each: mine_job and their_job. mine_job belonged to theirs
// earlier.
func coreOfTwo(t *testing.T) *core.Core {
	t.Helper()
	var stored core.Stored
	put := func(path string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		stored.Entries = append(stored.Entries, registry.Entry{Path: path, Value: text})
	}
	for name, job := range map[string]string{"mine": "mine_job", "theirs": "their_job"} {
		a, j := app.Default(), jobs.Default()
		a.AppName, a.AppURL, a.BootstrapScript = name, "http://127.0.0.1/p.tar", "run"
		j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.Misfire = job, name, jobs.Transient, 1, true
		a.CPUCount, a.MemoryMB, j.CPUCount, j.MemoryMB = 0.1, 32, 1, 64
		put("/config/app/"+name, a)
		put("/config/job/"+job, j)
	}
	c := core.New(step.DefaultOptions())
	if err := c.Load(time.Unix(1_800_000_000, 0), stored); err != nil {
		t.Fatal(err)
	}
	rows := []event.Audit{{ID: "1", Target: "job", TargetName: "mine_job", App: "mine"},
		{ID: "2", Target: "job", TargetName: "mine_job", App: "theirs"},
		{ID: "3", Target: "user", TargetName: "alice"}}
	now := clock.Now{Wall: time.Unix(1_800_000_000, 0)}
	c.Step(now, rand.NewPCG(1, 2), []core.Event{core.Request{Token: 1, Event: core.AuditRequested{Rows: rows}}})
	return c
}

var errDenied = errors.New("this app is not to be published")

func mine() explain.Scope {
	return explain.Apps(func(app string) bool { return app == "mine" }, func(string) error { return errDenied })
}

// kindOf returns the kind of a refusal by the scheduler.
func kindOf(err error) problem.Kind {
	if e := new(problem.Error); errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// TestTheZeroScopeReadsNothing: the zero Scope covers nothing, and gets no Reader.
func TestTheZeroScopeReadsNothing(t *testing.T) {
	t.Parallel()
	var zero explain.Scope
	if _, err := explain.NewReader(coreOfTwo(t).Views(), zero); !errors.Is(err, explain.ErrNotAuthenticated) {
		t.Error(err)
	}
	if zero.Covers("mine") || zero.IsAll() || !errors.Is(zero.MayPublish("mine"), explain.ErrNotAuthenticated) ||
		!errors.Is(zero.RequireAll(), explain.ErrNotAuthenticated) {
		t.Error("the zero Scope permits something")
	}
}

// TestDataOfNoAppRequiresAllApps: data of the whole cluster, and rows of users, require a scope of all apps. With a
// scope of some apps, a request for one of their jobs returns the rows of these apps.
func TestDataOfNoAppRequiresAllApps(t *testing.T) {
	t.Parallel()
	c := coreOfTwo(t)
	audits := func(r explain.Reader, q search.Audits) (string, error) {
		q.Limit = 10
		rows, err := r.Audits(q)
		ids := ""
		for _, row := range rows {
			ids += row.ID
		}
		return ids, err
	}
	some, err := explain.NewReader(c.Views(), mine())
	all, failure := explain.NewReader(c.Views(), explain.All())
	if err != nil || failure != nil {
		t.Fatal(err, failure)
	}
	for name, read := range map[string]func(explain.Reader) error{
		"agent names": func(r explain.Reader) error { _, err := r.AgentNames(); return err },
		"cluster":     func(r explain.Reader) error { _, err := r.Cluster(nil); return err },
		"schedules":   func(r explain.Reader) error { _, err := r.Schedules(); return err },
		"activity":    func(r explain.Reader) error { _, err := r.Activity(time.Time{}); return err },
		"audits":      func(r explain.Reader) error { _, err := audits(r, search.Audits{}); return err },
		"audits of a user": func(r explain.Reader) error {
			_, err := audits(r, search.Audits{Target: "user", TargetName: "alice"})
			return err
		},
	} {
		if err := read(some); kindOf(err) != problem.Forbidden {
			t.Errorf("%s for some apps: %v", name, err)
		}
		if err := read(all); err != nil {
			t.Errorf("%s for all apps: %v", name, err)
		}
	}
	if _, err := some.Agent("S0"); kindOf(err) != problem.Forbidden {
		t.Errorf("an agent for some apps: %v", err)
	}
	if ids, err := audits(some, search.Audits{Target: "job", TargetName: "mine_job"}); ids != "1" || err != nil {
		t.Errorf("rows of their job: %s, %v", ids, err)
	}
	if _, err := audits(some, search.Audits{Target: "job", TargetName: "their_job"}); kindOf(err) != problem.NotFound {
		t.Errorf("rows of another's job: %v", err)
	}
}

// TestAnUpdateStaysInTheScope: a job of another app does not exist for the requester, and a job of theirs cannot move
// to another app.
func TestAnUpdateStaysInTheScope(t *testing.T) {
	t.Parallel()
	r, err := explain.NewReader(coreOfTwo(t).Views(), mine())
	if err != nil {
		t.Fatal(err)
	}
	to := func(app string) func(jobs.Config) (jobs.Config, error) {
		return func(c jobs.Config) (jobs.Config, error) {
			c.AppName = app
			return c, nil
		}
	}
	if _, err := r.CheckJobUpdate("their_job", to("mine")); kindOf(err) != problem.NotFound {
		t.Errorf("a job of others is brought over: %v", err)
	}
	if _, err := r.CheckJobUpdate("mine_job", to("theirs")); !errors.Is(err, errDenied) {
		t.Errorf("a job is given away: %v", err)
	}
	if v, err := r.CheckJobUpdate("mine_job", to("mine")); err != nil || v.Job.JobName != "mine_job" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := r.CheckJob(jobs.Config{JobName: "new", AppName: "theirs"}); !errors.Is(err, errDenied) {
		t.Errorf("a job of others is published: %v", err)
	}
	all, err := explain.NewReader(coreOfTwo(t).Views(), explain.All())
	if err != nil {
		t.Fatal(err)
	}
	_, asRead := all.Job("none")
	if _, err := all.JobToUpdate("none"); kindOf(err) != problem.NotFound || err.Error() == asRead.Error() {
		t.Errorf("an update of an unknown job has the error of a read: %v", err)
	}
}

// TestTheLimitCountsOnlyTheScope: newer entries outside of the scope take no place in a limited list.
func TestTheLimitCountsOnlyTheScope(t *testing.T) {
	t.Parallel()
	c := coreOfTwo(t)
	for i, job := range []string{"mine_job", "mine_job", "their_job", "their_job"} {
		now := clock.Now{Wall: time.Unix(1_800_000_000+int64(i), 0), Elapsed: time.Duration(i) * time.Second}
		c.Step(now, rand.NewPCG(3, uint64(i)),
			[]core.Event{core.Request{Token: 1, Event: operator.TriggerRequested{Job: job}}})
	}
	for want, scope := range map[string]explain.Scope{
		"mine_job mine_job": mine(), "their_job their_job": explain.All(),
	} {
		r, err := explain.NewReader(c.Views(), scope)
		if err != nil {
			t.Fatal(err)
		}
		list, err := r.Executions(views.ExecutionFilter{Limit: 2})
		if err != nil || len(list) != 2 || list[0].JobName+" "+list[1].JobName != want {
			t.Errorf("%+v, %v, want %s", list, err, want)
		}
	}
}

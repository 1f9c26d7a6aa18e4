package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/clock"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
	"github.com/elasticjob-go/elasticjob/scheduler/view"
)

// stage is a core that a test steps, and the view of it.
type stage struct {
	t     testing.TB
	now   time.Time
	began time.Time
	rnd   uint64
	last  core.Decision
	*view.Jobs
	bytesPerJob float64 // memory of the rows, which only benchmarks measure

	mu      sync.Mutex
	core    *core.Core
	readErr error // the error with which all reads of the core fail
	reads   int
}

func (s *stage) Uint64() uint64 { s.rnd++; return s.rnd * 0x9e3779b97f4a7c15 }

func newStage(t testing.TB, docs ...any) *stage {
	s := &stage{t: t, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), core: core.New(step.DefaultOptions())}
	s.began = s.now
	var stored core.Stored
	for _, d := range docs {
		path := ""
		switch d := d.(type) {
		case app.Config:
			path = "/config/app/" + d.AppName
		case jobs.Config:
			path = "/config/job/" + d.JobName
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		stored.Entries = append(stored.Entries, registry.Entry{Path: path, Value: text})
	}
	if err := s.core.Load(s.now, stored); err != nil {
		t.Fatal(err)
	}
	s.Jobs = view.New(s.read)
	s.step()
	return s
}

func (s *stage) read(_ context.Context, fn func(*core.Core)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.readErr == nil {
		fn(s.core)
	}
	return s.readErr
}

func (s *stage) step(events ...core.Event) {
	s.mu.Lock()
	s.last = s.core.Step(clock.Now{Wall: s.now, Elapsed: s.now.Sub(s.began)}, s, events)
	s.mu.Unlock()
	s.Note(s.last.Changed)
}

func (s *stage) page(q view.Query) view.Page {
	s.t.Helper()
	return s.pageFor(explain.All(), q)
}

func (s *stage) pageFor(scope explain.Scope, q view.Query) view.Page {
	s.t.Helper()
	if q.Page == 0 {
		q.Page = 1
	}
	if q.PerPage == 0 {
		q.PerPage = 500
	}
	if q.Sort == "" {
		q.Sort = view.ByName
	}
	q.Now = s.now
	p, err := s.Page(s.t.Context(), scope, q)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// of returns the scope of one app.
func of(app string) explain.Scope {
	return explain.Apps(func(name string) bool { return name == app }, nil)
}

func namesOf(p view.Page) string {
	var names []string
	for i := range p.Rows {
		names = append(names, p.Rows[i].JobName)
	}
	return strings.Join(names, " ")
}

func anApp(name string) app.Config {
	a := app.Default()
	a.AppName, a.AppURL, a.BootstrapScript, a.CPUCount, a.MemoryMB = name, "http://127.0.0.1/p.tar", "run", 0.1, 32
	return a
}

func aJob(name, of string, set ...func(*jobs.Config)) jobs.Config {
	j := jobs.Default()
	j.JobName, j.AppName, j.JobExecutionType, j.ShardingTotalCount, j.CPUCount, j.MemoryMB = name, of, jobs.Transient,
		1, 1, 64
	for _, fn := range set {
		fn(&j)
	}
	return j
}

func cron(text string) func(*jobs.Config) { return func(j *jobs.Config) { j.Cron = text } }

func described(text string) func(*jobs.Config) { return func(j *jobs.Config) { j.Description = text } }

// subscribed opens a session with one agent on offer.
func (s *stage) subscribed() {
	s.step(core.SessionBegan{Session: 1, MasterID: "m"})
	s.offer("o1")
}

func (s *stage) offer(id string) {
	s.step(core.ClusterEvent{Session: 1,
		Event: cluster.Offers{Offers: []cluster.Offer{{ID: id, AgentID: "S1", Hostname: "h1",
			AgentURL: "http://h1:5051", Resources: resources.New(4, 4096)}}}})
}

// run triggers a job and ends its only task.
func (s *stage) run(job string, state cluster.State) {
	s.t.Helper()
	s.now = s.now.Add(time.Second)
	s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: job}})
	if launches(s.last) == nil {
		s.offer(fmt.Sprint("o", s.rnd))
	}
	l := launches(s.last)
	if l == nil {
		s.t.Fatalf("%s is not launched", job)
	}
	s.step(core.LaunchAnswered{Session: 1, Seq: l.Seq, OK: true})
	s.now = s.now.Add(time.Second)
	task := l.Launch.Tasks[0]
	s.step(core.ClusterEvent{Session: 1,
		Event: cluster.Update{TaskID: task.TaskID, AgentID: "S1", ExecutorID: task.Executor.ID, State: state,
			Source: cluster.FromExecutor, UUID: []byte(fmt.Sprint(s.rnd)), Timestamp: s.now}})
}

func launches(d core.Decision) *step.CallLaunch {
	for _, call := range d.Calls {
		if l, ok := call.(step.CallLaunch); ok {
			return &l
		}
	}
	return nil
}

func TestPageFilters(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("billing"), anApp("reports"),
		aJob("nightly", "billing", cron("0 0 3 * * ?"), described("Totals of the DAY, für Ärzte")),
		aJob("hourly", "billing", cron("0 0 * * * ?")), aJob("by-hand", "reports", described("<script>")),
		aJob("Zebra", "reports", cron("0 0 0 1 1 ? 2020")))
	for _, c := range []struct {
		name string
		q    view.Query
		want string
	}{
		{"all by name", view.Query{}, "Zebra by-hand hourly nightly"},
		{"backwards", view.Query{Descending: true}, "nightly hourly by-hand Zebra"},
		{"a word of the name in another case", view.Query{Search: "zEBra"}, "Zebra"},
		{"a word of the app", view.Query{Search: "port"}, "Zebra by-hand"},
		{"a word of the description", view.Query{Search: "the day"}, "nightly"},
		{"each word somewhere else", view.Query{Search: "totals night BILL"}, "nightly"},
		{"letters beyond ASCII", view.Query{Search: "ärzte FÜR"}, "nightly"},
		{"what looks like markup", view.Query{Search: "<script>"}, "by-hand"},
		{"nothing has it", view.Query{Search: "nothing"}, ""},
		{"of one app", view.Query{App: "billing"}, "hourly nightly"},
		{"of a type", view.Query{Type: jobs.Daemon}, ""},
		{"in states", view.Query{States: []string{"ON_TRIGGER", "NEVER"}}, "Zebra by-hand"},
		{"by app, then by name", view.Query{Sort: view.ByApp}, "hourly nightly Zebra by-hand"},
		{"by the next fire, those without one at the end", view.Query{Sort: view.ByNextFire}, "hourly nightly Zebra by-hand"},
		{"the latest fire first, those without one at the end", view.Query{Sort: view.ByNextFire, Descending: true}, "nightly hourly Zebra by-hand"},
		{"the second page", view.Query{Page: 2, PerPage: 3}, "nightly"},
		{"beyond the last page", view.Query{Page: 9}, ""},
	} {
		if got := namesOf(s.page(c.q)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := namesOf(s.pageFor(of("reports"), view.Query{})); got != "Zebra by-hand" {
		t.Errorf("with a scope of one app: %q", got)
	}
	p := s.page(view.Query{States: []string{"READY"}})
	if want := map[string]int{"READY": 2, "ON_TRIGGER": 1, "NEVER": 1}; fmt.Sprint(p.ByState) != fmt.Sprint(want) ||
		p.Total != 2 {
		t.Errorf("%d rows, by state %v; want 2, and all jobs by state %v", p.Total, p.ByState, want)
	}
}

// TestRowsFollow: a page that is read after a step shows what the step has changed.
func TestRowsFollow(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a"), aJob("other", "a"))
	row := func() view.Row { return s.page(view.Query{Search: "job"}).Rows[0] }
	if r := row(); r.State != "ON_TRIGGER" || r.LastRun != nil || len(r.Runs) != 0 || r.NextFire != nil {
		t.Errorf("at first %+v", r)
	}
	s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "job"}})
	r := row()
	if r.State != "WAITING" || r.Waiting != 1 || r.WaitingSince == nil ||
		!strings.Contains(r.WaitingFor, "connecting to the cluster") || len(r.Runs) != 1 {
		t.Errorf("triggered: %+v", r)
	}
	s.subscribed()
	if r = row(); r.State != "RUNNING" || r.Running != 1 || r.Waiting != 0 {
		t.Errorf("launched: %+v", r)
	}
	totals, err := s.Totals(t.Context(), explain.All())
	if err != nil || totals.Running != 1 || totals.RunningExecutions != 1 || totals.ByState["RUNNING"] != 1 ||
		totals.ByState["ON_TRIGGER"] != 1 {
		t.Errorf("totals %+v, %v", totals, err)
	}
	s.step(config.JobChanged{Name: "job"})
	if p := s.page(view.Query{}); namesOf(p) != "other" {
		t.Errorf("deregistered, and still there: %s", namesOf(p))
	}
}

func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a"))
	s.subscribed()
	for _, c := range []struct {
		state cluster.State
		want  int
	}{{cluster.Failed, 1}, {cluster.Failed, 2}, {cluster.Finished, 0}, {cluster.Failed, 1}} {
		s.run("job", c.state)
		r := s.page(view.Query{}).Rows[0]
		if r.Failures != c.want || r.LastRun == nil {
			t.Fatalf("after %s %d failures in a row, want %d: %+v", c.state, r.Failures, c.want, r)
		}
	}
	p := s.page(view.Query{Last: []string{"FAILED"}})
	if len(p.Rows) != 1 || len(p.Rows[0].Runs) != 4 || p.Rows[0].Runs[2].State != executions.Finished ||
		p.Rows[0].LastRun.ExecutionID != p.Rows[0].Runs[3].ExecutionID {
		t.Errorf("%+v", p.Rows)
	}
	if p := s.page(view.Query{Last: []string{"FINISHED"}}); p.Total != 0 {
		t.Errorf("%d whose last run finished", p.Total)
	}
}

// TestUnreadRowsAreReadAgain: rows that could not be read are not forgotten.
func TestUnreadRowsAreReadAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a"))
	s.page(view.Query{})
	s.readErr = errors.New("the registry is silent")
	s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "job"}})
	if _, err := s.Page(t.Context(), explain.All(),
		view.Query{Page: 1, PerPage: 1, Sort: view.ByName}); !errors.Is(err, s.readErr) {
		t.Fatalf("%v", err)
	}
	s.readErr = nil
	if r := s.page(view.Query{}).Rows[0]; r.State != "WAITING" {
		t.Errorf("%+v", r)
	}
}

// TestOneReadForAPage: the runs of a page's rows are read together.
func TestOneReadForAPage(t *testing.T) {
	t.Parallel()
	docs := []any{anApp("a")}
	for i := range 100 {
		docs = append(docs, aJob(fmt.Sprintf("job%03d", i), "a"))
	}
	s := newStage(t, docs...)
	s.page(view.Query{})
	before := s.reads
	if p := s.page(view.Query{PerPage: 100}); len(p.Rows) != 100 || s.reads != before+1 {
		t.Errorf("%d rows, %d reads", len(p.Rows), s.reads-before)
	}
	var all []string
	for page := 1; page <= 10; page++ {
		all = append(all, strings.Fields(namesOf(s.page(view.Query{Sort: view.ByFailures, Page: page,
			PerPage: 10})))...)
	}
	if len(all) != 100 || !slices.IsSorted(all) {
		t.Errorf("pages overlap, or leave something out: %v", all)
	}
}

// TestASummaryTellsHowLargeDocumentsAre: only a summary for all apps has the size of their documents.
func TestASummaryTellsHowLargeDocumentsAre(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a"))
	sum, err := s.Summary(t.Context(), explain.All(), s.now)
	if d := sum.Documents; err != nil || d == nil || d.Bytes < 100 || d.LargestAppBytes != d.Bytes ||
		d.LimitBytes != 256<<20 || d.AppLimitBytes != 64<<20 {
		t.Errorf("%+v, %v", d, err)
	}
	if sum, err := s.Summary(t.Context(), explain.Apps(func(string) bool { return true }, nil), s.now); err != nil ||
		sum.Documents != nil {
		t.Errorf("%+v, %v", sum.Documents, err)
	}
}

// TestSummariesShareReads: when the core changes often, not every call of Summary makes the core iterate over all
// running executions.
func TestSummariesShareReads(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a"))
	depth := func() int {
		sum, err := s.Summary(t.Context(), explain.All(), s.now)
		if err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
		return sum.Queues[0].Depth
	}
	s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: "job"}})
	if n := depth(); n != 1 {
		t.Errorf("at first %d", n)
	}
	before := s.reads
	for range 10 {
		cfg := anApp("a")
		s.step(config.AppChanged{Name: "a", Config: &cfg, Disabled: true})
		depth()
	}
	if n := s.reads - before; n != 10 { // one for each changed row; the rest of a summary is read later
		t.Errorf("%d reads", n)
	}
	o, err := s.Overview(t.Context(), explain.All(), s.now)
	if err != nil || o.Summary.Queues[0].Depth != 0 {
		t.Errorf("an overview has %+v, %v", o.Summary.Queues, err)
	}
	s.now = s.now.Add(time.Second)
	if n := depth(); n != 0 {
		t.Errorf("later %d", n)
	}
}

// TestSecretsOfDescriptionsAreNeitherListedNorFound: otherwise a search would show whether a guess is right.
func TestSecretsOfDescriptionsAreNeitherListedNorFound(t *testing.T) {
	t.Parallel()
	s := newStage(t, anApp("a"), aJob("job", "a",
		func(j *jobs.Config) { j.Description = "see https://me:hunter2@host/page" }))
	if rows := s.page(view.Query{Search: "host/page"}).Rows; len(rows) != 1 ||
		rows[0].Description != "see https://me:******@host/page" {
		t.Errorf("%+v", rows)
	}
	for _, guess := range []string{"hunter2", "hunt"} {
		if p := s.page(view.Query{Search: guess}); p.Total != 0 {
			t.Errorf("%s finds %+v", guess, p.Rows)
		}
	}
}

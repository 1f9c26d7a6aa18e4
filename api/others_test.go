package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/scheduler/core/operator"
	"github.com/elasticjob-go/elasticjob/scheduler/core/step"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// tenants is a scheduler with a real core and two apps on one cluster: mine and zebra.
type tenants struct {
	*fakeScheduler
	t       *testing.T
	now     time.Time
	session int64
	reads   int
	offers  int
	last    core.Decision
}

func (s *tenants) Read(_ context.Context, scope explain.Scope, look func(explain.Reader) error) error {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.reads++
	r, err := explain.NewReader(s.watch.core.Views(), scope)
	if err != nil {
		return err
	}
	return look(r)
}

// readsOf returns how often the core is read during a call.
func (s *tenants) readsOf(call func()) int {
	count := func() int {
		s.watch.mu.Lock()
		defer s.watch.mu.Unlock()
		return s.reads
	}
	before := count()
	call()
	return count() - before
}

func (s *tenants) step(events ...core.Event) {
	s.t.Helper()
	s.last = s.watch.happens(s.now, events...)
	for _, r := range s.last.Replies {
		if r.Err != nil {
			s.t.Fatal(r.Err)
		}
	}
}

func (s *tenants) hears(e cluster.Event) {
	s.t.Helper()
	s.step(core.ClusterEvent{Session: s.session, Event: e})
}

// trigger returns the id of a run that waits.
func (s *tenants) trigger(job string) string {
	s.t.Helper()
	s.step(core.Request{Token: 1, Event: operator.TriggerRequested{Job: job,
		Actor: event.Actor{Name: "somebody of " + job}}})
	return s.last.Replies[0].ExecutionID
}

// offer makes an offer of an agent, and returns the tasks that are launched on it, by job.
func (s *tenants) offer(agent string, cpus float64) map[string]cluster.TaskLaunch {
	s.t.Helper()
	s.offers++
	s.hears(cluster.Offers{Offers: []cluster.Offer{{ID: fmt.Sprint("O", s.offers), AgentID: agent, Hostname: agent,
		AgentURL: "http://" + agent + ":5051", Resources: resources.New(cpus, 4096)}}})
	launched := map[string]cluster.TaskLaunch{}
	for _, c := range s.last.Calls {
		if c, ok := c.(step.CallLaunch); ok {
			for _, task := range c.Launch.Tasks {
				job, _, _ := strings.Cut(task.TaskID, "@")
				launched[job] = task
			}
			s.step(core.LaunchAnswered{Session: s.session, Seq: c.Seq, OK: true})
		}
	}
	return launched
}

func (s *tenants) update(task cluster.TaskLaunch, agent string, state cluster.State, reason cluster.Reason) {
	s.t.Helper()
	u := cluster.Update{TaskID: task.TaskID, AgentID: agent, ExecutorID: task.Executor.ID, State: state,
		Reason: reason, Source: cluster.FromExecutor, UUID: []byte(task.TaskID + string(state)), Timestamp: s.now}
	if reason != "" {
		u.Source = cluster.FromAgent
	}
	s.hears(u)
}

// tenant has the names of everything that belongs to an app.
type tenant struct{ apps, jobs, executions, tasks []string }

// newTenants returns a scheduler whose two apps have everything that a scheduler can have: runs that are running,
// waiting, requeued after a loss or ended, jobs that cannot be started or read, and a job of mine that waits because
// of zebra.
func newTenants(t *testing.T) (s *tenants, mine, zebra *tenant) {
	t.Helper()
	s = &tenants{fakeScheduler: newFakeScheduler(), t: t, now: noon}
	mine, zebra = &tenant{}, &tenant{}
	both := map[string]*tenant{"mine": mine, "zebra": zebra}
	var entries []registry.Entry
	for of, names := range both {
		names.apps, names.executions = []string{of, of + "-stuck"}, []string{of + "_stored"}
		for _, name := range names.apps {
			entries = append(entries, stored("/config/app/"+name, anApp(name)))
		}
		stuck, runs := aJob(of+"_stuck", of+"-stuck", 1), aJob(of+"_runs", of, 1)
		runs.Cron = "0 0 3 * * ?"
		for _, j := range []jobs.Config{runs, stuck, aJob(of+"_lost", of, 5), aJob(of+"_ends", of, 1),
			aJob(of+"_waits", of, 9), aJob(of+"_pauses", of, 1)} {
			j.Failover = true
			entries = append(entries, stored("/config/job/"+j.JobName, j))
			names.jobs = append(names.jobs, j.JobName)
		}
		entries = append(entries, stored("/config/job/"+of+"_broken", "no job"))
		entries = append(entries, stored("/config/app/"+of+"-broken", "no app"))
	}
	s.watch, s.last = watch(noon, entries)
	for _, c := range s.last.Calls {
		if c, ok := c.(step.CallSubscribe); ok {
			s.session = c.Session
		}
	}
	s.step(core.SessionBegan{Session: s.session, MasterID: "master"})
	for i, of := range []string{"zebra", "mine"} {
		names, agent := both[of], fmt.Sprint("S", i)
		for _, job := range names.jobs[:4] {
			names.executions = append(names.executions, s.trigger(job))
		}
		launched := s.offer(agent, 10)
		for _, job := range names.jobs[:4] {
			names.tasks = append(names.tasks, launched[job].TaskID)
			s.update(launched[job], agent, cluster.Running, "")
		}
		s.update(launched[of+"_lost"], agent, cluster.Lost, cluster.ReasonAgentRemoved)
		s.update(launched[of+"_ends"], agent, cluster.Failed, "")
		s.update(launched[of+"_stuck"], agent, cluster.Failed, cluster.ReasonContainerLaunchFailed)
	}
	for _, of := range []string{"zebra", "mine"} {
		both[of].executions = append(both[of].executions, s.trigger(of+"_waits"))
		by, why := event.Actor{Name: "somebody of " + of}, reason.FromText("it is no JSON of "+of)
		s.step(core.Request{Token: 2, Event: operator.PauseRequested{Job: of + "_pauses", Paused: true, Actor: by}})
		s.step(config.DocumentFaulty{Path: "/config/job/" + of + "_ends", Why: why})
	}
	for range 3 {
		s.now = s.now.Add(time.Minute)
		s.offer("S0", 4)
		s.offer("S1", 4)
	}
	return s, mine, zebra
}

// askedOf are additional queries for routes; each route is also requested without one.
var askedOf = map[string]string{
	"/api/executions": "?job={jobName}", "/api/jobs": "?search=zebra", "/api/operate/sandbox": "?appName={appName}",
	"/api/job/events/executions": "?jobName={jobName}", "/api/job/events/statusTraces": "?jobName={jobName}",
	"/api/task/{taskId}/logs/search": "?q=o", "/api/cluster": "?search=S",
}

// requests returns all GETs of the table about things that a tenant has.
func (of *tenant) requests(t *testing.T) (all []string) {
	t.Helper()
	names := map[string][]string{
		"{appName}": of.apps, "{jobName}": of.jobs, "{executionId}": of.executions, "{taskId}": of.tasks,
		"{agentId}": {"S0"}, "{userName}": {"somebody"}, "{period}": {"online"}, "{name}": {"none"},
		"{hash}": {"none"}, "{file}": {"none"},
	}
	for _, route := range api.RouteNames() {
		path, isGet := strings.CutPrefix(route, "GET ")
		if !isGet {
			continue
		}
		asked := []string{path}
		if query := askedOf[path]; query != "" {
			asked = append(asked, path+query)
		}
		all = append(all, filled(t, asked, names)...)
	}
	return all
}

var variable = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// filled returns the requests with every name that their variables may have.
func filled(t *testing.T, asked []string, names map[string][]string) (all []string) {
	t.Helper()
	for _, request := range asked {
		v := variable.FindString(request)
		if v == "" {
			all = append(all, request)
			continue
		}
		if names[v] == nil {
			t.Fatalf("%s: say what %s stands for", request, v)
		}
		for _, name := range names[v] {
			all = append(all, filled(t, []string{strings.ReplaceAll(request, v, name)}, names)...)
		}
	}
	return all
}

// look returns an answer with its headers. For a stream it returns the beginning, up to the first summary.
func look(t *testing.T, server *httptest.Server, path, token string) string {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said := strings.Builder{}
	answer.Header.Del("Date")
	_, _ = fmt.Fprintln(&said, answer.StatusCode, answer.Header)
	isStream := answer.Header.Get("Content-Type") == "text/event-stream; charset=utf-8"
	for lines, inSummary := bufio.NewReader(answer.Body), false; ; {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if inSummary = inSummary || line == "event: summary\n"; err != nil || isStream && inSummary && line == "\n" {
			return said.String()
		}
	}
}

// TestNoRouteTellsOfOthers sends every GET of the table as a caller who may see one of two apps. The answers about
// that app name nothing of the other, and the answers about the other are the same as for things that do not exist.
// Each answer shows the state at one moment.
func TestNoRouteTellsOfOthers(t *testing.T) {
	t.Parallel()
	s, mine, zebra := newTenants(t)
	access := realAccess(t, auth.Options{})
	whole, some := token(t, access, "whole", auth.Admin), token(t, access, "some", auth.Admin, "mine*")
	const waits = "zebra_waits@20260501T120000Z"
	history := &fakeHistory{executions: []search.Execution{{ID: "mine_stored", Job: "mine_runs"},
		{ID: "zebra_stored", Job: "zebra_runs"}, {ID: "never_stored", Job: "never_runs"}}, life: []search.Moment{
		{Kind: "WAITED", Message: "it was kept for execution " + waits, MessageArgs: map[string]any{"of": waits}}}}
	server := start(t, api.Options{Scheduler: s, Access: access, History: history})
	tell, hidden := 0, 0
	for _, path := range mine.requests(t) {
		all, most := "", 1
		if strings.HasPrefix(path, "/api/cluster") { // agents are sorted between its two reads
			most = 2
		}
		reads := s.readsOf(func() { all = look(t, server, path, whole) })
		if reads > most && strings.HasPrefix(all, "200") {
			t.Errorf("GET %s is answered from %d moments", path, reads)
		}
		said := look(t, server, path, some)
		if strings.Contains(all, "zebra") {
			tell++
		}
		if strings.HasPrefix(said, "200") && strings.Contains(all, "mine") && !strings.Contains(said, "mine") {
			t.Errorf("GET %s tells nothing of their own app: %s", path, said)
		}
		if strings.Contains(strings.ReplaceAll(said, "search=zebra", ""), "zebra") {
			t.Errorf("GET %s tells of another app: %s", path, said)
		}
		if strings.Contains(said, "of another app") {
			hidden++
		}
	}
	absent := strings.NewReplacer("zebra", "never")
	for _, path := range zebra.requests(t) {
		if !strings.Contains(path, "zebra") {
			continue
		}
		said, other := look(t, server, path, some), look(t, server, absent.Replace(path), some)
		isFound := strings.HasPrefix(said, "200") && !strings.Contains(path, "?")
		if isFound || absent.Replace(said) != other {
			t.Errorf("GET %s: %s of what is not there: %s", path, said, other)
		}
	}
	if tell < 20 || hidden < 5 {
		t.Errorf("%d answers tell those who may see all of zebra, %d hide a name: is there nothing to be hidden?",
			tell, hidden)
	}
}

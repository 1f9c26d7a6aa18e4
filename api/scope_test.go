package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/history"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/search"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/problem"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// appsOfTwo starts a server with two apps, each with one job; the grants of its callers cover only one of them.
func appsOfTwo(t *testing.T, h history.History) (*fakeScheduler,
	func(method, path, body string, role auth.Role) (int, string)) {
	t.Helper()
	b := newFakeScheduler()
	b.add("mine-1", "mine_job")
	b.add("theirs", "their_job")
	b.live = map[string]string{"exec-mine": "mine_job", "exec-theirs": "their_job"}
	access := realAccess(t, auth.Options{})
	tokens := map[auth.Role]string{}
	for _, role := range []auth.Role{auth.Viewer, auth.Operator, auth.Admin} {
		tokens[role] = token(t, access, role.String(), role, "mine-*")
	}
	server := start(t, api.Options{Scheduler: b, Access: access, History: h})
	return b, func(method, path, body string, role auth.Role) (int, string) {
		answer, text := call(t, server, method, path, body, "Authorization: Bearer "+tokens[role])
		return answer.StatusCode, text
	}
}

const (
	taskOfMine   = "mine_job@-@0@-@READY@-@S0@-@0f8e"
	taskOfTheirs = "their_job@-@0@-@READY@-@S0@-@0f8e"
)

// askedWith are additional queries and bodies, for requests whose path does not name an app or job. A route that is
// not listed is called without any.
var askedWith = map[string][]string{
	"PUT /api/app":  {` {"appName":"{appName}","cpuCount":2}`},
	"POST /api/app": {` {"appName":"{appName}","appURL":"http://h/x.tar.gz","bootstrapScript":"run.sh"}`},
	"POST /api/app/check": {` {"appName":"{appName}","appURL":"http://h/x.tar.gz","bootstrapScript":"run.sh"}`,
		`?update=true {"appName":"{appName}","cpuCount":2}`},
	"DELETE /api/app/{appName}":       {"?jobs=true"},
	"PUT /api/job/update":             {` {"jobName":"{jobName}","cpuCount":2}`},
	"POST /api/job/register":          {newJobOf},
	"POST /api/job/check":             {newJobOf, `?update=true {"jobName":"{jobName}","cpuCount":2}`},
	"POST /api/job/trigger":           {" {jobName}"},
	"POST /api/job/{jobName}/trigger": {` {"env":{"A":"b"}}`},
	"DELETE /api/job/deregister":      {" {jobName}"},
}

const newJobOf = ` {"jobName":"new","appName":"{appName}","jobExecutionType":"TRANSIENT","shardingTotalCount":1,` +
	`"cpuCount":1,"memoryMB":1}`

// TestHiddenIsAbsent walks the router. A request about something outside the grant gets the same answer as for
// something that does not exist, and changes nothing. TestNoRouteTellsOfOthers covers the reads.
func TestHiddenIsAbsent(t *testing.T) {
	t.Parallel()
	b, ask := appsOfTwo(t, &fakeHistory{life: []search.Moment{{Kind: "DROPPED", Message: "secret of theirs"}},
		executions: []search.Execution{{ID: "stored-theirs", Job: "their_job"}, {ID: "stored-absent", Job: "absent"}}})
	absent, walked := strings.NewReplacer("their_job", "absent", "theirs", "absent"), 0
	for _, r := range api.New(api.Options{Scheduler: b}).Routes() {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || !strings.HasSuffix(r.Who, "for the app") {
			continue
		}
		var asked []string
		if strings.Contains(r.Path, "{") {
			asked = append(asked, r.Method+" "+r.Path)
		}
		for _, with := range askedWith[r.Method+" "+r.Path] {
			asked = append(asked, r.Method+" "+r.Path+with)
		}
		if len(asked) == 0 {
			t.Errorf("%s %s: say in askedWith how it names an app or a job", r.Method, r.Path)
		}
		for _, route := range filled(t, asked, map[string][]string{"{appName}": {"theirs"}, "{jobName}": {"their_job"},
			"{executionId}": {"exec-theirs", "stored-theirs"}, "{taskId}": {taskOfTheirs}}) {
			method, rest, _ := strings.Cut(route, " ")
			path, body, _ := strings.Cut(rest, " ")
			before := b.changed()
			walked++
			status, text := ask(method, path, body, auth.Admin)
			otherStatus, other := ask(method, absent.Replace(path), absent.Replace(body), auth.Admin)
			if status != otherStatus || absent.Replace(text) != other {
				t.Errorf("%s\n hidden: %d %s absent: %d %s", route, status, text, otherStatus, other)
			}
			if b.changed() != before || strings.Contains(text, "secret") ||
				status != http.StatusNotFound && status != http.StatusForbidden {
				t.Errorf("%s: %d %s", route, status, text)
			}
		}
	}
	if walked < 25 {
		t.Errorf("only %d requests were made", walked)
	}
}

// TestListsHaveTheirAppsOnly: lists have only the apps of the grant, and these can be read and changed.
func TestListsHaveTheirAppsOnly(t *testing.T) {
	t.Parallel()
	b, ask := appsOfTwo(t, nil)
	if _, text := ask("GET", "/api/job/statistics/jobs/executionType", "",
		auth.Viewer); text != `{"transientJobCount":1,"daemonJobCount":0}`+"\n" {
		t.Errorf("counts: %s", text)
	}
	for _, c := range []struct {
		route  string
		needs  auth.Role
		status int
	}{
		{"GET /api/app/mine-1", auth.Viewer, 200}, {"GET /api/job/jobs/mine_job", auth.Viewer, 200}, {"GET /api/job/mine_job/explain", auth.Viewer, 200}, {"GET /api/execution/exec-mine", auth.Viewer, 200},
		{"POST /api/job/mine_job/trigger", auth.Operator, 200}, {"POST /api/job/mine_job/pause", auth.Operator, 200}, {"POST /api/app/mine-1/disable", auth.Operator, 200}, {"POST /api/app/mine-1/enable", auth.Operator, 200},
		{"POST /api/execution/exec-mine/kill", auth.Operator, 200}, {"POST /api/execution/exec-mine/again", auth.Operator, 200}, {"GET /api/job/mine_job/changes", auth.Viewer, 200}, {"POST /api/task/" + taskOfMine + "/kill", auth.Operator, 200},
		{`POST /api/app {"appName":"mine-2","appURL":"http://h/x.tar.gz","bootstrapScript":"run.sh"}`, auth.Admin, 200},
		{`PUT /api/job/update {"jobName":"mine_job","appName":"mine-2"}`, auth.Admin,
			422}, // the fake's stored document is incomplete, so its rules fail first
		{"DELETE /api/job/mine_job/deregister", auth.Admin, 200}, {"DELETE /api/app/mine-1", auth.Admin, 200},
		{"GET /api/leader", auth.NoRole, 403}, {"GET /metrics", auth.NoRole, 403}, {"GET /api/users", auth.NoRole, 403}, {"POST /api/operate/reconcile/implicit", auth.NoRole, 403},
		{"GET /api/operate/sandbox?appName=mine-1", auth.NoRole, 403}, {"GET /api/operate/faulty", auth.NoRole, 403}, {"GET /api/cluster", auth.NoRole, 403}, {"GET /api/cluster/agents/S0", auth.NoRole, 403}, {"GET /api/overview/fires", auth.NoRole, 403}, {"GET /api/overview/series", auth.NoRole, 403}, {`POST /api/agent/S0/cordon {"reason":"a"}`, auth.NoRole, 403}, {"POST /api/agent/S0/uncordon", auth.NoRole, 403}, {`POST /api/agent/S0/drain {"reason":"a"}`, auth.NoRole, 403}, {`POST /api/agent/S0/dead {"force":true}`, auth.NoRole, 403}, {"GET /api/job/statistics/tasks/running", auth.NoRole, 403},
	} {
		method, rest, _ := strings.Cut(c.route, " ")
		path, body, _ := strings.Cut(rest, " ")
		for _, role := range []auth.Role{auth.Viewer, auth.Operator, auth.Admin} {
			before := b.changed()
			status, text := ask(method, path, body, role)
			want := c.status
			if role < c.needs {
				want = http.StatusForbidden
			}
			if status != want || want != http.StatusOK && b.changed() != before {
				t.Errorf("%s by %s: %d %s", c.route, role, status, text)
			}
			if role == c.needs {
				break // done is done
			}
		}
	}
}

// TestAJobStaysWithinTheGrant: a caller who may publish some apps can neither move a job out of them nor move one into
// other apps.
func TestAJobStaysWithinTheGrant(t *testing.T) {
	t.Parallel()
	b, ask := appsOfTwo(t, nil)
	const whole = `"jobExecutionType":"TRANSIENT","shardingTotalCount":1,"cpuCount":1,"memoryMB":1`
	if status, text := ask("PUT", "/api/job/update", `{"jobName":"mine_job","appName":"theirs",`+whole+`}`,
		auth.Admin); status != 403 || !strings.Contains(text, "not_allowed") {
		t.Errorf("moved to theirs: %d %s", status, text)
	}
	if b.jobs["mine_job"].Config.AppName != "mine-1" {
		t.Error("the job has moved")
	}
	if status, text := ask("PUT", "/api/job/update", `{"jobName":"mine_job","appName":"mine-1",`+whole+`}`,
		auth.Admin); status != 200 {
		t.Errorf("changed within the grant: %d %s", status, text)
	}
	if status, text := ask("POST", "/api/job/mine_job/trigger", `{"env":{"LD_PRELOAD":"/tmp/x.so"}}`,
		auth.Operator); status != 403 || !strings.Contains(text, "env") {
		t.Errorf("an operator says what is run: %d %s", status, text)
	}
	if status, text := ask("POST", "/api/job/mine_job/trigger", `{"jobParameter":"x"}`, auth.Operator); status != 200 {
		t.Errorf("an operator triggers: %d %s", status, text)
	}
}

// reasonsOfOthers are sentences that name things of an app outside the grant, and of one within it.
var reasonsOfOthers = []string{
	"1 agent reserved for execution their_job@20260501T120000Z, 2 too small",
	"its package could not be fetched: h did not answer, 1 time; execution their_job@key-0f8e12ab34cd56ef tries it now",
	"nothing is launched yet: tasks that it left are being ended first: task " + taskOfTheirs +
		", task theirs@-@S0 and 2 more",
	"executor theirs@-@S0@-@3 takes no more tasks", "POST /api/task/" + taskOfTheirs +
		"/forget if you know that it has ended", "their_job@import-20260501T120000.000Z-failover",
	"execution mine_job@20260501T120000Z of the job is running; a job runs one at a time",
}

// TestReasonsNameNoOthers: the reasons in checks of jobs and in refusals name nothing of other apps to a caller with
// some apps. TestNoRouteTellsOfOthers covers the reads.
func TestReasonsNameNoOthers(t *testing.T) {
	t.Parallel()
	b, ask := appsOfTwo(t, nil)
	b.reason = strings.Join(reasonsOfOthers, "; ")
	document := `{"jobName":"%s","appName":"mine-1","jobExecutionType":"TRANSIENT","shardingTotalCount":1,"cpuCount":1,"memoryMB":64}`
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/api/job/check", fmt.Sprintf(document, "new_job")}, {"POST", "/api/job/check?update=true", fmt.Sprintf(document, "mine_job")},
	} {
		if status, text := ask(r.method, r.path, r.body, auth.Admin); status != 200 ||
			strings.Contains(text, "their") ||
			!strings.Contains(text, "reserved for execution of another app, 2 too small") ||
			!strings.Contains(text, "execution mine_job@20260501T120000Z of the job") {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, text)
		}
	}
	b.failWith = problem.Errorf(problem.Conflict, "no", "%s", b.reason)
	if status, text := ask("POST", "/api/job/mine_job/pause", "", auth.Admin); status != http.StatusConflict ||
		strings.Contains(text, "their") {
		t.Errorf("refused: %d %s", status, text)
	}
}

// TestNoAnswerNamesOthers walks the types of all answers for callers with some apps. Ids are hidden in every text,
// except in documents. The API cannot recognize a name that is not part of an id; the simulations in scheduler/sim
// check that the core's texts contain no such name of another app.
func TestNoAnswerNamesOthers(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.add("mine-1", "mine_job")
	b.add("theirs", "their_job")
	server := api.New(api.Options{Scheduler: b})
	viewer := auth.Principal{Kind: auth.User, Name: "v",
		Grant: auth.Grant{Role: auth.Viewer, Apps: []string{"mine-*"}}}
	texts := 0
	for route, answer := range api.AnswersByApp() {
		filled := reflect.New(reflect.TypeOf(answer)).Elem()
		texts += fill(t, filled, strings.Join(reasonsOfOthers, "; "), 0)
		hidden, failure := server.Shown(t.Context(), viewer, filled.Interface())
		shown, err := json.Marshal(hidden)
		err = errors.Join(err, failure)
		if err != nil || strings.Contains(string(shown), "their") {
			t.Errorf("%s: %v %s", route, err, shown)
		}
		whole, _ := server.Shown(t.Context(), auth.Principal{Kind: viewer.Kind, Grant: auth.Grant{Role: auth.Viewer}},
			filled.Interface())
		all, err := json.Marshal(whole)
		if want, _ := json.Marshal(filled.Interface()); err != nil || string(want) != string(all) {
			t.Errorf("%s: a caller with all apps sees %s", route, all)
		}
	}
	b.unread = problem.Errorf(problem.Unavailable, "", "it starts")
	if answer, err := server.Shown(t.Context(), viewer, reasonsOfOthers); !errors.Is(err, b.unread) {
		t.Errorf("an answer although the visible jobs are not known: %v %v", answer, err)
	}
	if texts < 100 {
		t.Errorf("only %d texts were looked at", texts)
	}
}

// fill sets a text everywhere in a value except in documents, and returns how many texts it set. It fails for types
// whose texts are not hidden: arrays, and embedded structs of unexported types.
func fill(t *testing.T, v reflect.Value, text string, depth int) (texts int) {
	if depth > 8 {
		return 0
	}
	switch v.Interface().(type) {
	case app.Config, jobs.Config, jobs.Overrides, time.Time, json.RawMessage:
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return 1
	case reflect.Interface:
		if v.NumMethod() == 0 { // arguments of reasons
			v.Set(reflect.ValueOf(map[string]any{"code": text, "args": map[string]any{"text": text}}))
			return 2
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(t, v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(t, v.Index(0), text, depth+1)
	case reflect.Array:
		if kind := v.Type().Elem().Kind(); kind < reflect.Bool || kind > reflect.Complex128 {
			t.Errorf("%s: texts in arrays are not hidden", v.Type())
		}
	case reflect.Map:
		key, one := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		texts = fill(t, key, text, depth+1) + fill(t, one, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, one)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous && !f.IsExported() {
				t.Errorf("%s: texts in the embedded %s are not hidden", v.Type(), f.Name)
			}
			if v.Field(i).CanSet() {
				texts += fill(t, v.Field(i), text, depth+1)
			}
		}
	}
	return texts
}

// TestSchedulerMethodsTakeAScope: every method of the scheduler takes a scope, except those about this server.
func TestSchedulerMethodsTakeAScope(t *testing.T) {
	t.Parallel()
	scheduler := reflect.TypeFor[api.Scheduler]()
	for i := range scheduler.NumMethod() {
		switch m := scheduler.Method(i); m.Name {
		case "Leader", "Health", "Stats":
		default:
			if m.Type.NumIn() < 2 || m.Type.In(1) != reflect.TypeFor[explain.Scope]() {
				t.Errorf("%s takes no Scope", m.Name)
			}
		}
	}
}

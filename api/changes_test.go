package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// TestChangesOfAJob: the answer has only the job's rows, without the callers' addresses. A caller with some apps sees
// the rows from the time when the job belonged to these apps.
func TestChangesOfAJob(t *testing.T) {
	t.Parallel()
	row := func(id, action, target, name, app string) event.Audit {
		return event.Audit{ID: id, Time: noon, Actor: event.Actor{Name: "alice", Kind: "user", From: "10.0.0.7"},
			Action: action, Target: target, TargetName: name, App: app, After: `{"cron":"` + id + `"}`}
	}
	kept := []event.Audit{row("5", "job.update", "job", "mine_job", "mine-1"),
		row("4", "job.trigger", "job", "mine_job", "mine-1"), row("9", "app.update", "app", "mine_job", "mine-1"),
		row("8", "job.update", "job", "their_job", "theirs")}
	stored := []event.Audit{row("3", "job.update", "job", "mine_job", "theirs"),
		row("2", "job.register", "job", "mine_job", "mine-2"), row("1", "job.delete", "job", "gone", "mine-1")}
	h := &fakeHistory{audits: stored}
	kept[0].Before = `{"appName":"theirs"}`
	b, ask := appsOfTwo(t, h)
	b.audits = kept
	all := newFakeScheduler()
	all.add("mine-1", "mine_job")
	all.audits = kept
	server := start(t, api.Options{Scheduler: all, History: h})
	const five = `{"id":"5","time":"2026-05-01T12:00:00Z","who":"alice","kind":"user","action":"job.update","before":{"appName":"theirs"},"after":{"cron":"5"}}`
	if _, text := call(t, server, "GET", "/api/job/mine_job/changes?limit=1", ""); !strings.HasPrefix(text,
		`{"rows":[`+five+`],"next":"`) {
		t.Error(text)
	}
	for path, want := range map[string]string{"mine_job/changes": "5432", "mine_job/changes?action=job.update": "53",
		"gone/changes": "1", "mine_job/changes?limit=2": "54"} {
		_, text := call(t, server, "GET", "/api/job/"+path, "")
		if got := idsIn(text); got != want || strings.Contains(text, "10.0.0.7") {
			t.Errorf("%s: %s, want %s: %s", path, got, want, text)
		}
	}
	if status, text := ask("GET", "/api/job/mine_job/changes", "", auth.Viewer); status != http.StatusOK ||
		idsIn(text) != "542" || strings.Contains(text, "theirs") {
		t.Errorf("for some: %d %s", status, text)
	}
	if status, text := ask("GET", "/api/job/gone/changes", "", auth.Admin); status != http.StatusNotFound {
		t.Errorf("the app of a removed job is not known: %d %s", status, text)
	}
	for path, status := range map[string]int{"never/changes": 404, "mine_job/changes?limit=0": 400,
		"mine_job/changes?who=alice": 400, "mine_job/changes?cursor=x": 400} {
		if answer, text := call(t, server, "GET", "/api/job/"+path, ""); answer.StatusCode != status {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// idsIn returns the ids of an answer's rows, each of one character.
func idsIn(text string) (ids string) {
	for _, part := range strings.Split(text, `{"id":"`)[1:] {
		ids += part[:1]
	}
	return ids
}

// TestAgain: a run can be repeated; only an admin can repeat one with its own env. For a run that only the history
// has, the answer says what to do instead.
func TestAgain(t *testing.T) {
	t.Parallel()
	b, ask := appsOfTwo(t, &fakeHistory{executions: []search.Execution{{ID: "stored-mine", Job: "mine_job",
		State: "FINISHED", Fire: at(noon.Add(-time.Hour))}}})
	for _, c := range []struct {
		id     string
		ownEnv bool
		role   auth.Role
		status int
		want   string
	}{
		{"exec-mine", false, auth.Operator, 200, `{"executionId":"exec-mine_job"}`},
		{"exec-mine", true, auth.Operator, 403, `"code":"not_allowed"`},
		{"exec-mine", true, auth.Admin, 200, `{"executionId":"exec-mine_job"}`},
		{"exec-mine", false, auth.Viewer, 403, `"code":"not_allowed"`},
		{"stored-mine", false, auth.Operator, 409, `POST /api/job/mine_job/trigger`},
		{"none", false, auth.Operator, 404, `"code":"execution_not_found"`},
	} {
		b.ownEnv = c.ownEnv
		if status, text := ask("POST", "/api/execution/"+c.id+"/again", "", c.role); status != c.status ||
			!strings.Contains(text, c.want) {
			t.Errorf("%+v: %d %s", c, status, text)
		}
	}
	server := start(t, api.Options{Scheduler: newFakeScheduler()})
	if answer, text := call(t, server, "POST", "/api/execution/exec-1/again", "",
		"Idempotency-Key: "+strings.Repeat("x", 201)); readError(t, answer, text).Error.Code != "bad_idempotency_key" {
		t.Error(text)
	}
}

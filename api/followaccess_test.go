package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
)

// TestASessionWorksAtAFollower: the leader accepts a request that came with a browser's cookie, and whose Origin the
// follower has checked.
func TestASessionWorksAtAFollower(t *testing.T) {
	t.Parallel()
	shared := &sharedInMemory{}
	here, there := realAccess(t, auth.Options{Shared: shared}), realAccess(t, auth.Options{Shared: shared})
	user(t, here, "alice", auth.Operator)
	if err := there.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := newFakeScheduler()
	b.add("my_app", "my_job")
	url := follower(t, addressOf(serveUntilEnd(t, api.Options{Scheduler: b, Access: there})),
		api.Options{Access: here})
	answer, _ := ask(t, "POST", url+"/api/session", `{"username":"alice","password":"password of alice"}`)
	with := "Cookie: elasticjob=" + cookieOf(t, answer).Value
	for _, c := range []struct {
		method, path, origin string
		status               int
	}{
		{"GET", "/api/job/jobs/my_job", "", 200}, {"POST", "/api/job/my_job/trigger", url, 200}, {"POST", "/api/job/my_job/trigger", "http://evil.example", 403},
		{"POST", "/api/job/my_job/trigger", "", 403}, {"DELETE", "/api/job/my_job/deregister", url, 403},
	} {
		headers := []string{with}
		if c.origin != "" {
			headers = append(headers, "Origin: "+c.origin)
		}
		if answer, text := ask(t, c.method, url+c.path, "", headers...); answer.StatusCode != c.status {
			t.Errorf("%s %s of %q: %d %s", c.method, c.path, c.origin, answer.StatusCode, text)
		}
	}
}

// TestRestrictedSearchIsForwarded: a follower answers a search of the history itself, but forwards it to the leader if
// the caller's grant is for some apps, because only the leader knows the apps of jobs.
func TestRestrictedSearchIsForwarded(t *testing.T) {
	t.Parallel()
	shared := &sharedInMemory{}
	access := realAccess(t, auth.Options{Shared: shared})
	some, all := token(t, access, "some", auth.Viewer, "my_*"), token(t, access, "all", auth.Viewer)
	b, own, leaders := newFakeScheduler(), &fakeHistory{}, &fakeHistory{}
	b.add("my_app", "my_job")
	b.add("theirs", "their_job")
	url := follower(t, addressOf(serveUntilEnd(t, api.Options{Scheduler: b, Access: access, History: leaders})),
		api.Options{Access: access, History: own})
	for _, c := range []struct {
		token, job string
		status     int
		own        int // how often this server's own history was asked by then
	}{{all, "their_job", 200, 1}, {some, "my_job", 200, 1}, {some, "their_job", 404, 1}, {some, "", 403, 1}} {
		answer, text := ask(t, "GET", url+"/api/job/events/executions?jobName="+c.job, "",
			"Authorization: Bearer "+c.token)
		if answer.StatusCode != c.status || len(own.asked) != c.own ||
			answer.StatusCode != http.StatusOK && strings.Contains(text, "rows") {
			t.Errorf("%s: %d %s, asked %d times here", c.job, answer.StatusCode, text, len(own.asked))
		}
	}
	if len(leaders.asked) != 1 {
		t.Errorf("the leader's history was asked %d times", len(leaders.asked))
	}
}

package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler"
)

// follower serves a scheduler that does not lead and knows the leader's address.
func follower(t *testing.T, leader string, opts api.Options) string {
	t.Helper()
	b := newFakeScheduler()
	b.health = scheduler.Health{Detail: "it is a standby"}
	b.leader = scheduler.LeaderView{Address: leader, Term: 7, Since: noon}
	return followerOf(t, b, opts)
}

func followerOf(t *testing.T, b *fakeScheduler, opts api.Options) string {
	t.Helper()
	opts.Scheduler, opts.Advertise = b, "follower:1"
	return serveUntilEnd(t, opts)
}

// serveUntilEnd runs serve until the end of the test and waits for it.
func serveUntilEnd(t *testing.T, opts api.Options) string {
	t.Helper()
	if opts.Logs == nil {
		opts.Logs = &files{}
	}
	opts.FollowInterval = time.Millisecond
	url, stop, ended := serve(t, opts)
	t.Cleanup(func() {
		stop()
		if err := await(t, "the server", ended); err != nil {
			t.Error(err)
		}
	})
	return url
}

// ask sends a request on a new connection and reads the whole answer. Headers are "Name: value".
func ask(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		if name, value, _ := strings.Cut(h, ": "); name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	r.Close = true
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func addressOf(url string) string { return strings.TrimPrefix(url, "http://") }

func TestAFollowerAnswersAsTheLeaderDoes(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	leader := serveUntilEnd(t, api.Options{Scheduler: b})
	here := follower(t, addressOf(leader), api.Options{})
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/api/app/list", ""}, {"POST", "/api/app", appDocument}, {"POST", "/api/app", appDocument}, {"PUT", "/api/app", `{"appName":"my_app","memoryMB":65}`},
		{"GET", "/api/app/my_app/", ""}, {"GET", "/api/app/n%2Fone", ""}, {"POST", "/api/job/register", jobDocument}, {"GET", "/api/job/jobs?x=;y", ""},
		{"POST", "/api/job/my_job/trigger", ""}, {"POST", "/api/job/trigger", "my_job"}, {"DELETE", "/api/app/my_app", ""}, {"POST", "/api/app", "{broken"},
		{"GET", "/api/execution/exec-1", ""}, {"POST", "/api/task/t1/forget", ""}, {"GET", "/api/task/none/logs", ""},
		{"POST", "/api/operate/reconcile/explicit", ""}, {"POST", "/api/operate/reconcile/implicit", ""},
		{"GET", "/api/operate/sandbox?appName=my_app", ""}, {"GET", "/api/operate/sandbox?appName=", ""}, {"GET", "/api/operate/sandbox", ""}, {"GET", "/api/operate/sandbox?appName=none", ""},
		{"GET", "/api/cluster?search=h", ""}, {"GET", "/api/cluster/agents/S0", ""}, {"GET", "/api/cluster/agents/S9", ""},
		{"GET", "/api/none", ""}, {"PATCH", "/api/app", ""}, {"DELETE", "/api/job/my_job/deregister", ""},
	} {
		// Writes are sent through the follower only, so that each is carried out once. Reads are also sent to the
		// leader, and both answers are compared.
		answer, text := ask(t, r.method, here+r.path, r.body)
		if r.method != "GET" {
			if answer.StatusCode/100 == 5 || text == "" {
				t.Errorf("%s %s: %d %s", r.method, r.path, answer.StatusCode, text)
			}
			continue
		}
		want, wantText := ask(t, r.method, leader+r.path, r.body)
		if answer.StatusCode != want.StatusCode || text != wantText {
			t.Errorf("%s %s: %d %s; the leader: %d %s", r.method, r.path, answer.StatusCode, text, want.StatusCode,
				wantText)
		}
		for _, name := range []string{"Content-Type", "Cache-Control", "X-Content-Type-Options", "Content-Length"} {
			if got := answer.Header.Values(name); len(got) != 1 || got[0] != want.Header.Get(name) {
				t.Errorf("%s: %s: %q, the leader %q", r.path, name, got, want.Header.Values(name))
			}
		}
	}
	if b.changed() != 7 { // app, its update, job, two triggers, forget, deregister
		t.Errorf("%d changes at the leader", b.changed())
	}
	b.gap = 9200 * time.Millisecond
	answer, text := ask(t, "POST", here+"/api/operate/reconcile/explicit", "")
	if e := readError(t, answer, text); answer.StatusCode != 429 || e.Error.Code != "too_soon" ||
		answer.Header.Get("Retry-After") != "10" {
		t.Errorf("%d %v %s", answer.StatusCode, answer.Header, text)
	}
}

func TestWhoLeads(t *testing.T) {
	t.Parallel()
	here := follower(t, "10.0.0.5:8899", api.Options{})
	if answer, text := ask(t, "GET", here+"/api/leader", ""); answer.StatusCode != 200 ||
		text != `{"address":"10.0.0.5:8899","term":7,"since":"2026-05-01T12:00:00Z","self":false}`+"\n" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	for path, want := range map[string]int{"/readyz": 200, "/healthz": 200, "/metrics": 200, "/": 200,
		"/artifacts/none": 404} {
		if answer, text := ask(t, "GET", here+path, ""); answer.StatusCode != want {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	alone := follower(t, "", api.Options{})
	for _, path := range []string{"/api/leader", "/readyz", "/api/app/list"} {
		answer, text := ask(t, "GET", alone+path, "")
		if e := readError(t, answer, text); answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" ||
			!strings.Contains(e.Error.Message, "it is a standby") {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
	// The address is this server's own, which has not begun to lead or has stopped.
	itself := follower(t, "follower:1", api.Options{})
	for _, path := range []string{"/readyz", "/api/app/list"} {
		if answer, text := ask(t, "GET", itself+path, ""); answer.StatusCode != 503 {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestOnlyAnswersToWritesSayThatNothingChanged: the answer to a read does not say that it changed nothing. The reason
// that this server gives for having no leader may mention other changes.
func TestOnlyAnswersToWritesSayThatNothingChanged(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.health = scheduler.Health{Detail: "commit the state: may have been done: the term has ended"}
	alone := followerOf(t, b, api.Options{})
	gone := follower(t, "127.0.0.1:1", api.Options{})
	here := serveUntilEnd(t, api.Options{Scheduler: newFakeScheduler()})
	for _, test := range []struct{ method, url, body, want string }{
		{"GET", alone + "/api/app/list", "", "no leader is known: try again. Last known state: commit the state: may have been done: the term has ended"},
		{"POST", alone + "/api/job/j/trigger", "", "this request changed nothing: no leader is known: try again. Last known state: commit the state: may have been done: the term has ended"},
		{"GET", gone + "/api/app/list", "", "the leader at 127.0.0.1:1 gave no answer: try again"},
		{"POST", gone + "/api/job/j/trigger", "", "this request changed nothing: the leader at 127.0.0.1:1 gave no answer: try again"},
		{"POST", here + "/api/app", "{}", "this request changed nothing: appName: is missing"},
	} {
		answer, text := ask(t, test.method, test.url, test.body)
		if e := readError(t, answer, text); !strings.HasPrefix(e.Error.Message, test.want) {
			t.Errorf("%s %s: %s\nwant %s", test.method, test.url, text, test.want)
		}
	}
}

// TestNoRequestGoesRoundInCircles: each of two followers takes the other for the leader.
func TestNoRequestGoesRoundInCircles(t *testing.T) {
	t.Parallel()
	first := follower(t, "10.0.0.5:8899", api.Options{})
	second := follower(t, addressOf(first), api.Options{})
	answer, text := ask(t, "GET", second+"/api/app/list", "")
	if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "not_leading" ||
		answer.Header.Get("Retry-After") != "1" || !strings.Contains(e.Error.Message, "follower:1") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// TestOutputIsFollowedThroughAFollower: output arrives as it is written, and the stream ends with the task.
func TestOutputIsFollowedThroughAFollower(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{}
	b.place("t1", true)
	f.set(stdout, "one\n")
	leader := serveUntilEnd(t, api.Options{Scheduler: b, Logs: f})
	here := follower(t, addressOf(leader), api.Options{})
	out, _ := follow(t, here+"/api/task/t1/logs?follow=true")
	line(t, out, "one\n")
	f.set(stdout, "one\ntwo\n")
	line(t, out, "two\n")
	b.place("t1", false)
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("the end: %q, %v", rest, err)
	}
}

// TestAWriteIsNeverSentTwice: the leader closes the connection after reading the request, or does not listen at all
// (rule T3).
func TestAWriteIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	var came atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		came.Add(1)
		panic(http.ErrAbortHandler)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	here := follower(t, l.Addr().String(), api.Options{})
	for i, r := range []string{"POST /api/app", "PUT /api/app", "DELETE /api/app/a", "POST /api/job/j/trigger"} {
		method, path, _ := strings.Cut(r, " ")
		answer, text := ask(t, method, here+path, "", "Idempotency-Key: k")
		if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "outcome_unknown" ||
			came.Load() != int64(i+1) {
			t.Errorf("%s: %d %s; it came %d times", r, answer.StatusCode, text, came.Load())
		}
	}
	answer, text := ask(t, "GET", here+"/api/app/list", "")
	if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "leader_unreachable" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	_ = server.Close()
	answer, text = ask(t, "POST", here+"/api/app", appDocument)
	if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "leader_unreachable" ||
		answer.Header.Get("Retry-After") != "1" {
		t.Errorf("nothing was sent: %d %s", answer.StatusCode, text)
	}
}

// TestAnArtifactThatIsNotHereComesFromTheLeader: a follower forwards the request for an artifact that it does not
// have.
func TestAnArtifactThatIsNotHereComesFromTheLeader(t *testing.T) {
	t.Parallel()
	leader := serveUntilEnd(t, api.Options{Scheduler: newFakeScheduler(), Artifact: oneArtifact(t, "there")})
	here := follower(t, addressOf(leader), api.Options{})
	answer, text := ask(t, "GET", here+"/artifacts/there", "")
	if answer.StatusCode != 200 || text != "binary of there" ||
		!strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%d %s %v", answer.StatusCode, text, answer.Header)
	}
	answer, text = ask(t, "GET", here+"/artifacts/none", "")
	if e := readError(t, answer, text); answer.StatusCode != 404 || e.Error.Code != "artifact_not_found" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

func TestATokenIsDemanded(t *testing.T) {
	t.Parallel()
	const token = "s3cret-token"
	b := newFakeScheduler()
	leader := serveUntilEnd(t, api.Options{Scheduler: b, Access: oneToken(token)})
	here := follower(t, addressOf(leader), api.Options{Access: oneToken(token)})
	for _, url := range []string{leader, here} {
		for _, c := range []struct {
			method, path, authorization string
			status                      int
			code                        string
		}{
			{"GET", "/api/app/list", "", 401, "token_missing"}, {"POST", "/api/app", "", 401, "token_missing"}, {"GET", "/metrics", "", 401, "token_missing"},
			{"GET", "/api/leader", "", 401, "token_missing"}, {"GET", "/none", "", 401, "token_missing"},
			{"GET", "/api/app/list", "Bearer wrong", 401, "bad_token"}, {"GET", "/api/app/list", "Basic " + token, 401, "bad_token"},
			{"GET", "/api/app/list", "Bearer " + token + "x", 401, "bad_token"}, {"GET", "/api/app/list", "Bearer ", 401, "token_missing"},
			{"GET", "/api/app/list", "Bearer " + token, 200, ""}, {"GET", "/api/app/list", "bearer  " + token, 200, ""}, {"GET", "/metrics", "Bearer " + token, 200, ""},
			{"GET", "/healthz", "", 200, ""}, {"GET", "/readyz", "", 200, ""}, {"GET", "/", "", 200, ""}, {"GET", "/artifacts/none", "", 404, "artifact_not_found"},
		} {
			answer, text := ask(t, c.method, url+c.path, "", "Authorization: "+c.authorization)
			var e answeredError
			if c.code != "" {
				e = readError(t, answer, text)
			}
			if answer.StatusCode != c.status || e.Error.Code != c.code || strings.Contains(text, token) {
				t.Errorf("%s %s with %q: %d %s", c.method, c.path, c.authorization, answer.StatusCode, text)
			}
			if (answer.StatusCode == 401) != (answer.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s: WWW-Authenticate %q", c.path, answer.Header.Get("WWW-Authenticate"))
			}
		}
	}
	server := start(t, api.Options{Scheduler: b, Access: oneToken(token)})
	if answer, text := call(t, server, "GET", "/api/app/list", "", "Host: any.example",
		"Authorization: Bearer "+token); answer.StatusCode != 200 {
		t.Errorf("any host with a token: %d %s", answer.StatusCode, text)
	}
	named := start(t, api.Options{Scheduler: b, Advertise: "me.example:8899"})
	if answer, text := call(t, named, "GET", "/api/app/list", "", "Host: me.example"); answer.StatusCode != 200 {
		t.Errorf("the advertised host: %d %s", answer.StatusCode, text)
	}
}

// TestHealthTellsTheLeader checks what monitoring reads.
func TestHealthTellsTheLeader(t *testing.T) {
	t.Parallel()
	_, text := ask(t, "GET", follower(t, "10.0.0.5:8899", api.Options{})+"/healthz", "")
	var h map[string]any
	if err := json.Unmarshal([]byte(text), &h); err != nil ||
		fmt.Sprintf("%v %v", h["leader"], h["leading"]) != "10.0.0.5:8899 false" {
		t.Errorf("%s, %v", text, err)
	}
}

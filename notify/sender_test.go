package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/internal/reason"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/notify"
	"github.com/elasticjob-go/elasticjob/scheduler/core/executions"
	"github.com/elasticjob-go/elasticjob/scheduler/core/notifications"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type props = map[string]string

// token is a secret that no error may contain.
const token = "hunter2-token"

var now = time.Date(2026, 5, 1, 12, 0, 3, 0, time.UTC)

func sender() *notify.Sender { return notify.New(func() time.Time { return now }) }

// failed returns a failure of two shards, one of them named, and of three further runs.
func failed(handler string, p props) notifications.Notification {
	texts := document.Texts{}
	for name, value := range p {
		texts[name] = document.Text{Value: value}
	}
	return notifications.Notification{
		Job: jobs.Config{JobName: "my_job", JobErrorHandlerType: handler, Props: texts},
		Report: notifications.Report{Failure: notifications.Failure{Execution: "my_job@20260501T120000Z",
			Fire: now.Add(-3 * time.Second), FailedShards: 2, Shards: []notifications.FailedShard{
				{Item: 2, State: executions.Failed, TaskID: "my_job@-@2@-@READY@-@S1@-@u", Agent: "S1", Cause: reason.FromText("exit status 1; end of stderr:\n<b>北京</b> is down")},
			}}, Further: 3, First: now.Add(-time.Minute), Last: now.Add(-time.Second)},
	}
}

// outcome returns an error of a Sender.
func outcome(t *testing.T, err error) *notifications.Error {
	t.Helper()
	e, ok := errors.AsType[*notifications.Error](err)
	if !ok {
		t.Fatalf("the outcome is %v", err)
	}
	return e
}

// served is a request that an endpoint received.
type served struct {
	body   []byte
	header http.Header
	query  map[string][]string
}

// endpoint answers each request with status and answer, and delivers the received requests.
func endpoint(t *testing.T, status int, answer string) (url string, got <-chan served) {
	t.Helper()
	came := make(chan served, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- served{body, r.Header, r.URL.Query()}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, came
}

// contentOf returns the text of a message in the format of both robots.
func contentOf(t *testing.T, s served) string {
	t.Helper()
	var m struct {
		Type string `json:"msgtype"`
		Text struct{ Content string }
	}
	if err := json.Unmarshal(s.body, &m); err != nil || m.Type != "text" {
		t.Fatalf("%s: %v", s.body, err)
	}
	return m.Text.Content
}

const wantText = `Job 'my_job' exception occur in job processing, caused by exit status 1; end of stderr:
<b>北京</b> is down
Execution my_job@20260501T120000Z, fired at 2026-05-01T12:00:00Z.
Item 2 on agent S1: FAILED, as above.
And 1 more of its shards.
Further failures of this job since the last message: 3, the first at 2026-05-01T11:59:03Z, the last at 2026-05-01T12:00:02Z.
`

func TestWechat(t *testing.T) {
	t.Parallel()
	url, got := endpoint(t, 200, `{"errcode":0,"errmsg":"ok"}`)
	n := failed(jobs.HandlerWechat, props{jobs.PropWechatWebhook: url + "/send?key=" + token})
	if err := sender().Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s := <-got
	if text := contentOf(t, s); text != wantText || s.query["key"][0] != token {
		t.Errorf("%v\n%s", s.query, text)
	}
	n.Shards[0].Cause = reason.FromText(strings.Repeat("北", 5000))
	if err := sender().Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if text := contentOf(t, <-got); len(text) > 2048 || !utf8.ValidString(text) ||
		!strings.Contains(text, "failures of this job since the last message: 3") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// TestManyJobsInOneText checks that a text about many jobs names as many of them as fit, and counts all, with the
// times of the first and last failure.
func TestManyJobsInOneText(t *testing.T) {
	t.Parallel()
	url, got := endpoint(t, 200, `{"errcode":0,"errmsg":"ok"}`)
	for _, jobsMore := range []int{1, 20, 1000} {
		n := failed(jobs.HandlerWechat, props{jobs.PropWechatWebhook: url})
		for i := range jobsMore {
			n.Others = append(n.Others, notifications.Other{Job: fmt.Sprintf("other_%d", i),
				Report: notifications.Report{
					Failure: notifications.Failure{Execution: "e", Shards: n.Shards}, Further: 2,
					First: now.Add(-time.Duration(i) * time.Minute), Last: now.Add(time.Duration(i) * time.Minute)}})
		}
		if err := sender().Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		text := contentOf(t, <-got)
		first, last := now.Add(-time.Duration(jobsMore-1)*time.Minute), now.Add(time.Duration(jobsMore-1)*time.Minute)
		for _, want := range []string{"my_job", "other_0",
			fmt.Sprintf("jobs that failed: %d, with %d failures", jobsMore, 3*jobsMore),
			first.Format(time.RFC3339), last.Format(time.RFC3339)} {
			if !strings.Contains(text, want) {
				t.Errorf("%d jobs: %q is not in %s", jobsMore, want, text)
			}
		}
		if named := strings.Count(text, "other_"); named < min(jobsMore, 20) || len(text) > 2048 ||
			named < jobsMore && !strings.Contains(text, fmt.Sprintf("and %d more jobs", jobsMore-named)) {
			t.Errorf("%d bytes, %d jobs named: %s", len(text), named, text)
		}
	}
}

// TestNotices checks that a message without a failure has one line for each notice, as many as fit, and that the body
// of a webhook has them as data.
func TestNotices(t *testing.T) {
	t.Parallel()
	url, got := endpoint(t, 200, `{"errcode":0,"errmsg":"ok"}`)
	for _, notices := range []int{1, 100} {
		n := failed(jobs.HandlerWechat, props{jobs.PropWechatWebhook: url})
		n.Job.JobName, n.Report = "", notifications.Report{First: now, Last: now, Omitted: 3}
		for i := range notices {
			n.Notices = append(n.Notices, notifications.Notice{At: now,
				Why: reason.MachineBack(fmt.Sprintf("host-%d", i), time.Minute)})
		}
		n.Others = []notifications.Other{{Job: "blocked", Report: notifications.Report{Notices: []notifications.Notice{
			{At: now, Why: reason.JobUnblocked("blocked", time.Second)}}}}}
		if err := sender().Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		text := contentOf(t, <-got)
		shown := strings.Count(text, "is back, after 1m0s.")
		left := fmt.Sprintf("ElasticJob: %d notices are left out here; the log has them.\n", 3+notices-shown)
		if shown < min(notices, 15) || len(text) > 2048 || !strings.HasPrefix(text, left) ||
			!strings.HasSuffix(text, "ElasticJob at 2026-05-01T12:00:03Z: job blocked is not blocked any more, after 1s.\n") {
			t.Errorf("%d bytes, %d of %d shown: %s", len(text), shown, notices, text)
		}
	}
	n := failed(jobs.HandlerWebhook, props{jobs.PropWebhookURL: url})
	n.Job.JobName, n.Report = "", notifications.Report{First: now, Last: now,
		Notices: []notifications.Notice{{At: now, Why: reason.MachineBack("h", time.Minute)}}}
	if err := sender().Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	want := `"jobName":"","executionId":"","fireTime":null,"shards":[],"failedShards":0,"furtherFailures":0,` +
		`"firstFailure":null,"lastFailure":null,"notices":[{"time":"2026-05-01T12:00:03Z",` +
		`"message":"machine h is back, after 1m0s","code":"machine_back","args":{"duration":"1m0s","machine":"h"}}]`
	if s := <-got; !strings.Contains(string(s.body), want) {
		t.Errorf("got  %s\nwant %s", s.body, want)
	}
}

// TestDingtalk checks requests at an endpoint that computes the signature as DingTalk's documentation says.
func TestDingtalk(t *testing.T) {
	t.Parallel()
	url, got := endpoint(t, 200, `{"errcode":0,"errmsg":"ok"}`)
	p := props{jobs.PropDingtalkWebhook: url + "/robot/send?access_token=" + token,
		jobs.PropDingtalkKeyword: "Alarm: "}
	if err := sender().Notify(t.Context(), failed(jobs.HandlerDingtalk, p)); err != nil {
		t.Fatal(err)
	}
	if s := <-got; contentOf(t, s) != "Alarm: "+wantText || s.query["sign"] != nil ||
		s.query["access_token"][0] != token {
		t.Errorf("without a secret: %v %s", s.query, s.body)
	}
	p[jobs.PropDingtalkSecret] = "SEC/+ secret"
	if err := sender().Notify(t.Context(), failed(jobs.HandlerDingtalk, p)); err != nil {
		t.Fatal(err)
	}
	s := <-got
	stamp := strconv.FormatInt(now.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte("SEC/+ secret"))
	_, _ = fmt.Fprintf(mac, "%s\n%s", stamp, "SEC/+ secret")
	if s.query["timestamp"][0] != stamp || s.query["sign"][0] != base64.StdEncoding.EncodeToString(mac.Sum(nil)) ||
		s.query["access_token"][0] != token {
		t.Errorf("with a secret: %v", s.query)
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	url, got := endpoint(t, 204, "")
	p := props{jobs.PropWebhookURL: url, jobs.PropWebhookSecret: token}
	n := failed(jobs.HandlerWebhook, p)
	n.Shards = append(n.Shards, notifications.FailedShard{Item: 4, State: executions.Lost, TaskID: "u4", Agent: "S2",
		Cause: reason.LostTooOften(2, reason.FromText("exit status 3"))})
	if err := sender().Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s := <-got
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(s.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); s.header.Get("X-Elasticjob-Signature") != want {
		t.Errorf("signed %q, want %q", s.header.Get("X-Elasticjob-Signature"), want)
	}
	want := fmt.Sprintf(`{"timestamp":%d,"jobName":"my_job","executionId":"my_job@20260501T120000Z","fireTime":"2026-05-01T12:00:00Z",`+
		`"shards":[{"item":2,"state":"FAILED","taskId":"my_job@-@2@-@READY@-@S1@-@u","agent":"S1","failureCause":"exit status 1; end of stderr:\n\u003cb\u003e北京\u003c/b\u003e is down","failureCode":"text"},`+
		`{"item":4,"state":"LOST","taskId":"u4","agent":"S2","failureCause":"lost 2 times; last: exit status 3","failureCode":"lost_too_often","failureArgs":{"last":{"args":{"text":"exit status 3"},"code":"text"},"times":"2"}}],`+
		`"failedShards":2,"furtherFailures":3,"firstFailure":"2026-05-01T11:59:03Z","lastFailure":"2026-05-01T12:00:02Z","text":"Job 'my_job'`, now.UnixMilli())
	if !strings.HasPrefix(string(s.body), want) || s.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("got  %s\nwant %s", s.body, want)
	}
	delete(p, jobs.PropWebhookSecret)
	p[jobs.PropWebhookAuthorization], p[jobs.PropWebhookTemplate] = "Bearer "+token,
		`{"t":{{json .text}},"n":{{.furtherFailures}}}`
	if err := sender().Notify(t.Context(), failed(jobs.HandlerWebhook, p)); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s.header.Get("X-Elasticjob-Signature") != "" || s.header.Get("Authorization") != "Bearer "+token ||
		!strings.HasPrefix(string(s.body), `{"t":"Job 'my_job'`) || !strings.HasSuffix(string(s.body), `.\n","n":3}`) {
		t.Errorf("by a template, without a secret: %v %s", s.header, s.body)
	}
}

// TestEndpointsThatAreOutOfOrder checks that endpoints that refuse, redirect, are silent, never end or do not exist
// soon cause an error, without a secret.
func TestEndpointsThatAreOutOfOrder(t *testing.T) {
	t.Parallel()
	rude := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(rude.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	answers := func(status int, answer string) string {
		url, _ := endpoint(t, status, answer)
		return url
	}
	for name, test := range map[string]struct {
		handler, url, want string
	}{
		"refuses":               {jobs.HandlerWebhook, answers(500, "no\n"), "the webhook answers 500"},
		"redirects":             {jobs.HandlerWebhook, answers(302, ""), "no redirect is followed"},
		"never ends":            {jobs.HandlerWechat, rude.URL, "the robot's answer has no errcode"},
		"says nothing":          {jobs.HandlerWebhook, "http://" + silent.Addr().String(), "no answer within 600ms"},
		"is not there":          {jobs.HandlerDingtalk, "http://" + gone.Addr().String(), "refused"},
		"robot of another kind": {jobs.HandlerDingtalk, answers(200, "hello"), "has no errcode"},
		"robot that refuses":    {jobs.HandlerWechat, answers(200, `{"errcode":93000,"errmsg":"invalid webhook url `+token+`"}`), "errcode 93000: its documentation"},
		"robot in trouble":      {jobs.HandlerWechat, answers(502, "{}"), "answers 502"},
		"an unknown handler":    {"FAX", "", `jobErrorHandlerType "FAX" sends no notifications`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			family := strings.ToLower(test.handler)
			err := sender().Notify(t.Context(), failed(test.handler, props{
				family + ".webhook": test.url + "/?key=" + token, family + ".url": test.url + "/?key=" + token,
				family + ".secret":                     token,
				family + ".connectTimeoutMilliseconds": "300", family + ".readTimeoutMilliseconds": "300",
			}))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), token) {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
		})
	}
}

package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	accessapi "github.com/elasticjob-go/elasticjob/api/access"
	"github.com/elasticjob-go/elasticjob/auth"
)

// logIn returns the token of a login.
func logIn(t *testing.T, server *httptest.Server, name string) string {
	t.Helper()
	answer, text := call(t, server, "POST", "/api/login",
		fmt.Sprintf(`{"username":%q,"password":%q}`, name, "password of "+name))
	var got map[string]string
	if err := json.Unmarshal([]byte(text), &got); err != nil || answer.StatusCode != http.StatusOK || len(got) != 1 ||
		got["accessToken"] == "" {
		t.Fatalf("login: %d %s", answer.StatusCode, text)
	}
	return got["accessToken"]
}

// TestLoginAsInTheOriginal: the token is accepted in the original's header and as a bearer token, until its user is
// removed or its login ends.
func TestLoginAsInTheOriginal(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	user(t, access, "alice", auth.Viewer)
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: access})
	status := func(token string) int {
		answer, _ := call(t, server, "GET", "/api/app/list", "", "accessToken: "+token)
		return answer.StatusCode
	}
	first, second := logIn(t, server, "alice"), logIn(t, server, "alice")
	if first == second || status(first) != 200 || status(second) != 200 {
		t.Error("logins are not accepted")
	}
	answer, text := call(t, server, "GET", "/api/session", "", "Access-Token: "+first)
	if answer.StatusCode != 200 || !strings.HasPrefix(text,
		`{"name":"alice","kind":"user","role":"viewer","expires":"`) {
		t.Errorf("who am I: %d %s", answer.StatusCode, text)
	}
	if answer, text := call(t, server, "DELETE", "/api/session", "",
		"Authorization: Bearer "+first); answer.StatusCode != 200 {
		t.Errorf("logout: %s", text)
	}
	answer, text = call(t, server, "GET", "/api/app/list", "", "accessToken: "+first)
	if e := readError(t, answer, text); answer.StatusCode != 401 || e.Error.Code != "token_revoked" ||
		status(second) != 200 {
		t.Errorf("after the logout: %d %s", answer.StatusCode, text)
	}
	if answer, text := call(t, server, "PUT", "/api/users/alice/password",
		`{"password":"another password","current":"password of alice"}`,
		"accessToken: "+second); answer.StatusCode != 200 {
		t.Errorf("own password: %d %s", answer.StatusCode, text)
	}
	if status(second) != 401 {
		t.Error("a login outlives its password")
	}
}

// TestLoginsThatFail: all failed logins get the same answer, whatever is wrong, and no answer shows what was sent.
func TestLoginsThatFail(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	user(t, access, "alice", auth.Viewer)
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: access})
	same := ""
	for i, body := range []string{`{"username":"alice","password":"wrong-secret"}`,
		`{"username":"nobody","password":"password of alice"}`, `{"username":"alice"}`, `{}`} {
		answer, text := call(t, server, "POST", "/api/login", body)
		if e := readError(t, answer, text); answer.StatusCode != 401 || e.Error.Code != "bad_credentials" ||
			i > 0 && text != same {
			t.Errorf("%s: %d %s", body, answer.StatusCode, text)
		}
		same = text
	}
	for body, status := range map[string]int{``: 400, `alice`: 400, `[]`: 400, `null`: 400,
		"{\"username\":\"\xff\"}": 400, `{"username":1,"password":["wrong-secret"]}`: 422,
		`{"username":"bob","username":"alice","password":"password of alice"}`:              400,
		`{"username":"alice","pasword":"wrong-secret"}`:                                     422,
		`{"username":"alice","password":"` + strings.Repeat("wrong-secret", 100_000) + `"}`: 413} {
		answer, text := call(t, server, "POST", "/api/login", body)
		if readError(t, answer, text); answer.StatusCode != status || strings.Contains(text, "wrong-secret") {
			t.Errorf("%.60s: %d %.200s", body, answer.StatusCode, text)
		}
	}
	for _, path := range []string{"/api/login?username=alice&password=password+of+alice", "/api%2Flogin",
		"/api/Login"} {
		if answer, text := call(t, server, "POST", path,
			`{"username":"alice","password":"password of alice"}`); answer.StatusCode == 200 || strings.Contains(text,
			"accessToken\":\"ejl") {
			t.Errorf("%s: %s", path, text)
		}
	}
	if answer, text := call(t, start(t, api.Options{Scheduler: newFakeScheduler()}), "POST", "/api/login",
		`{"username":"root","password":"pwd"}`); answer.StatusCode != 403 || !strings.Contains(text,
		"scheduler user add") {
		t.Errorf("without users: %d %s", answer.StatusCode, text)
	}
}

// someOpenID is a provider through which no one logs in.
type someOpenID struct{ accessapi.OpenID }

// TestWaysToLogIn: anyone can learn how to log in, without being logged in.
func TestWaysToLogIn(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	user(t, access, "alice", auth.Viewer)
	for want, opts := range map[string]api.Options{
		`{"password":true,"openId":false}`:  {Access: access},
		`{"password":true,"openId":true}`:   {Access: access, OpenID: someOpenID{}},
		`{"password":false,"openId":true}`:  {Access: noUsers{}, OpenID: someOpenID{}},
		`{"password":false,"openId":false}`: {Access: noUsers{}},
	} {
		opts.Scheduler = newFakeScheduler()
		if answer, text := call(t, start(t, opts), "GET", "/api/login", ""); answer.StatusCode != 200 ||
			strings.TrimSpace(text) != want {
			t.Errorf("%d %s, want %s", answer.StatusCode, text, want)
		}
	}
}

// TestStormOfLogins: of 10,000 failing logins nearly all are answered at once, with status 429 and a Retry-After.
// Callers with a token are not affected, and the log stays small and contains no password.
func TestStormOfLogins(t *testing.T) {
	t.Parallel()
	var log lockedBuilder
	access := realAccess(t, auth.Options{})
	admin := token(t, access, "admin", auth.Admin)
	user(t, access, "alice", auth.Viewer)
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: access,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))})
	var all sync.WaitGroup
	counts := make([]map[int]int, 8)
	for i := range counts {
		counts[i] = map[int]int{}
		all.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for n := range 10_000 / len(counts) {
				answer, err := client.Post(server.URL+"/api/login", "application/json",
					strings.NewReader(fmt.Sprintf(`{"username":"u%d","password":"wrong-secret"}`, n)))
				if err != nil {
					t.Error(err)
					return
				}
				counts[i][answer.StatusCode]++
				if (answer.StatusCode == 429) != (answer.Header.Get("Retry-After") != "") {
					t.Errorf("%d with Retry-After %q", answer.StatusCode, answer.Header.Get("Retry-After"))
				}
				_ = answer.Body.Close()
			}
		})
	}
	for range 10 {
		if answer, text := call(t, server, "GET", "/api/app/list", "",
			"Authorization: Bearer "+admin); answer.StatusCode != 200 {
			t.Errorf("a token in the storm: %s", text)
		}
	}
	all.Wait()
	tried, slowed := 0, 0
	for _, c := range counts {
		tried, slowed = tried+c[401], slowed+c[429]
	}
	if tried+slowed != 10_000 || tried > 200 {
		t.Errorf("%d were tried, %d slowed down", tried, slowed)
	}
	if text := log.String(); strings.Contains(text, "wrong-secret") || len(text) > 100_000 ||
		!strings.Contains(text, "reason=too_many_logins") || !strings.Contains(text, "from=127.0.0.1") {
		t.Errorf("the log has %d bytes: %.500s", len(text), text)
	}
}

// lockedBuilder is a log to which several goroutines write.
type lockedBuilder struct {
	mu sync.Mutex
	strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.String()
}

// TestWithoutTheRegistryOnlyTheFileTokenIsAdmitted: before the first read of the registry, and when the last read is
// too old, no one is admitted except with the token of --api-token-file.
func TestWithoutTheRegistryOnlyTheFileTokenIsAdmitted(t *testing.T) {
	t.Parallel()
	silent := &sharedInMemory{fails: errors.New("no answer from h1:2181")}
	access, err := auth.New(auth.Options{Shared: silent})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var mu sync.Mutex
	aged := realAccess(t, auth.Options{FileToken: "of-the-file", Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	old := token(t, aged, "old", auth.Admin)
	mu.Lock()
	now = now.Add(2 * time.Minute)
	mu.Unlock()
	for name, d := range map[string]accessapi.Access{"never read": access, "too old": aged, "none": nil} {
		server := httptest.NewServer(api.New(api.Options{Scheduler: newFakeScheduler(), Access: d}))
		t.Cleanup(server.Close)
		for _, headers := range [][]string{nil, {"Authorization: Bearer " + old}, {"accessToken: x"}} {
			answer, text := call(t, server, "GET", "/api/app/list", "", headers...)
			if e := readError(t, answer, text); answer.StatusCode != 503 || e.Error.Code != "access_unknown" ||
				strings.Contains(text, "2181") {
				t.Errorf("%s, %q: %d %s", name, headers, answer.StatusCode, text)
			}
		}
		if answer, text := call(t, server, "POST", "/api/login",
			`{"username":"a","password":"b"}`); answer.StatusCode != 503 {
			t.Errorf("%s, login: %d %s", name, answer.StatusCode, text)
		}
		if answer, text := call(t, server, "GET", "/healthz", ""); answer.StatusCode != 200 {
			t.Errorf("%s, healthz: %d %s", name, answer.StatusCode, text)
		}
	}
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: aged})
	if answer, text := call(t, server, "GET", "/api/app/list", "",
		"Authorization: Bearer of-the-file"); answer.StatusCode != 200 {
		t.Errorf("the file's token: %d %s", answer.StatusCode, text)
	}
}

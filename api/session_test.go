package api_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
)

// cookieOf returns the only cookie of an answer.
func cookieOf(t *testing.T, answer *http.Response) *http.Cookie {
	t.Helper()
	if list := answer.Cookies(); len(list) == 1 {
		return list[0]
	}
	t.Fatalf("cookies %v", answer.Cookies())
	return nil
}

// TestBrowserSession: the cookie admits requests, is not readable by scripts, is useless to pages of other sites for
// changes, and is deleted at the logout.
func TestBrowserSession(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	user(t, access, "alice", auth.Admin)
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b, Access: access})
	answer, text := call(t, server, "POST", "/api/session", `{"username":"alice","password":"password of alice"}`,
		"Origin: "+server.URL)
	cookie := cookieOf(t, answer)
	if answer.StatusCode != 200 || strings.Contains(text, cookie.Value) || !strings.Contains(text, `"name":"alice"`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if cookie.Name != "elasticjob" || !cookie.HttpOnly || cookie.Secure ||
		cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("cookie %v", cookie)
	}
	with := "Cookie: " + cookie.Name + "=" + cookie.Value
	for _, c := range []struct {
		method  string
		headers []string
		status  int
		code    string
	}{
		{"GET", nil, 200, ""}, {"HEAD", nil, 200, ""}, {"GET", []string{"Origin: " + server.URL}, 200, ""}, {"GET", []string{"Sec-Fetch-Site: same-origin"}, 200, ""},
		{"GET", []string{"Origin: http://evil.example"}, 403, "origin_not_allowed"}, {"GET", []string{"Sec-Fetch-Site: cross-site"}, 403, "origin_not_allowed"},
		{"GET", []string{"Sec-Fetch-Site: same-site"}, 403, "origin_not_allowed"}, {"GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}, 403, "origin_not_allowed"},
		{"POST", []string{"Origin: " + server.URL}, 200, ""}, {"POST", nil, 403, "origin_not_allowed"}, {"POST", []string{"Origin: null"}, 403, "origin_not_allowed"},
		{"POST", []string{"Origin: http://evil.example"}, 403, "origin_not_allowed"}, {"POST", []string{"Origin: http://127.0.0.1:1"}, 403, "origin_not_allowed"},
		{"POST", []string{"Origin: " + server.URL, "Sec-Fetch-Site: same-site"}, 403, "origin_not_allowed"}, {"POST", []string{"Origin: " + server.URL, "Authorization: Bearer other"}, 400, "several_tokens"},
	} {
		path := "/api/app/list"
		if c.method == "POST" {
			b.add("my_app", "my_job")
			path = "/api/job/my_job/trigger"
		}
		before := b.changed()
		answer, text := call(t, server, c.method, path, "", append(c.headers, with)...)
		if answer.StatusCode != c.status || c.code != "" && readError(t, answer, text).Error.Code != c.code ||
			c.code != "" && b.changed() != before {
			t.Errorf("%s with %q: %d %s", c.method, c.headers, answer.StatusCode, text)
		}
	}
	answer, text = call(t, server, "DELETE", "/api/session", "", with, "Origin: "+server.URL)
	if gone := cookieOf(t, answer); answer.StatusCode != 200 || gone.MaxAge >= 0 || gone.Value != "" {
		t.Errorf("logout: %d %s, %v", answer.StatusCode, text, gone)
	}
	answer, text = call(t, server, "GET", "/api/app/list", "", with)
	if gone := cookieOf(t, answer); answer.StatusCode != 401 || gone.MaxAge >= 0 {
		t.Errorf("after it: %d %s, %v", answer.StatusCode, text, gone)
	}
	if answer, text := call(t, server, "POST", "/api/session", `{"username":"alice","password":"password of alice"}`,
		"Origin: http://evil.example"); answer.StatusCode != 403 || len(answer.Cookies()) > 0 {
		t.Errorf("logged in by another site's page: %d %s", answer.StatusCode, text)
	}
	admin := token(t, access, "machine", auth.Admin)
	if answer, text := call(t, server, "DELETE", "/api/session", "",
		"Authorization: Bearer "+admin); answer.StatusCode != 400 || readError(t, answer,
		text).Error.Code != "no_session" {
		t.Errorf("a token has no session: %d %s", answer.StatusCode, text)
	}
}

// TestSessionWithTLS: with TLS the cookie is bound to this host and to TLS. A cookie set without TLS is not accepted,
// and neither is a request from a page without TLS.
func TestSessionWithTLS(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	user(t, access, "alice", auth.Admin)
	server := httptest.NewTLSServer(api.New(api.Options{Scheduler: newFakeScheduler(), Access: access}))
	t.Cleanup(server.Close)
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	do := func(method, path, body string, headers ...string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer
	}
	cookie := cookieOf(t, do("POST", "/api/session", `{"username":"alice","password":"password of alice"}`,
		"Origin: "+server.URL))
	if cookie.Name != "__Host-elasticjob" || !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" ||
		cookie.Domain != "" {
		t.Errorf("cookie %v", cookie)
	}
	plain := strings.Replace(server.URL, "https://", "http://", 1)
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Cookie: __Host-elasticjob=" + cookie.Value, "Origin: " + server.URL}, 200},
		{[]string{"Cookie: elasticjob=" + cookie.Value, "Origin: " + server.URL}, 401},
		{[]string{"Cookie: __Host-elasticjob=" + cookie.Value, "Origin: " + plain}, 403},
	} {
		if answer := do("GET", "/api/session", "", c.headers...); answer.StatusCode != c.status {
			t.Errorf("%q: %d", c.headers, answer.StatusCode)
		}
	}
}

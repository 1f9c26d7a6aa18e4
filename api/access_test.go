package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

// TestOnlyThisMachineIsAnswered: requests with a rebound host name or from another site's page are refused on every
// route and change nothing.
func TestOnlyThisMachineIsAnswered(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	at := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct {
		header string
		code   string // "" if the request is admitted
	}{
		{"Host: localhost", ""}, {"Host: localhost:1234", ""}, {"Host: 127.0.0.1", ""}, {"Host: 127.9.9.9:80", ""}, {"Host: [::1]:8899", ""}, {"Host: [::1]", ""},
		{"Host: evil.example", "host_not_allowed"}, {"Host: evil.example:8899", "host_not_allowed"}, {"Host: 10.0.0.1:8899", "host_not_allowed"},
		{"Host: localhost.evil.example", "host_not_allowed"}, {"Host: 127.0.0.1.evil.example", "host_not_allowed"}, {"Host: 0.0.0.0:8899", "host_not_allowed"},
		{"Origin: http://" + at, ""},
		{"Sec-Fetch-Site: none", ""}, {"Sec-Fetch-Site: same-origin", ""}, {"Sec-Fetch-Site: cross-site", "origin_not_allowed"}, {"Sec-Fetch-Site: Cross-Site", "origin_not_allowed"},
		{"Sec-Fetch-Site: same-site", "origin_not_allowed"}, {"Origin: https://" + at, ""}, // a proxy's
		{"Origin: null", "origin_not_allowed"}, {"Origin: http://evil.example", "origin_not_allowed"}, {"Origin: http://127.0.0.1", "origin_not_allowed"},
		{"Origin: http://127.0.0.1:1", "origin_not_allowed"}, {"Origin: ftp://" + at, "origin_not_allowed"}, {"Origin: http://" + at + ".evil.example", "origin_not_allowed"},
		{"Origin: http://u@" + at, "origin_not_allowed"}, {"Origin: " + at, "origin_not_allowed"},
	} {
		for _, route := range []string{"GET /api/app/list", "GET /", "GET /metrics", "POST /api/task/t/forget",
			"GET /none", "PATCH /api/app"} {
			method, path, _ := strings.Cut(route, " ")
			before := b.changed()
			answer, text := call(t, server, method, path, "", c.header)
			if c.code == "" {
				if answer.StatusCode == http.StatusForbidden {
					t.Errorf("%s, %s: %s", c.header, route, text)
				}
				continue
			}
			if e := readError(t, answer, text); answer.StatusCode != http.StatusForbidden || e.Error.Code != c.code ||
				b.changed() != before {
				t.Errorf("%s, %s: %d %s", c.header, route, answer.StatusCode, text)
			}
		}
	}
	answer, _ := call(t, server, "OPTIONS", "/api/app", "", "Origin: http://"+at)
	for name := range answer.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("header %s", name)
		}
	}
}

// TestAProxyIsNotThisMachine: without users, a proxy on this machine does not open the API to its clients, whatever
// Host it sends.
func TestAProxyIsNotThisMachine(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	for _, header := range []string{
		"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: localhost", "X-Forwarded-Proto: https", "X-Real-IP: ::1",
		"Forwarded: for=127.0.0.1", "Via: 1.1 proxy",
		"X-Forwarded-Server: p", "X-Forwarded-Port: 443", "X-Forwarded-Prefix: /jobs", "X-Forwarded-User: me",
		"X-Forwarded: for=x", "Forwarded-For: 127.0.0.1",
		"X-Client-IP: 127.0.0.1", "True-Client-IP: 127.0.0.1", "Client-IP: 127.0.0.1",
		"X-Cluster-Client-IP: 127.0.0.1", "X-Remote-Addr: 127.0.0.1", "X-Originating-IP: 127.0.0.1",
		"CF-Connecting-IP: 127.0.0.1", "CF-Ray: 1", "CF-Visitor: {}", "CDN-Loop: cloudflare",
		"X-Original-Host: localhost", "X-Original-URL: /", "X-Original-Forwarded-For: 127.0.0.1",
		"X-Rewrite-URL: /", "X-Scheme: https", "Front-End-Https: on", "Proxy-Connection: keep-alive",
		"WL-Proxy-Client-IP: 127.0.0.1",
		"Fastly-Client-IP: 127.0.0.1", "Akamai-Origin-Hop: 1", "Fly-Client-IP: 127.0.0.1",
		"X-Azure-ClientIP: 127.0.0.1", "X-Appengine-User-Ip: 127.0.0.1", "X-Cloud-Trace-Context: 1/1",
		"X-Amzn-Trace-Id: Root=1", "CloudFront-Viewer-Address: 127.0.0.1:1", "X-Envoy-External-Address: 127.0.0.1",
		"X-Varnish: 1", "X-ARR-LOG-ID: 1",
		"DO-Connecting-IP: 127.0.0.1", "X-Vercel-Forwarded-For: 127.0.0.1", "X-NF-Client-Connection-IP: 127.0.0.1",
		"Incap-Client-IP: 127.0.0.1", "Tailscale-User-Login: me",
	} {
		for _, route := range []string{"GET /api/app/list", "POST /api/users", "POST /api/task/t/forget",
			"GET /metrics"} {
			method, path, _ := strings.Cut(route, " ")
			before := b.changed()
			answer, text := call(t, server, method, path, "", "Host: localhost", header)
			if e := readError(t, answer, text); answer.StatusCode != http.StatusForbidden ||
				e.Error.Code != "no_users" || b.changed() != before {
				t.Errorf("%s, %s: %d %s", header, route, answer.StatusCode, text)
			}
		}
		if answer, text := call(t, server, "GET", "/readyz", "", "Host: localhost",
			header); answer.StatusCode != http.StatusOK {
			t.Errorf("%s, GET /readyz: %d %s", header, answer.StatusCode, text)
		}
	}
}

// The token may be sent as Authorization: Bearer or in the header of the original's clients.
func TestTokenHeaders(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: oneToken("right")})
	for _, c := range []struct {
		headers []string
		code    string // "" if the request is admitted
	}{
		{[]string{"accessToken: right"}, ""}, {[]string{"accesstoken: right"}, ""}, {[]string{"Access-Token: right"}, ""}, {[]string{"Authorization: Bearer right"}, ""},
		{[]string{"Authorization: Basic of a proxy", "accessToken: right"}, ""}, {[]string{"accessToken: right", "Access-Token: right"}, ""}, {[]string{"Authorization: Bearer right", "Cookie: elasticjob=right"}, ""},
		{[]string{"accessToken: wrong", "Access-Token: right"}, "several_tokens"}, {[]string{"Authorization: Bearer right", "Cookie: elasticjob=other"}, "several_tokens"},
		{[]string{"Cookie: elasticjob=wrong; elasticjob=right"}, "several_tokens"}, {[]string{"Cookie: elasticjob=right"}, ""}, {[]string{"Cookie: __Host-elasticjob=right"}, "token_missing"},
		{[]string{"accessToken: wrong"}, "bad_token"}, {[]string{"Access-Token: right!"}, "bad_token"}, {[]string{"accessToken: Bearer right"}, "bad_token"},
		{[]string{"accessToken: "}, "token_missing"}, {nil, "token_missing"},
	} {
		answer, text := call(t, server, "GET", "/api/app/list", "", c.headers...)
		if c.code == "" {
			if answer.StatusCode != http.StatusOK {
				t.Errorf("%q: %d %s", c.headers, answer.StatusCode, text)
			}
			continue
		}
		want := http.StatusUnauthorized
		if c.code == "several_tokens" {
			want = http.StatusBadRequest
		}
		if e := readError(t, answer, text); answer.StatusCode != want || e.Error.Code != c.code {
			t.Errorf("%q: %d %s", c.headers, answer.StatusCode, text)
		}
	}
}

// TestLinksLeadToOpenPages: any page may link to an open page, and learns nothing from that. Requests that a page's
// script sends are refused.
func TestLinksLeadToOpenPages(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: oneToken("right")})
	for path, status := range map[string]int{"/": 200, "/healthz": 200, "/api/app/list": 403, "/none": 403} {
		if answer, text := call(t, server, "GET", path, "", "Sec-Fetch-Site: cross-site",
			"Sec-Fetch-Mode: navigate"); answer.StatusCode != status {
			t.Errorf("link to %s: %d %s", path, answer.StatusCode, text)
		}
		if answer, text := call(t, server, "GET", path, "", "Sec-Fetch-Site: cross-site",
			"Sec-Fetch-Mode: no-cors"); answer.StatusCode != 403 {
			t.Errorf("%s in a page: %d %s", path, answer.StatusCode, text)
		}
	}
}

// TestHeadersThatDouble: repeated headers are refused, because a proxy in front of the server may have used the other
// value.
func TestHeadersThatDouble(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Access: oneToken("right")})
	for _, name := range []string{"Authorization", "accessToken", "Access-Token"} {
		for _, values := range [][]string{{"right", "right"}, {"right", "wrong"}, {"wrong", "right"}, {"", "right"}} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/app/list", nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				if name == "Authorization" {
					v = "Bearer " + v
				}
				r.Header.Add(name, v)
			}
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusBadRequest {
				t.Errorf("%s %q: %d", name, values, answer.StatusCode)
			}
		}
	}
}

// TestStrangersAreToldNothing: unauthenticated callers learn neither the leader's address nor problems nor the
// version, however they write the path.
func TestStrangersAreToldNothing(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.follows("10.0.0.5:8899", false)
	b.health.Detail = "no session with h1:2181"
	server := start(t, api.Options{Scheduler: b, Access: oneToken("right"), Version: "v9.9",
		Advertise: "10.0.0.6:8899", Warning: func() string { return "disk of h2 is full" }})
	for _, path := range []string{"/", "/healthz", "/readyz", "/healthz/", "/api/login", "/none", "/api%2Fusers",
		"/api/users/", "/api//users", "/./api/users", "/API/users", "/api/users%00",
		"/artifacts/..%2f..%2fetc%2fpasswd"} {
		for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "TRACE"} {
			if strings.HasPrefix(path, "/artifacts") {
				continue // the leader would answer, and here there is none
			}
			answer, text := call(t, server, method, path, "")
			for _, secret := range []string{"10.0.0", "h1:", "h2", "v9.9"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s %s: %s", method, path, text)
				}
			}
			if isOpen := path == "/" || strings.HasPrefix(path, "/healthz") || path == "/readyz" ||
				path == "/api/login"; !isOpen && answer.StatusCode != 401 {
				t.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if _, text := call(t, server, "GET", path, "", "Authorization: Bearer right"); !strings.Contains(text,
			"10.0.0.5:8899") || !strings.Contains(text, "v9.9") || !strings.Contains(text, "h2") {
			t.Errorf("%s for an admin: %s", path, text)
		}
	}
}

// FuzzAdmit: a request without the token is never admitted, whatever else it has, and nothing panics.
func FuzzAdmit(f *testing.F) {
	f.Add("Bearer wrong", "", "", "", "http://127.0.0.1", "/api/app/list")
	f.Add("bearer  right ", "right", "", "elasticjob=right", "null", "/api/app/list/")
	f.Add("Basic x", "a\x00b", "b", "elasticjob=a; elasticjob=b", "://", "/api%2Fusers")
	b := newFakeScheduler()
	handler := api.New(api.Options{Scheduler: b, Access: oneToken("right")})
	f.Fuzz(func(t *testing.T, authorization, old, newer, cookie, origin, path string) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"appName":"x"}`))
		r.URL.Path = path
		for name, value := range map[string]string{"Authorization": authorization, "accessToken": old,
			"Access-Token": newer, "Cookie": cookie, "Origin": origin} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		brings := strings.Contains(authorization+old+newer+cookie, "right")
		if !brings && (w.Code < 400 || w.Code >= 500) || b.changed() > 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"127.0.0.1:8899", "localhost:0", "LOCALHOST:80", "[::1]:8899", "127.1.2.3:65535", "[::ffff:127.0.0.1]:1"} {
		if err := api.CheckListen(good, false); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		":8899": "other machines", "0.0.0.0:8899": "other machines", "[::]:8899": "other machines", "10.0.0.1:8899": "other machines",
		"example.org:80": "other machines", "localhost.example.org:80": "other machines", "127.0.0.1": "host:port", "": "host:port",
		"127.0.0.1:http": "no port", "127.0.0.1:65536": "no port", "localhost:-1": "no port", "127.0.0.1:": "no port",
	} {
		if err := api.CheckListen(bad, false); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", bad, err)
		}
		if err := api.CheckListen(bad, true); (err == nil) != (why == "other machines") {
			t.Errorf("%q, with a token: %v", bad, err)
		}
	}
}

// TestOnlyThisMachineIsAnswered: neither a rebound name nor another site's page
// gets through, whatever the route, and nothing is changed.
func TestOnlyThisMachineIsAnswered(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b})
	at := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct {
		header string
		code   string // "" is let in
	}{
		{"Host: localhost", ""}, {"Host: localhost:1234", ""}, {"Host: 127.0.0.1", ""}, {"Host: 127.9.9.9:80", ""}, {"Host: [::1]:8899", ""}, {"Host: [::1]", ""},
		{"Host: evil.example", "host_not_allowed"}, {"Host: evil.example:8899", "host_not_allowed"}, {"Host: 10.0.0.1:8899", "host_not_allowed"},
		{"Host: localhost.evil.example", "host_not_allowed"}, {"Host: 127.0.0.1.evil.example", "host_not_allowed"}, {"Host: 0.0.0.0:8899", "host_not_allowed"},
		{"Origin: http://" + at, ""},
		{"Sec-Fetch-Site: none", ""}, {"Sec-Fetch-Site: same-origin", ""}, {"Sec-Fetch-Site: cross-site", "origin_not_allowed"}, {"Sec-Fetch-Site: Cross-Site", "origin_not_allowed"},
		{"Origin: null", "origin_not_allowed"}, {"Origin: http://evil.example", "origin_not_allowed"}, {"Origin: http://127.0.0.1", "origin_not_allowed"},
		{"Origin: http://127.0.0.1:1", "origin_not_allowed"}, {"Origin: https://" + at, "origin_not_allowed"}, {"Origin: http://" + at + ".evil.example", "origin_not_allowed"},
		{"Origin: http://u@" + at, "origin_not_allowed"}, {"Origin: " + at, "origin_not_allowed"},
	} {
		for _, route := range []string{"GET /api/app/list", "GET /", "GET /metrics", "POST /api/task/t/forget", "GET /none", "PATCH /api/app"} {
			method, path, _ := strings.Cut(route, " ")
			before := b.changed()
			answer, text := call(t, server, method, path, "", c.header)
			if c.code == "" {
				if answer.StatusCode == http.StatusForbidden {
					t.Errorf("%s, %s: %s", c.header, route, text)
				}
				continue
			}
			if e := readError(t, answer, text); answer.StatusCode != http.StatusForbidden || e.Error.Code != c.code || b.changed() != before {
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

// The token may come as Authorization: Bearer or in the header of the original's clients.
func TestTokenHeaders(t *testing.T) {
	t.Parallel()
	server := start(t, api.Options{Scheduler: newFakeScheduler(), Token: "right"})
	for _, c := range []struct {
		headers []string
		code    string // "" is let in
	}{
		{[]string{"accessToken: right"}, ""}, {[]string{"accesstoken: right"}, ""}, {[]string{"Access-Token: right"}, ""}, {[]string{"Authorization: Bearer right"}, ""},
		{[]string{"Authorization: Basic of a proxy", "accessToken: right"}, ""}, {[]string{"accessToken: wrong", "Access-Token: right"}, ""},
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
		if e := readError(t, answer, text); answer.StatusCode != http.StatusUnauthorized || e.Error.Code != c.code {
			t.Errorf("%q: %d %s", c.headers, answer.StatusCode, text)
		}
	}
}

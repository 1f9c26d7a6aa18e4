package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/access"
)

// pages is a console that answers with the name of the requested page.
type pages struct{}

func (pages) Page(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "the page of "+r.URL.Path)
}

func (pages) Docs(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, "the docs of "+r.URL.Path)
}

func (pages) Static(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, "/static/right/") {
		return false
	}
	w.Header().Set("Cache-Control", "immutable")
	_, _ = io.WriteString(w, "the file of "+r.URL.Path)
	return true
}

const asBrowser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// TestBrowsersGetTheConsole: every browser gets the console at every path except the server's own; programs get the
// same answers as before.
func TestBrowsersGetTheConsole(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	for name, access := range map[string]access.Access{"no users": noUsers{}, "users": oneToken("right")} {
		server := start(t, api.Options{Scheduler: b, Access: access, Console: pages{}, Version: "1.2.3"})
		for _, path := range []string{"/", "/jobs", "/jobs/my_job/", "/execution/a%2Fb", "/apiary", "/users?page=2",
			"/index.html", "/healthzz", "/a%20b"} {
			answer, text := call(t, server, "GET", path, "", asBrowser, "Sec-Fetch-Site: cross-site",
				"Sec-Fetch-Mode: navigate")
			if answer.StatusCode != 200 || !strings.HasPrefix(text, "the page of /") {
				t.Errorf("%s: %s: %d %s", name, path, answer.StatusCode, text)
			}
			policy := answer.Header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "default-src 'none'") ||
				strings.Contains(policy, "unsafe") {
				t.Errorf("%s: %s", path, policy)
			}
			if answer, _ := call(t, server, "HEAD", path, "", asBrowser); answer.StatusCode != 200 {
				t.Errorf("%s: HEAD %s: %d", name, path, answer.StatusCode)
			}
		}
		for _, path := range []string{
			"/healthz", "/readyz", "/metrics", "/metrics/x", "/api", "/api/app/list", "/api%2Fapp/list", "/api/none",
			"/artifacts/none", "/static", "/static/", "/static/wrong/js/main.js", "/healthz/x",
		} {
			if _, text := call(t, server, "GET", path, "", asBrowser); strings.HasPrefix(text, "the page of") {
				t.Errorf("%s: %s is a page", name, path)
			}
		}
		if _, text := call(t, server, "POST", "/jobs", "", asBrowser); strings.Contains(text, "the page of") {
			t.Errorf("%s: a page was posted to", name)
		}
		for _, path := range []string{"/jobs", "/none"} {
			if answer, text := call(t, server, "GET", path, "", "Accept: */*",
				"Authorization: Bearer right"); readError(t, answer, text).Error.Code != "no_route" {
				t.Errorf("%s: %s: %d %s", name, path, answer.StatusCode, text)
			}
		}
		answer, text := call(t, server, "GET", "/static/right/js/main.js", "")
		if text != "the file of /static/right/js/main.js" || answer.Header.Get("Cache-Control") != "immutable" {
			t.Errorf("%s: %v %s", name, answer.Header, text)
		}
		// A file that runs as a worker may send requests to this server and load other files of it.
		const wants = "default-src 'none'; script-src 'self'; connect-src 'self'"
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, wants) {
			t.Errorf("%s: %s", name, policy)
		}
		if answer, text := call(t, server, "GET", "/static/wrong/js/main.js", ""); answer.StatusCode != 404 ||
			readError(t, answer, text).Error.Code != "static_not_found" ||
			answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, answer.StatusCode, answer.Header, text)
		}
		if answer, text := call(t, server, "GET", "/", ""); !strings.Contains(text,
			"Its console is for a browser, at "+server.URL+"\n") || strings.Count(text, "\ncurl ") != 4 ||
			!strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %s", name, text)
		}
		if answer, text := call(t, server, "GET", "/jobs", "", asBrowser,
			"Host: rebound.example"); (answer.StatusCode == 200) != (name == "users") {
			t.Errorf("%s: a page under a name that is not ours: %d %s", name, answer.StatusCode, text)
		}
	}
}

// TestFollowersServeTheConsole: followers serve the console themselves, so that it works while no server leads.
func TestFollowersServeTheConsole(t *testing.T) {
	t.Parallel()
	here := follower(t, "", api.Options{Console: pages{}})
	for path, want := range map[string]string{"/jobs": "the page of /jobs",
		"/static/right/x.js": "the file of /static/right/x.js"} {
		if answer, text := ask(t, "GET", here+path, "", asBrowser); answer.StatusCode != 200 || text != want {
			t.Errorf("%s: %d %s", path, answer.StatusCode, text)
		}
	}
}

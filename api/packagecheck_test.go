package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/auth"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// fakePackages reports a problem for every script except bin/start.sh.
type fakePackages struct {
	mu      sync.Mutex
	fetched []app.Config
	wait    chan struct{} // if not nil, a check waits until it is closed
	came    chan struct{}
}

func (f *fakePackages) CheckPackage(ctx context.Context, c app.Config) (apps.PackageFacts, error) {
	f.mu.Lock()
	f.fetched = append(f.fetched, c)
	f.mu.Unlock()
	if f.wait != nil {
		f.came <- struct{}{}
		select {
		case <-f.wait:
		case <-ctx.Done():
			return apps.PackageFacts{}, ctx.Err()
		}
	}
	facts := apps.PackageFacts{Size: 7, SHA256: "aa", Format: "tar.gz",
		Files: []apps.PackageFile{{Name: "bin/start.sh", Size: 3, Executable: true}}, FilesTotal: 1,
		Script: apps.PackageScript{Path: c.BootstrapScript}}
	if c.BootstrapScript != "bin/start.sh" {
		facts.Problems = append(facts.Problems,
			document.Violate("bootstrapScript", c.BootstrapScript, "%s is not in the package of %s, t0psecret",
				c.BootstrapScript, c.AppURL))
	}
	return facts, nil
}

func TestCheckAPackage(t *testing.T) {
	t.Parallel()
	b, packages := newFakeScheduler(), &fakePackages{}
	server := start(t, api.Options{Scheduler: b, Packages: packages})
	signed := swap(appDocument, "my-job.tar.gz", "my-job.tar.gz?token=t0psecret")
	answer, text := call(t, server, "POST", "/api/app/check", signed)
	var facts apps.PackageFacts
	if err := json.Unmarshal([]byte(text), &facts); err != nil || answer.StatusCode != http.StatusOK ||
		facts.Size != 7 || facts.Problems == nil || len(facts.Files) != 1 {
		t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
	}
	if answer, text := call(t, server, "POST", "/api/app/check",
		swap(signed, "bin/start.sh", "bin/strat.sh")); answer.StatusCode != http.StatusOK ||
		!strings.Contains(text, `"field":"bootstrapScript","value":"bin/strat.sh"`) ||
		strings.Contains(text, "t0psecret") {
		t.Errorf("a check has %d %s", answer.StatusCode, text)
	}
	if b.changed() != 0 {
		t.Error("a check has changed something")
	}

	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
		changes                  int
	}{
		{"a bad document", "POST", "/api/app/check", swap(appDocument, "http:", "ftp:"), 422, `"field":"appURL"`, 0},
		{"a bad flag", "POST", "/api/app?check=perhaps", appDocument, 400, `"field":"check"`, 0},
		{"a problem refuses", "POST", "/api/app?check=true", swap(signed, "bin/start.sh", "bin/strat.sh"), 422, `"field":"bootstrapScript"`, 0},
		{"published", "POST", "/api/app?check=true", signed, 200, `"package":{"size":7`, 1},
		{"a change is refused", "PUT", "/api/app?check=true", `{"appName":"my_app","bootstrapScript":"x"}`, 422, `"field":"bootstrapScript"`, 1},
		{"a change", "PUT", "/api/app?check=true", `{"appName":"my_app","memoryMB":65}`, 200, `"memoryMB":65`, 2},
		{"without check", "PUT", "/api/app?check=false", `{"appName":"my_app","bootstrapScript":"x"}`, 200, `"bootstrapScript":"x"`, 3},
		{"of what is stored", "POST", "/api/app/check?update=true", `{"appName":"my_app","bootstrapScript":"bin/start.sh"}`, 200, `"problems":[]`, 3},
		{"of nothing", "POST", "/api/app/check?update=true", `{"appName":"none"}`, 404, `"app_not_found"`, 3},
	} {
		answer, text := call(t, server, c.method, c.path, c.body)
		if answer.StatusCode != c.status || !strings.Contains(text, c.want) || strings.Contains(text, "t0psecret") {
			t.Errorf("%s: %d %s", c.name, answer.StatusCode, text)
		}
		if got := b.changed(); got != c.changes {
			t.Errorf("%s: %d changes, want %d", c.name, got, c.changes)
		}
	}
	if last := packages.fetched[len(packages.fetched)-1]; !strings.Contains(last.AppURL, "t0psecret") {
		t.Errorf("the stored app was checked with %s", last.AppURL)
	}
}

func TestSecondPackageCheckOfACallerIsRefused(t *testing.T) {
	t.Parallel()
	packages := &fakePackages{wait: make(chan struct{}), came: make(chan struct{}, 2)}
	leader := newFakeScheduler()
	// Either timeout would end a request long before the package has arrived.
	leaderURL := serveUntilEnd(t, api.Options{Scheduler: leader, Packages: packages,
		RequestTimeout: 10 * time.Millisecond})
	b := newFakeScheduler()
	b.follows(addressOf(leaderURL), false)
	follower := followerOf(t, b, api.Options{ForwardTimeout: 10 * time.Millisecond})
	first := askBeside(t, "POST", follower+"/api/app/check", appDocument)
	<-packages.came
	answer, text := ask(t, "POST", leaderURL+"/api/app?check=true", appDocument)
	if e := readError(t, answer, text); answer.StatusCode != http.StatusTooManyRequests ||
		e.Error.Code != "check_running" || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	// Other requests to the same route do not wait for it.
	if answer, text := ask(t, "POST", leaderURL+"/api/app", appDocument); answer.StatusCode != http.StatusOK {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	close(packages.wait)
	if a := <-first; a.StatusCode != http.StatusOK {
		t.Errorf("the first: %d %s", a.StatusCode, a.text)
	}
}

func TestPackageCheckRequiresThePermissionToPublish(t *testing.T) {
	t.Parallel()
	b, packages := newFakeScheduler(), &fakePackages{}
	b.add("mine-1", "mine_job")
	b.add("theirs", "their_job")
	access := realAccess(t, auth.Options{})
	token := token(t, access, "t", auth.Admin, "mine-*")
	server := start(t, api.Options{Scheduler: b, Packages: packages, Access: access})
	for path, body := range map[string]string{
		"POST /api/app/check":             swap(appDocument, "my_app", "theirs"),
		"POST /api/app?check=true":        swap(appDocument, "my_app", "theirs"),
		"PUT /api/app?check=true":         swap(appDocument, "my_app", "theirs"),
		"POST /api/app/check?update=true": swap(appDocument, "my_app", "theirs"),
	} {
		method, path, _ := strings.Cut(path, " ")
		if answer, text := call(t, server, method, path, body,
			"Authorization: Bearer "+token); answer.StatusCode != 403 && answer.StatusCode != 404 {
			t.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
		}
	}
	if len(packages.fetched) > 0 {
		t.Errorf("fetched: %v", packages.fetched)
	}
	if answer, text := call(t, server, "POST", "/api/app/check", swap(appDocument, "my_app", "mine-2"),
		"Authorization: Bearer "+token); answer.StatusCode != 200 {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

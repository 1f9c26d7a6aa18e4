package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
)

// TestACallerHasOneCostlyRequestAndAllTogetherTwo: whoever is refused learns which of the two it is, and what has
// ended makes room.
func TestACallerHasOneCostlyRequestAndAllTogetherTwo(t *testing.T) {
	t.Parallel()
	q := api.NewQuota()
	var (
		anna     = auth.Principal{Kind: auth.User, Name: "anna"}
		machine  = auth.Principal{Kind: auth.Token, Name: "anna"} // a token of that name is another caller
		somebody = auth.Principal{Kind: auth.Machine}
	)
	enter := func(p auth.Principal, why string) func() {
		t.Helper()
		leave, err := q.EnterAs(p)
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s %q: %v, want %q", p.Kind, p.Name, err, why)
		}
		return leave
	}
	leaveAnna := enter(anna, "")
	enter(anna, "one of yours is being worked on already")
	leaveMachine := enter(machine, "")
	enter(somebody, "two of other callers are being worked on already")
	leaveAnna()
	enter(somebody, "")
	enter(anna, "two of other callers")
	leaveMachine()
	enter(anna, "")
}

// TestSearchesAreFew: a search is refused while another one of the same caller runs.
func TestSearchesAreFew(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{reads: make(chan struct{})}
	b.place("t1", false)
	f.set(stdout, strings.Repeat("one\n", 20_000))
	server := start(t, api.Options{Scheduler: b, Logs: f})
	first := askBeside(t, "GET", server.URL+"/api/task/t1/logs/search?q=two", "")
	<-f.reads // the first page: it asks for the second one from now on
	answer, text := call(t, server, "GET", "/api/task/t1/logs/search?q=two", "")
	if e := readError(t, answer, text); answer.StatusCode != http.StatusTooManyRequests ||
		e.Error.Code != "search_running" || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	<-f.reads // the second page is its last
	if a := <-first; a.StatusCode != http.StatusOK {
		t.Errorf("the first: %d %s", a.StatusCode, a.text)
	}
}

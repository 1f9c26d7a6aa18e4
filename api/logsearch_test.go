package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

// TestSecondSearchOfACallerIsRefused: a search is refused while another one of the same caller runs.
func TestSecondSearchOfACallerIsRefused(t *testing.T) {
	t.Parallel()
	b, f := newFakeScheduler(), &files{reads: make(chan struct{})}
	b.place("t1", false)
	f.set(stdout, strings.Repeat("one\n", 20_000))
	server := start(t, api.Options{Scheduler: b, Logs: f})
	first := askBeside(t, "GET", server.URL+"/api/task/t1/logs/search?q=two", "")
	<-f.reads // the first page; after this the search requests the second one
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

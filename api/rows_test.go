package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// pieces is a client that records the sizes of the pieces of an answer.
type pieces struct {
	*httptest.ResponseRecorder
	largest, total int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.largest, p.total = max(p.largest, len(b)), p.total+len(b)
	return len(b), nil
}

// TestAListIsWrittenRowByRow: an answer with 150 jobs of 500 KB does not hold all of them in memory at once.
func TestAListIsWrittenRowByRow(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	const n, size = 150, 500_000
	text := strings.Repeat("x", size)
	for i := range n {
		name := fmt.Sprintf("job%03d", i)
		b.add("my_app", name)
		view := b.jobs[name]
		view.Config.Description = text
		b.jobs[name] = view
	}
	s := api.New(api.Options{Scheduler: b, Access: noUsers{}, Logs: &files{}})
	here := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	for _, encoding := range []string{"identity", "gzip"} {
		r := httptest.NewRequestWithContext(here, "GET", "http://localhost/api/job/jobs", nil)
		r.Header.Set("Accept-Encoding", encoding)
		p := &pieces{ResponseRecorder: httptest.NewRecorder()}
		s.ServeHTTP(p, r)
		if p.Code != http.StatusOK || p.largest > 2*size || p.total < n*size && encoding == "identity" {
			t.Errorf("%s: %d, a piece of %d bytes of %d", encoding, p.Code, p.largest, p.total)
		}
	}
}

// TestListsInPages: a list is sorted by name, and each page has a link to the next one.
func TestListsInPages(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		b.add("app-"+name, name)
	}
	server := start(t, api.Options{Scheduler: b})
	for path, want := range map[string][]string{
		"/api/job/jobs":                    {"a b c d e"},
		"/api/job/jobs?limit=2":            {"a b", "c d", "e"},
		"/api/job/jobs?after=b":            {"c d e"},
		"/api/job/jobs?after=bb&limit=3":   {"c d e"},
		"/api/job/jobs?after=e":            {""},
		"/api/app/list?limit=3":            {"app-a app-b app-c", "app-d app-e"},
		"/api/app/list?after=app-c":        {"app-d app-e"},
		"/api/job/jobs?limit=5":            {"a b c d e"},
		"/api/job/jobs?after=z&limit=1000": {""},
	} {
		var got []string
		for next := path; next != ""; {
			answer, text := call(t, server, "GET", next, "")
			var rows []jobs.Config
			if err := json.Unmarshal([]byte(text), &rows); err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%s: %d %s: %v", next, answer.StatusCode, text, err)
			}
			names := make([]string, len(rows))
			for i, row := range rows {
				if names[i] = row.JobName; strings.HasPrefix(path, "/api/app") {
					names[i] = row.AppName
				}
			}
			got = append(got, strings.Join(names, " "))
			link := answer.Header.Get("Link")
			next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "page=2"} {
		if answer, text := call(t, server, "GET", "/api/job/jobs?"+query,
			""); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, answer.StatusCode, text)
		}
	}
}

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadySaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
		case "/busy/readyz":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"detail":"no leader"}`))
		default:
			t.Errorf("asked for %s", r.URL.Path)
		}
	}))
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	t.Cleanup(server.Close)
	for _, c := range []struct{ server, want string }{
		{server.URL, ""},
		{server.URL + "/", ""},
		{server.URL + "/busy", "no leader"},
		{closed.URL, "connection refused"},
		{"127.0.0.1:8899", "--server"},
	} {
		_, _, err := typed(t, "", "ready", "--server", c.server)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("ready --server %s: %v, want %q", c.server, err, c.want)
		}
	}
}

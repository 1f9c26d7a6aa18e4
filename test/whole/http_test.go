package whole_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestHTTPJob: a job can be an HTTP request, which needs nothing of its app's package. [D87]
func TestHTTPJob(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("shardingContext"), `"shardingItem":1`) {
			http.Error(w, "no such shard", http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(r.Method + " " + r.Header.Get("Content-Type") + "\n"))
	}))
	t.Cleanup(target.Close)
	m := start(t)
	m.App("a", system.Files{"bin/start.sh": script("exit 3")}, nil)
	m.Job("j", "a", system.Doc{"shardingTotalCount": 2, "props": system.Doc{
		"http.uri": target.URL, "http.method": "post", "http.data": "a=1", "http.content.type": "text/plain"}})
	e := m.Run("j", "FAILED")
	if s := e.Shards[0]; s.State != "FINISHED" || m.Logs(s.TaskID, "") != "HTTP/1.1 200 OK\nPOST text/plain\n" {
		t.Errorf("%+v, %q", s, m.Logs(s.TaskID, ""))
	}
	if s := e.Shards[1]; s.State != "FAILED" ||
		!strings.HasSuffix(s.FailureCause, "answered 404 Not Found:\nno such shard") {
		t.Errorf("%+v", s)
	}
}

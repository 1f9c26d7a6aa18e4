package executor_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// TestL8UnreachableIsReported: if a package's host was not reached, the status names the host. If it was reached, the
// status says that the host gave no proper answer for the URL, at once or after the limit for the first byte.
func TestL8UnreachableIsReported(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	answers := func(status int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	a := newAgent(t, env("ELASTICJOB_PACKAGE_FIRST_BYTE", "3s"))
	for host, want := range map[string]struct {
		cause                   string
		unreachable, unanswered bool
	}{
		silent.Addr().String(): {"the server sent no data within 3s", false, true},
		gone.Addr().String():   {"connection refused", true, false},
		answers(503):           {"503 Service Unavailable", false, true},
		answers(404):           {"404 Not Found", false, false},
	} {
		for _, cache := range []bool{true, false} {
			task := taskOf(fmt.Sprint(want.cause, cache), "http://"+host+"/p.tar")
			task.Package.Cache = cache
			begun := time.Now()
			a.launch(task)
			_, status := a.await(task.TaskID, mesos.TASK_FAILED)
			if unreachable := status.Unreachable == host; unreachable != want.unreachable ||
				status.Unanswered != want.unanswered || !strings.Contains(status.Cause, want.cause) {
				t.Errorf("%s: unexpected status %+v", want.cause, status)
			}
			if took := time.Since(begun); took > 8*time.Second {
				t.Errorf("%s: after %v", want.cause, took)
			}
		}
	}
}

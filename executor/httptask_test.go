package executor_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// asRequest returns the task as an HTTP request.
func asRequest(task wire.Task, url string) wire.Task {
	task.Command, task.Package = nil, wire.Package{}
	task.HTTP = &wire.HTTP{URL: url, Method: "GET", ConnectTimeoutMillis: 20_000, ReadTimeoutMillis: 20_000}
	return task
}

// A task that is an HTTP request has the same states, output and causes as any other task, and needs no package.
func TestRequestTasks(t *testing.T) {
	t.Parallel()
	requested := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = io.WriteString(w, r.Header.Get("shardingContext")+"\n")
		case "/fails":
			http.Error(w, "no such table", http.StatusInternalServerError)
		case "/hangs":
			requested <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	of := func(id, path string) wire.Task { return asRequest(taskOf(id, ""), s.URL+path) }
	a := newAgent(t)
	a.launch(of("t1", "/ok"))
	last, status := a.await("t1", mesos.TASK_FINISHED)
	if got := a.states("t1"); !strings.HasPrefix(got, "STARTING ") || !strings.HasSuffix(got, "FINISHED") ||
		last.GetMessage() != "status 200" || status.Cause != "" || status.StartTime.IsZero() ||
		status.CompleteTime.Before(status.StartTime) {
		t.Errorf("states %s, %q, %+v", got, last.GetMessage(), status)
	}
	if got, want := a.read(status.Dir+"/stdout"),
		`{"taskId":"t1","jobName":"job","shardingTotalCount":3,"jobParameter":"all","shardingItem":1,"shardingParameter":"<one>"}`; got != "HTTP/1.1 200 OK\n"+want+"\n" {
		t.Errorf("output %q", got)
	}

	a.launch(of("t2", "/fails"))
	last, status = a.await("t2", mesos.TASK_FAILED)
	if host := strings.TrimPrefix(s.URL, "http://"); status.Phase != wire.PhaseRun ||
		status.Cause != host+" answered 500 Internal Server Error:\nno such table" ||
		last.GetMessage() != host+" answered 500 Internal Server Error:" {
		t.Errorf("%q, %+v", last.GetMessage(), status)
	}

	a.launch(of("t3", "/hangs"))
	<-requested
	a.await("t3", mesos.TASK_RUNNING)
	a.kill("t3")
	if _, status = a.await("t3", mesos.TASK_KILLED); status.Cause != "killed; its request was cut off" {
		t.Errorf("unexpected status %+v", status)
	}
}

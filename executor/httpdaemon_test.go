package executor_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// A daemon can be an HTTP request: each fire sends the request, the server's answer is the result of the run, and a
// kill or a timeout interrupts the request.
func TestRequestDaemon(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	hangs := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case requests.Add(1) == 1:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		case r.URL.Path == "/hangs":
			select {
			case hangs <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	of := func(id, path string) wire.Task { return asRequest(daemonOf(id, ""), s.URL+path) }
	a := newAgent(t)
	a.launch(of("t1", "/"))
	if failed := a.awaitRuns("t1", wire.RunFailed, 1)[0]; !strings.Contains(failed.Cause,
		"answered 503 Service Unavailable:\nnot yet") {
		t.Errorf("unexpected run %+v", failed)
	}
	runs := a.awaitRuns("t1", wire.RunFinished, 2)
	if last := runs[1]; last.totals.Runs < 3 || last.totals.Failed != 1 || !last.Fire.After(runs[0].Fire) {
		t.Errorf("unexpected runs %+v", runs)
	}
	a.kill("t1")
	a.await("t1", mesos.TASK_KILLED)

	slow := of("t2", "/hangs")
	slow.Daemon.TimeoutMillis = 100
	a.launch(slow)
	if timedOut := a.awaitRuns("t2", wire.RunTimedOut, 1)[0]; !strings.Contains(timedOut.Cause, "timeoutSeconds") {
		t.Errorf("unexpected run %+v", timedOut)
	}
	a.kill("t2")
	a.await("t2", mesos.TASK_KILLED)

	<-hangs
	a.launch(of("t3", "/hangs"))
	<-hangs
	a.awaitRuns("t3", wire.RunRunning, 1)
	a.kill("t3")
	if _, status := a.await("t3", mesos.TASK_KILLED); status.Run == nil || status.Run.State != wire.RunKilled ||
		status.Run.Complete.Sub(status.Run.Start) > time.Minute {
		t.Errorf("%+v: want the run that was cut off", status.Run)
	}
}

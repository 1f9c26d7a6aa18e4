package podevent_test

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podevent"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/eventually"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said returns the events in the pods' namespace.
func said(s *fakekubernetes.Server) (all []string) {
	s.With(func() {
		for _, e := range s.Events {
			if e.Namespace == ours.Namespace {
				all = append(all, e.Type+" "+e.Reason+" "+string(e.InvolvedObject.UID)+": "+e.Message)
			}
		}
	})
	return all
}

func start(t *testing.T, s *fakekubernetes.Server) *podevent.Recorder {
	t.Helper()
	api, err := kubernetes.NewAPI(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	r := podevent.New(api.Core, slog.New(slog.DiscardHandler))
	t.Cleanup(r.Close)
	return r
}

var ours = kubernetes.Pod{Namespace: "jobs", Name: "my-job-0-1", UID: "u", Node: "node1"}

func TestRecordedEvents(t *testing.T) {
	t.Parallel()
	s := fakekubernetes.Start(t)
	r := start(t, s)
	for _, source := range []string{"NORMAL_TRIGGER", "TRIGGER", "MISFIRE", "FAILOVER"} {
		r.Launched(ours, wire.Task{Attempt: 2, Item: 3, JobName: "my_job", Source: source, ExecutionID: "e"})
	}
	r.Launched(ours, wire.Task{Attempt: 1, JobName: "my_job", Daemon: &wire.Daemon{}, ExecutionID: "e"})
	r.Killed(ours, "ann asked for it")
	r.Killed(ours, "")
	r.GivenUp(ours, "ErrImagePull: no such image")
	want := []string{
		"Normal Launched u: attempt 2 of item 3 of job my_job, fired by its cron, placed on node node1 (execution e)",
		"Normal Launched u: attempt 2 of item 3 of job my_job, triggered by a request, placed on node node1 (execution e)",
		"Normal Launched u: attempt 2 of item 3 of job my_job, for missed fires, placed on node node1 (execution e)",
		"Normal Launched u: attempt 2 of item 3 of job my_job, replacing a lost attempt, placed on node node1 (execution e)",
		"Normal Launched u: attempt 1 of item 0 of job my_job, a daemon, placed on node node1 (execution e)",
		"Normal Killed u: its end was requested: ann asked for it",
		"Normal Killed u: its end was requested",
		"Warning GivenUp u: given up and deleted: ErrImagePull: no such image",
	}
	eventually.Works(t, "all events", func() error {
		if diff := cmp.Diff(want, said(s)); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// TestDroppedEvents: an event that cannot be written, or exceeds the limit, blocks no caller, and is counted.
func TestDroppedEvents(t *testing.T) {
	t.Parallel()
	s := fakekubernetes.Start(t)
	s.Fault = func(w http.ResponseWriter, _ *http.Request, _ runtime.Object) bool {
		fakekubernetes.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no events for you")
		return true
	}
	r := start(t, s)
	const many = 5000
	for range many {
		r.Killed(ours, strings.Repeat("x", 5000))
	}
	if r.Dropped() < many/2 {
		t.Errorf("%d of %d events were dropped", r.Dropped(), many)
	}
	before := r.Dropped()
	eventually.Works(t, "refused ones are counted", func() error {
		if r.Dropped() == before {
			return errors.New("none was")
		}
		return nil
	})
}

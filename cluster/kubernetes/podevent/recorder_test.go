package podevent_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podevent"
	"github.com/elasticjob-go/elasticjob/internal/wire"
	"github.com/elasticjob-go/elasticjob/test/eventually"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server takes events, or refuses them.
type server struct {
	refuses bool

	mu     sync.Mutex
	events []corev1.Event
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	const magic = "k8s\x00"
	var envelope runtime.Unknown
	var e corev1.Event
	err = errors.Join(err, envelope.Unmarshal(bytes.TrimPrefix(body, []byte(magic))), e.Unmarshal(envelope.Raw))
	if err != nil || s.refuses || r.URL.Path != "/api/v1/namespaces/jobs/events" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *server) said() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		all = append(all, e.Type+" "+e.Reason+" "+string(e.InvolvedObject.UID)+": "+e.Message)
	}
	return all
}

func start(t *testing.T, s *server) *podevent.Recorder {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	api, err := kubernetes.NewAPI(&rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	r := podevent.New(api.Core, slog.New(slog.DiscardHandler))
	t.Cleanup(r.Close)
	return r
}

var ours = kubernetes.Pod{Namespace: "jobs", Name: "my-job-0-1", UID: "u", Node: "node1"}

func TestWhatWasDecidedIsSaid(t *testing.T) {
	t.Parallel()
	s := &server{}
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
		"Normal Launched u: attempt 2 of item 3 of job my_job, for fires that were missed, placed on node node1 (execution e)",
		"Normal Launched u: attempt 2 of item 3 of job my_job, in the place of an attempt that was lost, placed on node node1 (execution e)",
		"Normal Launched u: attempt 1 of item 0 of job my_job, a daemon, placed on node node1 (execution e)",
		"Normal Killed u: its end was asked for: ann asked for it",
		"Normal Killed u: its end was asked for",
		"Warning GivenUp u: it is not waited for any more, and deleted: ErrImagePull: no such image",
	}
	eventually.Works(t, "all events", func() error {
		if diff := cmp.Diff(want, s.said()); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// TestEventsAreForPeopleOnly: one that can't be written, or is one too many, keeps nobody waiting.
func TestEventsAreForPeopleOnly(t *testing.T) {
	t.Parallel()
	r := start(t, &server{refuses: true})
	const many = 5000
	for range many {
		r.Killed(ours, strings.Repeat("x", 5000))
	}
	if r.Missing() < many/2 {
		t.Errorf("%d of %d events were left out", r.Missing(), many)
	}
	before := r.Missing()
	eventually.Works(t, "refused ones are counted", func() error {
		if r.Missing() == before {
			return errors.New("none was")
		}
		return nil
	})
}

package kubernetes

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

// lists is a store that sends 1 for each object it gets, and minus the number of objects for each list.
type lists struct{ retained chan int }

func (l lists) put(runtime.Object)                 { l.retained <- 1 }
func (l lists) gone(runtime.Object)                {}
func (l lists) listing()                           {}
func (l lists) retain(uids map[types.UID]struct{}) { l.retained <- -len(uids) }

// TestForbiddenWatch: if objects can be listed but not watched, changes are found by lists.
func TestForbiddenWatch(t *testing.T) {
	t.Parallel()
	server := fakekubernetes.Start(t)
	server.PutPod("jobs", "p", func(*corev1.Pod) {})
	server.Fault = func(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
		if r.URL.Query().Get("watch") == "" {
			return false
		}
		fakekubernetes.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no watch for you")
		return true
	}
	api, err := NewAPI(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	store := lists{make(chan int, 100)}
	w := &watcher{api: api, resource: "pods", empty: podList, store: store, log: slog.New(slog.DiscardHandler),
		listAfter: time.Millisecond}
	if err := w.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); w.run(t.Context()) }()
	t.Cleanup(func() { <-done })
	for range 3 {
		if put, retained := <-store.retained, <-store.retained; put != 1 || retained != -1 {
			t.Errorf("a list brought %d and retained %d", put, retained)
		}
	}
}

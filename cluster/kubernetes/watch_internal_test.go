package kubernetes

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// lists takes no more note of a list than that it was there.
type lists struct{ retained chan int }

func (l lists) put(runtime.Object)                 { l.retained <- 1 }
func (l lists) gone(runtime.Object)                {}
func (l lists) listing()                           {}
func (l lists) retain(uids map[types.UID]struct{}) { l.retained <- -len(uids) }

// TestNoWatchComesAbout: where objects may be listed and not watched, what changes is found by lists.
func TestNoWatchComesAbout(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no watch for you"}`)
			return
		}
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[{"metadata":{"name":"p","uid":"u"}}]}`, asked.Add(1))
	}))
	t.Cleanup(server.Close)
	api, err := NewAPI(&rest.Config{Host: server.URL})
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

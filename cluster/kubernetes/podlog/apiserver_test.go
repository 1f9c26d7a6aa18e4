package podlog_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
)

// apiServer is as much of an API server as gives pods and what their containers write.
type apiServer struct {
	core rest.Interface

	mu      sync.Mutex
	changed *sync.Cond
	pods    map[string]*container
	// opened are the queries of all requests for output, throttled how many of the next ones are answered 429.
	opened    []string
	throttled int
	broken    int // so many requests for output are answered 500
}

// container is a pod with one container, named so.
type container struct {
	pod    corev1.Pod
	text   string
	ended  bool
	cuts   int // how often what is followed was cut
	closed bool
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{pods: map[string]*container{}}
	a.changed = sync.NewCond(&a.mu)
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		a.change(func() {
			for _, c := range a.pods {
				c.closed = true
			}
		})
		server.Close()
	})
	a.core = clientOf(t, server)
	return a
}

func clientOf(t testing.TB, server *httptest.Server) rest.Interface {
	t.Helper()
	api, err := kubernetes.NewAPI(&rest.Config{Host: server.URL,
		TLSClientConfig: rest.TLSClientConfig{Insecure: server.TLS != nil}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return api.Core
}

func (a *apiServer) change(how func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	how()
	a.changed.Broadcast()
}

// begin has a pod run a container.
func (a *apiServer) begin(name, uid, containerName, text string) *container {
	c := &container{text: text, pod: corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "jobs",
			Name: name, UID: types.UID(uid)}}}
	state := corev1.ContainerStatus{Name: containerName,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	if containerName == "shard" {
		c.pod.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	} else {
		c.pod.Status.InitContainerStatuses = []corev1.ContainerStatus{state}
	}
	a.change(func() { a.pods[name] = c })
	return c
}

func (a *apiServer) write(c *container, text string) { a.change(func() { c.text += text }) }

// rotate has the node keep only what is written from now on.
func (a *apiServer) rotate(c *container, text string) { a.change(func() { c.text = text }) }

func (a *apiServer) end(c *container, exit int32) {
	a.change(func() {
		c.ended = true
		for _, s := range [][]corev1.ContainerStatus{c.pod.Status.ContainerStatuses,
			c.pod.Status.InitContainerStatuses} {
			for i := range s {
				s[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit}}
			}
		}
	})
}

// cut ends all that is followed of a container.
func (a *apiServer) cut(c *container) { a.change(func() { c.cuts++ }) }

func (a *apiServer) opens() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.opened...)
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/jobs/pods/"), "/")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.throttled > 0 {
		a.throttled--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	c := a.pods[parts[0]]
	switch {
	case c == nil:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case len(parts) == 1:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.pod)
	default:
		a.log(w, r, c)
	}
}

func (a *apiServer) log(w http.ResponseWriter, r *http.Request, c *container) {
	a.opened = append(a.opened, r.URL.RawQuery)
	if a.broken > 0 {
		a.broken--
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
		return
	}
	at, cuts := 0, c.cuts
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.Context().Done():
			a.change(func() {})
		case <-stop:
		}
	}()
	for {
		if at < len(c.text) {
			_, _ = w.Write([]byte(c.text[at:]))
			at = len(c.text)
		}
		_ = http.NewResponseController(w).Flush()
		switch {
		case c.cuts > cuts:
			panic(http.ErrAbortHandler)
		case c.ended || c.closed || r.Context().Err() != nil:
			return
		}
		a.changed.Wait()
	}
}

func refuse(w http.ResponseWriter, status int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Reason: reason, Code: int32(status)})
}

// Package fakekubernetes is a Kubernetes API server in memory, for tests of its clients: the few endpoints that this
// repository uses, and hooks that cause faults. Nothing runs its pods; a test plays the kubelet.
// test/kubernetesserver is a real Kubernetes.
package fakekubernetes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// Server is an API server. Its exported fields must only be used within With, or before the server is used.
type Server struct {
	Version int64                  // of the latest change
	Pods    map[string]*corev1.Pod // by namespace/name
	Nodes   map[string]*corev1.Node
	Secrets map[string]*corev1.Secret
	Events  []*corev1.Event
	// Fault may answer a request instead of the server; it returns true if it did.
	Fault func(w http.ResponseWriter, r *http.Request, body runtime.Object) bool
	// After is called after a request was executed and before it is answered; if it returns true, the answer is lost.
	After func(r *http.Request) bool
	// Mutate changes pods that are created, as webhooks do.
	Mutate func(*corev1.Pod)

	web     *httptest.Server
	decoder runtime.Decoder

	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease
	outputs map[string]*output // of pods, by namespace/name
	log     []change
	// oldest is the first version at which a watch may begin. grown is closed when something changes, cut when
	// watches must end.
	oldest     int64
	grown, cut chan struct{}
}

type change struct {
	version  int64
	what     string
	encoded  json.RawMessage
	resource string
}

// Start starts a server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Version: 1, Pods: map[string]*corev1.Pod{}, Nodes: map[string]*corev1.Node{},
		Secrets: map[string]*corev1.Secret{},
		decoder: serializer.NewCodecFactory(scheme).UniversalDeserializer(),
		leases:  map[string]*coordinationv1.Lease{}, outputs: map[string]*output{},
		grown: make(chan struct{}), cut: make(chan struct{}),
	}
	s.web = httptest.NewUnstartedServer(s)
	s.web.EnableHTTP2 = true
	s.web.StartTLS()
	t.Cleanup(func() {
		s.CutWatches()
		s.web.CloseClientConnections()
		s.web.Close()
	})
	return s
}

// Config returns the configuration for clients.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.web.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// With calls do while the server is locked, so that do may read and change its fields.
func (s *Server) With(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// CutWatches ends all watches and all followers of output.
func (s *Server) CutWatches() {
	s.With(func() {
		close(s.cut)
		s.cut = make(chan struct{})
	})
}

// Expire ends all watches and forgets the changes that they would need to continue, including this many changes to
// come.
func (s *Server) Expire(coming int64) {
	s.With(func() { s.oldest, s.log = s.Version+coming, nil })
	s.CutWatches()
}

// changed records a change; s.mu must be held.
func (s *Server) changed(resource, what string, object metav1.Object) {
	s.Version++
	object.SetResourceVersion(strconv.FormatInt(s.Version, 10))
	if p, is := object.(*corev1.Pod); is {
		p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	}
	encoded, _ := json.Marshal(object)
	s.log = append(s.log, change{version: s.Version, what: what, encoded: encoded, resource: resource})
	s.wake()
}

// wake wakes everything that waits for a change; s.mu must be held.
func (s *Server) wake() {
	close(s.grown)
	s.grown = make(chan struct{})
}

// collect removes a deleted pod once nothing keeps it; s.mu must be held.
func (s *Server) collect(p *corev1.Pod) {
	if p.DeletionTimestamp != nil && len(p.Finalizers) == 0 && (p.Spec.NodeName == "" || pod.Ended(p)) {
		delete(s.Pods, p.Namespace+"/"+p.Name)
		s.changed("pods", "DELETED", p.DeepCopy())
	}
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body runtime.Object
	if len(raw) > 0 && !strings.Contains(r.Header.Get("Content-Type"), "patch") {
		decoded, _, err := s.decoder.Decode(raw, nil, nil)
		if err != nil {
			Refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		body = decoded
	}
	s.mu.Lock()
	fault, after := s.Fault, s.After
	s.mu.Unlock()
	if fault != nil && fault(w, r, body) {
		return
	}
	at := targetOf(r)
	switch {
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, at.resource)
		return
	case at.sub == "log":
		s.follow(w, r, at.key())
		return
	}
	status, answer := s.do(r, at, body, raw)
	if after != nil && after(r) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// Do executes a request, so that Fault can answer it differently.
func (s *Server) Do(r *http.Request, body runtime.Object) { s.do(r, targetOf(r), body, nil) }

// Refuse answers like an API server that rejects a request.
func Refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	said := failure(code, reason, message)
	// The API server marks this cause, of a namespace, in the details too.
	if strings.Contains(message, "is being terminated") {
		said.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	}
	_ = json.NewEncoder(w).Encode(said)
}

func failure(code int, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message}
}

// watch sends the changes since a version until it is cut or the client disconnects.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, resource string) {
	from, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	s.mu.Lock()
	expired, cut := from < s.oldest, s.cut
	s.mu.Unlock()
	if expired {
		Refuse(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		s.mu.Lock()
		grown, news := s.grown, slices.Clone(s.log)
		s.mu.Unlock()
		for _, c := range news {
			if c.version > from && c.resource == resource {
				_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", c.what, c.encoded)
			}
			from = max(from, c.version)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-grown:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

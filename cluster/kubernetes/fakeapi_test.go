package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// fakeAPI is an API server with the few endpoints that a session uses, in memory, and a hook to make faults.
type fakeAPI struct {
	*httptest.Server
	decoder runtime.Decoder

	mu      sync.Mutex
	version int64
	pods    map[string]*corev1.Pod // by namespace/name
	nodes   map[string]*corev1.Node
	leases  map[string]*coordinationv1.Lease
	secrets map[string]*corev1.Secret
	log     []change
	// oldest is the first version that a watch may begin at; grown is closed when the log grows, cut when watches are
	// to end.
	oldest     int64
	grown, cut chan struct{}
	// fault may answer a request in place of the server; it returns true if it did.
	fault func(w http.ResponseWriter, r *http.Request, body runtime.Object) bool
	// after is called behind a request that was done, before its answer; it returns true if the answer is to be lost.
	after func(r *http.Request) bool
	// mutate changes pods that are created, as webhooks do.
	mutate func(*corev1.Pod)
	counts map[string]int
}

type change struct {
	version  int64
	what     string
	encoded  json.RawMessage
	resource string
}

func newFakeAPI(t testing.TB) *fakeAPI {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fakeAPI{
		decoder: serializer.NewCodecFactory(scheme).UniversalDeserializer(), version: 1,
		pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, leases: map[string]*coordinationv1.Lease{},
		secrets: map[string]*corev1.Secret{},
		grown:   make(chan struct{}), cut: make(chan struct{}), counts: map[string]int{},
	}
	f.Server = httptest.NewUnstartedServer(f)
	f.EnableHTTP2 = true
	f.StartTLS()
	t.Cleanup(func() {
		f.cutWatches()
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fakeAPI) config() *rest.Config {
	return &rest.Config{Host: f.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// with changes what the server has and does.
func (f *fakeAPI) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fakeAPI) cutWatches() {
	f.with(func() {
		close(f.cut)
		f.cut = make(chan struct{})
	})
}

// addNode adds a node, or changes it.
func (f *fakeAPI) addNode(name string, cpu, memory, pods string, ready corev1.ConditionStatus) {
	f.with(func() {
		allocatable := list(cpu, memory)
		allocatable[corev1.ResourcePods] = quantity(pods)
		n := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}}
		n.Name, n.UID = name, types.UID("uid-"+name)
		n.Status.Allocatable = allocatable
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready,
			LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second))}}
		what := "ADDED"
		if f.nodes[name] != nil {
			what = "MODIFIED"
		}
		f.nodes[name] = n
		f.changed("nodes", what, n)
	})
}

// putPod writes a pod as it is, past all checks: what a kubelet, or another client, does. change may be nil for a new
// one.
func (f *fakeAPI) putPod(namespace, name string, change func(*corev1.Pod)) {
	f.with(func() {
		key, what := namespace+"/"+name, "MODIFIED"
		p := f.pods[key]
		if p == nil {
			what = "ADDED"
			p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
				UID: types.UID(fmt.Sprintf("uid-%d", f.version))}}
		}
		p = p.DeepCopy()
		change(p)
		f.pods[key] = p
		f.changed("pods", what, p)
		f.collect(p)
	})
}

// removePod removes a pod by force.
func (f *fakeAPI) removePod(namespace, name string) {
	f.with(func() {
		if p := f.pods[namespace+"/"+name]; p != nil {
			delete(f.pods, namespace+"/"+name)
			f.changed("pods", "DELETED", p.DeepCopy())
		}
	})
}

func (f *fakeAPI) pod(name string) *corev1.Pod {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods["jobs/"+name]; p != nil {
		return p.DeepCopy()
	}
	return nil
}

// expire forgets what watches would need to go on.
func (f *fakeAPI) expire() {
	f.with(func() { f.oldest, f.log = f.version, nil })
	f.cutWatches()
}

// changed writes a change down; f.mu is held.
func (f *fakeAPI) changed(resource, what string, object metav1.Object) {
	f.version++
	object.SetResourceVersion(strconv.FormatInt(f.version, 10))
	if p, is := object.(*corev1.Pod); is {
		p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	}
	encoded, _ := json.Marshal(object)
	f.log = append(f.log, change{version: f.version, what: what, encoded: encoded, resource: resource})
	close(f.grown)
	f.grown = make(chan struct{})
}

// collect removes a pod that is to be deleted, if nothing keeps it any more; f.mu is held.
func (f *fakeAPI) collect(p *corev1.Pod) {
	if p.DeletionTimestamp != nil && len(p.Finalizers) == 0 && (p.Spec.NodeName == "" || pod.Over(p)) {
		delete(f.pods, p.Namespace+"/"+p.Name)
		f.changed("pods", "DELETED", p.DeepCopy())
	}
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body runtime.Object
	if len(raw) > 0 && !strings.Contains(r.Header.Get("Content-Type"), "patch") {
		decoded, _, err := f.decoder.Decode(raw, nil, nil)
		if err != nil {
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		body = decoded
	}
	f.mu.Lock()
	fault, after := f.fault, f.after
	f.counts[r.Method]++
	f.mu.Unlock()
	if fault != nil && fault(w, r, body) {
		return
	}
	if r.URL.Query().Get("watch") != "" {
		f.watch(w, r)
		return
	}
	status, answer := f.do(r, body, raw)
	if after != nil && after(r) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	said := failure(code, reason, message)
	if strings.Contains(message, "is being terminated") { // of a namespace, which the API server says so, too
		said.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	}
	_ = json.NewEncoder(w).Encode(said)
}

func failure(code int, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: message}
}

// do does a request that is no watch.
func (f *fakeAPI) do(r *http.Request, body runtime.Object, raw []byte) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api/v1/[namespaces/N/]resource[/name[/sub]]
	at := 2
	if parts[0] == "apis" {
		at = 3
	}
	namespace := ""
	if parts[at] == "namespaces" {
		namespace, at = parts[at+1], at+2
	}
	resource, rest := parts[at], append(parts[at+1:], "", "")
	name, sub := rest[0], rest[1]
	switch resource {
	case "leases":
		return f.lease(r, name, body)
	case "secrets":
		s, _ := body.(*corev1.Secret)
		f.secrets[s.Name] = s
		return http.StatusCreated, s
	case "nodes":
		l := corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		l.ResourceVersion = strconv.FormatInt(f.version, 10)
		for _, n := range f.nodes {
			l.Items = append(l.Items, *n)
		}
		return http.StatusOK, l
	}
	return f.podRequest(r, namespace, name, sub, body, raw)
}

func (f *fakeAPI) lease(r *http.Request, name string, body runtime.Object) (int, any) {
	l, _ := body.(*coordinationv1.Lease)
	switch old := f.leases[name]; {
	case r.Method == http.MethodGet && old == nil:
		return http.StatusNotFound, failure(404, metav1.StatusReasonNotFound, "no such lease")
	case r.Method == http.MethodGet:
		return http.StatusOK, old
	case r.Method == http.MethodPost && f.leases[l.Name] != nil:
		return http.StatusConflict, failure(409, metav1.StatusReasonAlreadyExists, "it exists")
	case r.Method == http.MethodPut && (old == nil || old.ResourceVersion != l.ResourceVersion):
		return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "it was changed")
	}
	f.version++
	l = l.DeepCopy()
	l.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	l.UID, l.ResourceVersion = types.UID("lease-"+l.Name), strconv.FormatInt(f.version, 10)
	stamp := metav1.Now()
	l.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "test", Time: &stamp}}
	f.leases[l.Name] = l
	return http.StatusOK, l
}

func (f *fakeAPI) podRequest(r *http.Request, namespace, name, sub string, body runtime.Object, raw []byte) (int,
	any) {
	p := f.pods[namespace+"/"+name]
	switch {
	case r.Method == http.MethodPost && sub == "" && name == "":
		made, _ := body.(*corev1.Pod)
		if f.pods[namespace+"/"+made.Name] != nil {
			return http.StatusConflict, failure(409, metav1.StatusReasonAlreadyExists, "it exists")
		}
		made.UID, made.CreationTimestamp = types.UID(fmt.Sprintf("uid-%d", f.version)), metav1.Now()
		if f.mutate != nil {
			f.mutate(made)
		}
		f.pods[namespace+"/"+made.Name] = made
		f.changed("pods", "ADDED", made)
		return http.StatusCreated, made
	case name == "":
		l := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
		l.ResourceVersion = strconv.FormatInt(f.version, 10)
		for key, one := range f.pods {
			if namespace == "" || strings.HasPrefix(key, namespace+"/") {
				l.Items = append(l.Items, *one)
			}
		}
		return http.StatusOK, l
	case p == nil:
		return http.StatusNotFound, failure(404, metav1.StatusReasonNotFound, "no such pod "+name)
	case r.Method == http.MethodGet:
		return http.StatusOK, p
	}
	next := p.DeepCopy()
	switch r.Method {
	case http.MethodPost: // binding
		b, _ := body.(*corev1.Binding)
		if p.UID != b.UID || p.DeletionTimestamp != nil || p.Spec.NodeName != "" {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "pod "+name+" can't be bound")
		}
		next.Spec.NodeName = b.Target.Name
	case http.MethodDelete:
		o, _ := body.(*metav1.DeleteOptions)
		if c := o.Preconditions; c != nil &&
			(c.UID != nil && *c.UID != p.UID || c.ResourceVersion != nil && *c.ResourceVersion != p.ResourceVersion) {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "pod "+name+" is another one")
		}
		grace := int64(30)
		if o.GracePeriodSeconds != nil {
			grace = *o.GracePeriodSeconds
		}
		if old := next.DeletionGracePeriodSeconds; old != nil && *old <= grace {
			return http.StatusOK, p
		}
		at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
		next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &at, &grace
	case http.MethodPatch:
		if !strings.Contains(string(raw), string(p.UID)) {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "pod "+name+" is another one")
		}
		if sub == "status" {
			var patch corev1.Pod
			if err := json.Unmarshal(raw, &patch); err != nil {
				return http.StatusBadRequest, failure(400, metav1.StatusReasonBadRequest, err.Error())
			}
			next.Status.Conditions = patch.Status.Conditions
			break
		}
		var patch struct {
			Metadata struct {
				ResourceVersion string            `json:"resourceVersion"`
				Annotations     map[string]string `json:"annotations"`
				Add             []string          `json:"finalizers"`
				Remove          []string          `json:"$deleteFromPrimitiveList/finalizers"`
			} `json:"metadata"`
		}
		_ = json.Unmarshal(raw, &patch)
		if version := patch.Metadata.ResourceVersion; version != "" && version != p.ResourceVersion {
			return http.StatusConflict, failure(409, metav1.StatusReasonConflict, "the object has been modified")
		}
		for _, one := range patch.Metadata.Add {
			if !slices.Contains(next.Finalizers, one) {
				next.Finalizers = append(next.Finalizers, one)
			}
		}
		maps.Copy(next.Annotations, patch.Metadata.Annotations)
		next.Finalizers = slices.DeleteFunc(next.Finalizers,
			func(one string) bool { return slices.Contains(patch.Metadata.Remove, one) })
	}
	f.pods[namespace+"/"+name] = next
	f.changed("pods", "MODIFIED", next)
	f.collect(next)
	return http.StatusOK, next
}

// watch sends what changes from a version on until it is cut or its client goes.
func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	parts := strings.Split(r.URL.Path, "/")
	resource := parts[len(parts)-1]
	f.mu.Lock()
	expired, cut := from < f.oldest, f.cut
	f.mu.Unlock()
	if expired {
		refuse(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		f.mu.Lock()
		grown, news := f.grown, slices.Clone(f.log)
		f.mu.Unlock()
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

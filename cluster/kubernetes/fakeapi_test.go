package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
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

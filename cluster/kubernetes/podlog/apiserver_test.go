package podlog_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/test/fakekubernetes"
)

// apiServer is an API server that counts requests for output and rejects them on demand.
type apiServer struct {
	*fakekubernetes.Server
	core rest.Interface

	mu     sync.Mutex
	opened []string // the queries of all requests for output
	// throttled is how many of the next requests are answered 429, broken how many of those for output are answered
	// 500.
	throttled, broken int
}

func newAPIServer(t testing.TB) *apiServer {
	t.Helper()
	a := &apiServer{Server: fakekubernetes.Start(t)}
	a.Fault = a.fault
	api, err := kubernetes.NewAPI(a.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	a.core = api.Core
	return a
}

func (a *apiServer) fault(w http.ResponseWriter, r *http.Request, _ runtime.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	output := strings.HasSuffix(r.URL.Path, "/log")
	if output && a.throttled == 0 {
		a.opened = append(a.opened, r.URL.RawQuery)
	}
	switch {
	case a.throttled > 0:
		a.throttled--
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case output && a.broken > 0:
		a.broken--
		fakekubernetes.Refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "no such node")
	default:
		return false
	}
	return true
}

func (a *apiServer) opens() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.opened...)
}

// begin creates a pod with a running container that has written text. It returns the pod's name.
func (a *apiServer) begin(name, uid, container, text string) string {
	a.Write("jobs", name, text)
	a.PutPod("jobs", name, func(p *corev1.Pod) {
		p.UID = types.UID(uid)
		all := &p.Status.ContainerStatuses
		if container != "shard" {
			all = &p.Status.InitContainerStatuses
		}
		*all = []corev1.ContainerStatus{{Name: container,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	return name
}

// end lets a pod's container end.
func (a *apiServer) end(name string, exit int32) {
	a.PutPod("jobs", name, func(p *corev1.Pod) {
		for _, all := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
			for i := range all {
				all[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit}}
			}
		}
	})
}

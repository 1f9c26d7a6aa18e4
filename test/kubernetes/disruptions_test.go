package kubernetes_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// startHeld registers jobs of one shard each, triggers them, and waits until all shards run. They run until release is
// called. fields are the additional fields of each job, by its name; ids are the executions.
func (w *world) startHeld(fields map[string]system.Doc) (ids map[string]string, release func()) {
	w.Helper()
	path, release := w.Hold()
	ids = map[string]string{}
	for job, more := range fields {
		doc := system.Doc{"env": map[string]string{"HOLD": path}}
		for field, value := range more {
			doc[field] = value
		}
		w.job(job, "a", doc)
		ids[job] = w.Trigger(job)
	}
	for _, id := range ids {
		w.AwaitStarts(id, 1)
	}
	for _, id := range ids {
		w.AwaitShards(id, "RUNNING")
	}
	return ids, release
}

// awaitSecondAttempt waits until a later attempt of an execution's only shard is running.
func (w *world) awaitSecondAttempt(id string) {
	w.Helper()
	w.Until("another attempt runs", func() string {
		if s := w.Execution(id).Shards[0]; s.Attempt < 2 || s.State != "RUNNING" {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
}

// checkStartedOnce checks that no shard started more than once.
func (w *world) checkStartedOnce() {
	w.Helper()
	starts, _ := w.Ran()
	for part, n := range starts {
		if n != 1 {
			w.Errorf("%+v has begun %d times", part, n)
		}
	}
}

// TestOnKubernetesDisrupted: a shard whose pod the cluster ends is lost (E2), and with failover runs again. A shard
// that exceeds the deadline of its template has failed (E3).
func TestOnKubernetesDisrupted(t *testing.T) {
	t.Run("evicted", func(t *testing.T) {
		w := onShared(t)
		w.serve()
		w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
		ids, release := w.startHeld(map[string]system.Doc{"lost": {"failover": false}, "moved": {"failover": true}})
		for job := range ids {
			p := w.pods(job)[0].Metadata.Name
			w.k.OK(t, "POST", "/api/v1/namespaces/"+w.namespace+"/pods/"+p+"/eviction",
				`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+p+`"}}`, nil)
		}
		if e := w.Await(ids["lost"], "FAILED"); !strings.Contains(e.Shards[0].FailureCause,
			"the cluster ended its pod: EvictionByEvictionAPI") {
			t.Errorf("it was lost: %+v", e)
		}
		w.awaitSecondAttempt(ids["moved"])
		release()
		w.Await(ids["moved"], "FINISHED")
	})
	t.Run("too-long", func(t *testing.T) {
		w := onShared(t)
		w.serve()
		w.App("a", only("exec sleep 1000"),
			system.Doc{"podTemplate": system.Doc{"spec": system.Doc{"activeDeadlineSeconds": 3}}})
		w.job("j", "a", system.Doc{"failover": true})
		e := w.Run("j", "FAILED")
		if s := e.Shards[0]; !strings.Contains(s.FailureCause, "activeDeadlineSeconds") {
			t.Errorf("it has failed: %+v", s)
		}
		if regexp.MustCompile(`"msg":"shard requeued".*activeDeadlineSeconds`).MatchString(w.ServerLog()) {
			t.Error("it was run again")
		}
	})
}

// preempted: a shard whose pod is preempted is lost, and with failover runs again.
func preempted(t *testing.T, w *world) {
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	var node struct {
		Status struct{ Allocatable struct{ CPU string } }
	}
	w.k.OK(t, "GET", "/api/v1/nodes/node1", "", &node)
	var cores float64
	if _, err := fmt.Sscan(node.Status.Allocatable.CPU, &cores); err != nil {
		t.Fatal(err)
	}
	ids, release := w.startHeld(map[string]system.Doc{"j": {"failover": true, "cpuCount": cores * 0.6}})
	w.k.OK(t, "POST", "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"urgent"},"value":1000}`, nil)
	pods := "/api/v1/namespaces/" + w.namespace + "/pods"
	urgent := w.json(system.Doc{"metadata": system.Doc{"name": "urgent"}, "spec": system.Doc{
		"priorityClassName": "urgent", "hostNetwork": true, "terminationGracePeriodSeconds": 0,
		"containers": []any{system.Doc{"name": "c", "image": kubernetesserver.Box.Name, "command": []string{"/bin/sleep", "1000"},
			"resources": system.Doc{"requests": system.Doc{"cpu": fmt.Sprint(cores * 0.6)}}}},
	}})
	// The API server admits a pod by its cache of priority classes, which lags behind the classes that exist.
	w.Until("the class is known", func() string {
		if a := w.k.Call(t, "POST", pods, urgent, kubernetesserver.JSON); a.Status != http.StatusCreated {
			return a.Body
		}
		return ""
	})
	w.awaitExplanation("j", "CPU")
	// The execution lists its ended attempts, so it says so even after a later attempt has begun.
	w.Until("the execution says that its pod was preempted", func() string {
		if text := w.OK("GET", "/api/execution/"+ids["j"], ""); !strings.Contains(text,
			"the cluster ended its pod: PreemptionByScheduler") {
			return text
		}
		return ""
	})
	w.k.OK(t, "DELETE", pods+"/urgent", "", nil)
	w.awaitSecondAttempt(ids["j"])
	release()
	w.Await(ids["j"], "FINISHED")
}

// watchExpired: the server notices that pods ended or were removed while it was frozen, even if the API server no
// longer knows the changes since then.
func watchExpired(t *testing.T, w *world) {
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	ids, release := w.startHeld(map[string]system.Doc{"ends": {}, "removed": {}})
	removed := w.pods("removed")[0].Metadata.Name
	w.Signal(syscall.SIGSTOP)
	w.k.OK(t, "POST", "/api/v1/namespaces/"+w.namespace+"/configmaps", `{"metadata":{"name":"later"}}`, nil)
	w.k.API.Kill() // after the restart it only knows later changes
	w.k.API.Restart(t)
	w.k.OK(t, "DELETE", "/api/v1/namespaces/"+w.namespace+"/pods/"+removed, `{"gracePeriodSeconds":0}`, nil)
	release()
	w.Until("a shard has ended", func() string {
		p := w.pods("ends")[0]
		if p.Status.Phase != "Succeeded" {
			return p.Status.Phase
		}
		return ""
	})
	w.Signal(syscall.SIGCONT)
	w.Await(ids["ends"], "FINISHED")
	e := w.Await(ids["removed"], "FAILED")
	// If this takes longer than a session lasts, the next session lists the objects instead.
	expired, ended := []string{"pods", "nodes"}, strings.Contains(w.ServerLog(), `"msg":"kubernetes session ended"`)
	if ended {
		t.Log("the server was frozen for longer than its session lived")
		expired = nil
	}
	if cause := e.Shards[0].FailureCause; !strings.Contains(cause, "was removed from the API before it had ended") &&
		!(ended && strings.Contains(cause, "there is no pod "+removed)) {
		t.Errorf("the cause is %q", cause)
	}
	for _, resource := range expired { // a watch that breaks before it is told that it has expired is told afterwards
		said := regexp.MustCompile(`"msg":"watch expired, listing again".*"resource":"` + resource + `"`)
		w.Until("the watch of "+resource+" has expired", func() string {
			if !said.MatchString(w.ServerLog()) {
				return "it has not"
			}
			return ""
		})
	}
	w.Run("ends", "FINISHED")
	w.checkStartedOnce()
}

// nodeDeleted: a node that is deleted while a shard runs on it, and comes back under the same name, still runs it.
func nodeDeleted(t *testing.T, w *world) {
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	ids, release := w.startHeld(map[string]system.Doc{"j": {}, "moves": {"failover": true}})
	kubelet := w.k.Nodes[0].Kubelet
	kubelet.Kill()
	w.k.OK(t, http.MethodDelete, "/api/v1/nodes/node1", "", nil)
	w.awaitExplanation("j", "agent node1 has not answered")
	kubelet.Restart(t)
	w.Until("the node is back", func() string {
		if a := w.k.Call(t, "GET", "/api/v1/nodes/node1", "", ""); a.Status != http.StatusOK {
			return a.Body
		}
		return ""
	})
	for _, id := range ids {
		w.AwaitShards(id, "RUNNING")
	}
	release()
	for _, id := range ids {
		w.Await(id, "FINISHED")
	}
	w.OnceEach()
	w.Run("j", "FINISHED")
}

// TestOnKubernetesNamespaceDeleted: shards in a deleted namespace are lost. The server starts no shard there and says
// why. It continues when the namespace exists again.
func TestOnKubernetesNamespaceDeleted(t *testing.T) {
	w := onShared(t)
	w.serve()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	ids, _ := w.startHeld(map[string]system.Doc{"j": {}})
	namespace := "/api/v1/namespaces/" + w.namespace
	w.k.OK(t, "DELETE", namespace, "", nil)
	if e := w.Await(ids["j"], "FAILED"); e.Shards[0].State != "LOST" ||
		!strings.Contains(e.Shards[0].FailureCause, "its pod was deleted") {
		t.Errorf("it was lost: %+v", e)
	}
	w.job("next", "a", nil)
	id := w.Trigger("next")
	w.Until("the namespace is gone", func() string {
		if a := w.k.Call(t, "GET", namespace, "", ""); a.Status != http.StatusNotFound {
			return a.Body
		}
		return ""
	})
	w.Until("the server says what is missing", func() string {
		if text := w.Call("GET", "/readyz", "").Body; !strings.Contains(text, "is there a namespace "+w.namespace) {
			return text
		}
		return ""
	})
	w.k.Namespace(t, w.namespace, nil)
	w.Await(id, "FINISHED")
	w.checkStartedOnce()
}

package kubernetes_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesServerKilled kills the server while shards run: they keep running, and the next server finds them.
func TestOnKubernetesServerKilled(t *testing.T) {
	w := onShared(t)
	w.serve()
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"shardingTotalCount": 3, "env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.AwaitStarts(id, 3)
	w.Kill()
	w.serve()
	w.AwaitShards(id, "RUNNING")
	w.Kill()
	release() // they end while no server runs
	w.Until("the processes have ended", func() string {
		if _, ends := w.Ran(); len(ends) != 3 {
			return fmt.Sprint(ends)
		}
		return ""
	})
	w.serve()
	w.Await(id, "FINISHED")
	w.OnceEach()
}

// nodeAway kills the kubelet and containerd of a node while a shard runs there. The shard's state is unknown until they
// are restarted, but the shard keeps running.
func nodeAway(t *testing.T, w *world) {
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.AwaitStarts(id, 1)
	node := w.k.Nodes[0]
	node.Kubelet.Kill()
	node.Containerd.Kill()
	w.Until("the node is not ready", func() string {
		if is := node.Ready(t); is == "True" {
			return "it is"
		}
		return ""
	})
	w.awaitExplanation("j", "agent node1 has not answered")
	release()
	node.Containerd.Restart(t)
	node.Kubelet.Restart(t)
	w.Await(id, "FINISHED")
	w.OnceEach()
}

// deletedUnseen: a pod that was bound and deleted while its kubelet was down never starts when the kubelet is back
// (E5).
func deletedUnseen(t *testing.T, w *world) {
	node, pods, begun := w.k.Nodes[0], "/api/v1/namespaces/"+w.namespace+"/pods",
		filepath.Join(filepath.Dir(w.LedgerPath), "begun-")
	node.Kubelet.Kill()
	for _, name := range []string{"deleted", "kept"} {
		w.k.OK(t, "POST", pods, w.json(system.Doc{"metadata": system.Doc{"name": name}, "spec": system.Doc{
			"nodeName": "node1", "restartPolicy": "Never", "hostNetwork": true,
			"tolerations": []any{system.Doc{"operator": "Exists"}},
			"containers": []any{system.Doc{"name": "main", "image": kubernetesserver.Box.Name,
				"command":      []string{"sh", "-c", "touch " + begun + name},
				"volumeMounts": []any{system.Doc{"name": "machine", "mountPath": os.TempDir()}}}},
			"volumes": []any{system.Doc{"name": "machine", "hostPath": system.Doc{"path": os.TempDir()}}},
		}}), nil)
	}
	w.k.OK(t, "DELETE", pods+"/deleted", `{"gracePeriodSeconds":30}`, nil)
	node.Kubelet.Restart(t)
	w.Until("the deleted pod is gone, and the kept pod has run", func() string {
		gone := w.k.Call(t, "GET", pods+"/deleted", "", "")
		kept := w.k.Call(t, "GET", pods+"/kept", "", "")
		if gone.Status != http.StatusNotFound || !strings.Contains(kept.Body, `"phase":"Succeeded"`) {
			return gone.Body + kept.Body
		}
		return ""
	})
	if _, err := os.Stat(begun + "kept"); err != nil {
		t.Errorf("the kept pod has not begun: %v", err)
	}
	if _, err := os.Stat(begun + "deleted"); err == nil {
		t.Error("a pod that was deleted before its kubelet saw it has begun")
	}
}

// TestOnKubernetesFolderOfASandbox checks that /dev/shm keeps its files when a container of a pod is started again. In
// pods without a volume, a file there prevents a container that is started twice from starting its task twice.
func TestOnKubernetesFolderOfASandbox(t *testing.T) {
	w := onShared(t)
	w.k.OK(t, "POST", "/api/v1/namespaces/"+w.namespace+"/pods", w.json(system.Doc{
		"metadata": system.Doc{"name": "twice"},
		"spec": system.Doc{"nodeName": "node1", "restartPolicy": "OnFailure", "containers": []any{system.Doc{
			"name": "main", "image": kubernetesserver.Box.Name, "command": []string{"sh", "-c", "[ -e /dev/shm/begun ] && exit 0; touch /dev/shm/begun; exit 1"},
		}}},
	}), nil)
	w.Until("the pod succeeds at its second start", func() string {
		var p pod
		if w.k.OK(t, "GET", "/api/v1/namespaces/"+w.namespace+"/pods/twice", "", &p); p.Status.Phase != "Succeeded" {
			return p.Status.Phase
		}
		return ""
	})
}

package kubernetes_test

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesServerKilled kills the server while shards run: they go on, and the next one finds them.
func TestOnKubernetesServerKilled(t *testing.T) {
	w := onShared(t)
	w.serve()
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"shardingTotalCount": 3, "env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.Started(id, 3)
	w.Kill()
	w.serve()
	w.AwaitShards(id, "RUNNING")
	w.Kill()
	release() // they end while nobody looks
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

// nodeAway kills the kubelet and containerd of a node while a shard runs there: nothing is known of it, it goes on,
// and is found again.
func nodeAway(t *testing.T, w *world) {
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.Started(id, 1)
	node := w.k.Nodes[0]
	node.Kubelet.Kill()
	node.Containerd.Kill()
	w.Until("the node is not ready", func() string {
		if is := node.Ready(t); is == "True" {
			return "it is"
		}
		return ""
	})
	w.explained("j", "agent node1 does not answer")
	release()
	node.Containerd.Restart(t)
	node.Kubelet.Restart(t)
	w.Await(id, "FINISHED")
	w.OnceEach()
}

// TestOnKubernetesFolderOfASandbox: what keeps a container that is started twice from beginning its task twice, in pods without a volume, is a
// file of a folder that a pod's containers have in common with those that were there before.
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

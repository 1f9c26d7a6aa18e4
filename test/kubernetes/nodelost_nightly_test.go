//go:build nightly

package kubernetes_test

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesNodeLost kills the kubelet and the containerd of a node while a shard runs there. With failover the
// shard runs on the other node soon after Kubernetes has noticed the loss. The test logs how soon.
func TestOnKubernetesNodeLost(t *testing.T) {
	kubernetesserver.Require(t)
	t.Parallel()
	w := newWorld(t, startOwn(t, 2), singleServer)
	w.serve()
	path, release := w.Hold()
	w.App("a", system.Files{"bin/start.sh": system.Ledger}, nil)
	w.job("j", "a", system.Doc{"failover": true, "unreachableSeconds": 15, "env": map[string]string{"HOLD": path}})
	id := w.Trigger("j")
	w.AwaitStarts(id, 1)
	node := w.k.Nodes[0]
	if w.pods("j")[0].Spec.NodeName == "node2" {
		node = w.k.Nodes[1]
	}
	node.Kubelet.Kill()
	node.Containerd.Kill()
	w.Until("Kubernetes has noticed the loss", func() string {
		if is := node.Ready(t); is == "True" {
			return "the node is ready"
		}
		return ""
	})
	noticed := time.Now()
	w.AwaitStarts(id, 2)
	t.Logf("it runs elsewhere %s after Kubernetes has noticed the loss", time.Since(noticed).Round(100*time.Millisecond))
	release()
	if e := w.Await(id, "FINISHED"); e.Shards[0].Attempt != 2 {
		t.Errorf("%+v", e)
	}
	node.Containerd.Restart(t)
	node.Kubelet.Restart(t)
}

//go:build nightly

package kubernetes_test

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/child"
	"github.com/elasticjob-go/elasticjob/test/internal/network"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/kubernetesserver"
)

// TestOnKubernetesPartitions cuts nodes off at random moments and for random times: the kubelet from the API, the pods
// from the port for leases, both, or the whole node from everything. Each node has a network of its own. Two attempts
// of an exclusive shard never run at the same time, and in the end every shard runs and finishes.
func TestOnKubernetesPartitions(t *testing.T) {
	kubernetesserver.Require(t)
	ports, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	leases := ports[0]
	o, err := options(2)
	if err != nil {
		t.Fatal(err)
	}
	o.Networks = map[string]*network.Network{"node1": network.New(t, 101), "node2": network.New(t, 102)}
	w := newWorld(t, kubernetesserver.Start(t, o), singleServer)
	listen := fmt.Sprint("127.0.0.1:", leases)
	w.serve("--lease-listen", listen, "--lease-urls", "http://"+listen)
	beats := system.NewBeats(w.Machine)
	for n := range 5 {
		beats.Trigger(fmt.Sprintf("alone-%d", n), true)
		beats.Trigger(fmt.Sprintf("again-%d", n), false)
	}

	beats.Storm(12, o.Networks, []system.Partition{
		{Name: "its kubelet from the API", Cut: func(node string) { o.Networks[node].Cut(w.k.Port()) }},
		{Name: "its pods from the leases", Cut: func(node string) { o.Networks[node].Cut(leases) }},
		{Name: "from both", Cut: func(node string) { o.Networks[node].Cut(w.k.Port(), leases) }},
		{Name: "from everything", Cut: func(node string) { o.Networks[node].Cut() }},
	}, func() {
		for _, n := range w.k.Nodes {
			w.Until(n.Name+" is ready", func() string {
				if is := n.Ready(t); is != "True" {
					return "its condition Ready is " + is
				}
				return ""
			})
		}
	})
}

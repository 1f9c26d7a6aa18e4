//go:build nightly

package mesos_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// TestLeaderCutOff cuts the leader off from its cluster for 70 s: nothing passes, but no connection is closed. Each of
// 20 agents runs a shard whose executor may be silent for 15 s only. Because all executors are silent at the same time,
// the leader abandons no shard, and no shard runs twice.
func TestLeaderCutOff(t *testing.T) {
	const agents, cut = 20, 70 * time.Second
	onReal(t, system.Setup{Agents: agents, Resources: "cpus:1;mem:1024"}, func(t *testing.T, c *system.Cluster) {
		proxy := netproxy.Start(t, c.Mesos.MasterAddress(1))
		c.Masters = "http://" + proxy.Address()
		c.StartServers(1)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("everywhere", "held", system.Doc{"shardingTotalCount": agents, "cpuCount": 0.6, "failover": true,
			"unreachableSeconds": 15, "env": env("HOLD", path)})
		id := c.Trigger("everywhere")
		c.AwaitStarts(id, agents)
		c.Until("every executor has sent a heartbeat", func() string {
			var view struct {
				Executors []struct{ LastHeartbeat *time.Time }
			}
			c.Get("/api/cluster", &view)
			heard := 0
			for _, x := range view.Executors {
				if x.LastHeartbeat != nil {
					heard++
				}
			}
			if heard < agents {
				return fmt.Sprintf("%d have", heard)
			}
			return ""
		})
		proxy.Blackhole()
		time.Sleep(cut)
		proxy.Heal()
		c.Ready()
		time.Sleep(time.Minute) // after this time, the leader would have abandoned the shards
		for _, s := range c.AwaitShards(id, "RUNNING").Shards {
			if s.Attempt != 1 {
				t.Errorf("abandoned: %+v", s)
			}
		}
		release()
		c.Await(id, "FINISHED")
		if n := len(c.AwaitStarts(id, agents)); n != agents {
			t.Errorf("%d processes have started", n)
		}
	})
}

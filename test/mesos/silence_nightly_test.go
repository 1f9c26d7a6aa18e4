//go:build nightly

package mesos_test

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestSilentMachineByDefault kills an agent with all its executors, with the default settings of the server and of
// Mesos. The shard runs on the other agent. The test logs how long that takes.
func TestSilentMachineByDefault(t *testing.T) {
	onReal(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("again", "held", system.Doc{"failover": true, "env": env("HOLD", path)})
		id := c.Trigger("again")
		c.AwaitStarts(id, 1)
		agent := c.AwaitShards(id, "RUNNING").Shards[0].Agent
		awaitHeartbeat(c)
		n := 1
		if c.AgentID(2) == agent {
			n = 2
		}
		c.KillMachine(n)
		killed, heard := time.Now(), awaitHeartbeat(c)
		c.AwaitStarts(id, 2)
		t.Logf("it runs elsewhere %s after its machine was killed, and %s after the last heartbeat",
			time.Since(killed).Round(100*time.Millisecond), time.Since(heard).Round(100*time.Millisecond))
		release()
		if e := c.Await(id, "FINISHED"); e.Shards[0].Agent == agent || e.Shards[0].Attempt != 2 {
			t.Errorf("%+v", e)
		}
	})
}

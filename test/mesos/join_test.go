package mesos_test

import (
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestWorkerJoins starts an agent while a shard waits for room. The shard runs there as soon as the agent has
// registered.
func TestWorkerJoins(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		path, release := c.Hold()
		c.App("held", writes, nil)
		for _, name := range []string{"first", "second"} { // each takes more than half of an agent
			c.Job(name, "held", system.Doc{"cpuCount": 9, "env": env("HOLD", path)})
		}
		first := c.Trigger("first")
		c.AwaitStarts(first, 1)
		second := c.Trigger("second")
		c.AwaitShards(second, "WAITING")
		c.Mesos.StartAgent(2)
		c.Until("the agent has registered", func() string {
			if !c.Mesos.Registered(2) {
				return "it has not"
			}
			return ""
		})
		joined := time.Now()
		c.AwaitStarts(second, 1)
		t.Logf("the waiting shard runs %s after the agent has registered", time.Since(joined).Round(10*time.Millisecond))
		release()
		c.Await(first, "FINISHED")
		if e := c.Await(second, "FINISHED"); e.Shards[0].Agent != c.AgentID(2) {
			t.Errorf("%+v", e)
		}
	})
}

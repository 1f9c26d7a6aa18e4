package mesos_test

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestDaemonFailsOver: of a daemon on two agents one machine goes away. Its shards move to the other one, and with failover the run that was
// cut off is run again.
func TestDaemonFailsOver(t *testing.T) {
	both(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(2)
		c.AwaitLeader()
		hold, release := c.Hold()
		d := c.Daemon("held", system.Doc{"shardingTotalCount": 2, "cpuCount": 5, "failover": true, "misfire": true, "env": env("HOLD", hold)})
		before := d.AwaitRuns(1, nil)
		standing := d.Standing()
		if standing.Shards[0].Agent == standing.Shards[1].Agent {
			t.Fatalf("both shards are on one agent: %+v", standing)
		}
		c.Until("both runs are reported", func() string {
			for _, s := range d.Standing().Shards {
				if s.Daemon == nil || s.Daemon.Running == nil {
					return fmt.Sprintf("%+v", s)
				}
			}
			return ""
		})
		for _, pid := range c.Executors() {
			c.KillProcess(pid)
		}
		release()
		d.AwaitRuns(1, func(r system.DaemonRun) bool {
			for _, cut := range before {
				if r.Item == cut.Item && r.Fire == cut.Fire && r.Task != cut.Task && r.Source == "FAILOVER" {
					return true
				}
			}
			return false
		})
		d.AwaitRuns(3, nil)
		d.EachFireOnceBut(before)
	})
}

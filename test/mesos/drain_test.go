package mesos_test

import (
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestDrainedMachine drains the machine on which two shards of a daemon and a shard of an execution run. The daemon's
// shards move to another machine as soon as there is one. The execution's shard may finish. Then the drain is complete.
func TestDrainedMachine(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		d := c.Daemon("tick", system.Doc{"shardingTotalCount": 2})
		d.AwaitRuns(1, nil)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("once", "held", system.Doc{"env": env("HOLD", path)})
		once := c.Trigger("once")
		c.AwaitStarts(once, 1)
		from := c.AwaitShards(once, "RUNNING").Shards[0].Agent
		left := func() (n int, drained bool) {
			var view struct {
				Machines []struct {
					Cordon struct {
						Drain *struct {
							Drained   *string
							LeftTotal int
						}
					}
				}
			}
			c.Get("/api/cluster", &view)
			if len(view.Machines) != 1 || view.Machines[0].Cordon.Drain == nil {
				t.Fatalf("%+v", view)
			}
			drain := view.Machines[0].Cordon.Drain
			return drain.LeftTotal, drain.Drained != nil
		}

		c.OK("POST", "/api/agent/"+from+"/drain", `{"reason":"reboot"}`)
		if n, drained := left(); n != 3 || drained {
			t.Fatalf("%d are left, drained: %v", n, drained)
		}
		c.Mesos.StartAgent(2)
		c.Until("only the shard of the execution is left", func() string {
			if n, drained := left(); n != 1 || drained {
				return fmt.Sprintf("%d are left, drained: %v", n, drained)
			}
			return ""
		})
		for _, s := range c.AwaitShards(d.Standing().ExecutionID, "RUNNING").Shards {
			if s.Agent == from {
				t.Errorf("%+v is on the machine that is drained", s)
			}
		}
		release()
		if e := c.Await(once, "FINISHED"); e.Shards[0].Attempt != 1 || e.Shards[0].Agent != from {
			t.Errorf("the shard did not finish where it ran: %+v", e)
		}
		c.Until("the machine is drained", func() string {
			if n, drained := left(); n != 0 || !drained {
				return fmt.Sprintf("%d are left, drained: %v", n, drained)
			}
			return ""
		})
		last := d.Runs()
		d.AwaitRuns(2, func(r system.DaemonRun) bool { return len(last) > 0 && r.Fire > last[len(last)-1].Fire })
		for _, r := range d.Runs() {
			if r.Execution == "overlap" {
				t.Error("a run began while another run of its shard was in progress")
			}
		}
	})
}

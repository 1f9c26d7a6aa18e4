package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// TestMasterRestarted kills the master and the agents, and restarts them, with and without the master's memory: tasks
// keep running, and the server takes them over.
func TestMasterRestarted(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
	}{
		{"with its memory", nil},
		{"without its memory", []string{"--registry", "in_memory"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := start(t, 1, test.args...)
			hold, release := c.Hold()
			c.App("long", writes, nil)
			c.Job("long", "long", system.Doc{"shardingTotalCount": 2, "env": env("HOLD", hold)})
			id := c.Trigger("long")
			c.AwaitStarts(id, 2)
			c.AwaitShards(id, "RUNNING")
			storm := system.NewStorm(c.Machine)
			for range 2 {
				c.KillMesos()
				c.StartMesos()
				c.Ready()
				storm.Ask("again")
			}
			release()
			e := c.Await(id, "FINISHED")
			for _, s := range e.Shards {
				if s.Attempt != 1 {
					t.Errorf("%+v: want one attempt", s)
				}
			}
			t.Log(storm.Settle(false))
		})
	}
}

// TestCutFromMaster disturbs the connection between the server and the master in several ways: nothing is lost, and
// nothing runs twice.
func TestCutFromMaster(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, nil)
	proxy := netproxy.Start(t, c.MesosAddress())
	c.Masters = "http://" + proxy.Address()
	c.StartServers(1)
	storm := system.NewStorm(c.Machine)
	for i, cut := range []func(){
		proxy.Cut, proxy.HalfClose, proxy.HalfCloseToTarget, proxy.Blackhole,
		func() { proxy.DropAfter(4000) }, func() { proxy.DropAfter(0) },
		func() { proxy.Delay(300 * time.Millisecond) },
	} {
		storm.Ask(fmt.Sprint("before-", i))
		cut()
		storm.Ask(fmt.Sprint("while-", i))
		proxy.Heal()
		c.Ready()
	}
	t.Log(storm.Settle(false))
}

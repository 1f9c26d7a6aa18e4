package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// TestZooKeeperServersKilled kills and restarts each server of an ensemble of three: schedulers connect to another
// server of the ensemble and continue.
func TestZooKeeperServersKilled(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 3, nil)
	c.SessionTimeout *= 3 // long enough for an election of the ensemble
	c.StartServers(2)
	leader := c.AwaitLeader()
	storm := system.NewStorm(c.Machine)
	for i, server := range c.ZooKeepers {
		storm.Ask(fmt.Sprint("before-", i))
		server.Kill()
		c.Until("a trigger is accepted without the killed server", func() string {
			if !storm.Ask(fmt.Sprint("without-", i)) {
				return "not yet"
			}
			return ""
		})
		server.Restart()
	}
	c.AwaitLeader()
	t.Logf("the leader was %d: %s", leader, storm.Settle(false))
}

// TestCutFromZooKeeper disturbs the leader's connection with ZooKeeper. If nothing passes, the leader stops acting,
// another server leads, and the former leader becomes a standby when it is reconnected.
func TestCutFromZooKeeper(t *testing.T) {
	for _, test := range []struct {
		name    string
		cut     func(*netproxy.Proxy)
		deposes bool
	}{
		{"connections refused", (*netproxy.Proxy).Cut, true},
		{"nothing comes through", (*netproxy.Proxy).Blackhole, true},
		{"one direction is closed", (*netproxy.Proxy).HalfClose, false},
		{"slow", func(p *netproxy.Proxy) { p.Delay(100 * time.Millisecond) }, false},
		{"an answer is lost", func(p *netproxy.Proxy) { p.DropAfter(2000) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := system.NewCluster(t, bin, 1, nil)
			direct := c.ZK
			proxy := netproxy.Start(t, c.ZooKeepers[0].Address())
			c.ZK = proxy.Address()
			c.StartServer(1)
			c.AwaitLeader()
			c.ZK = direct
			c.StartServer(2)
			storm := system.NewStorm(c.Machine)
			test.cut(proxy)
			if test.deposes {
				c.AwaitLeader(1)
			} else {
				c.AwaitLeader() // it reconnects; either server may lead
			}
			storm.Ask("cut")
			proxy.Heal()
			c.Via(1)
			c.Ready()
			c.AwaitLeader()
			t.Log(storm.Settle(false))
		})
	}
}

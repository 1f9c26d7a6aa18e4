package mesos_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestExclusiveJob runs an exclusive shard. A change of the leader does not interrupt it. When its machine is frozen
// for longer than its lease, the shard runs on the other machine, and the frozen process is killed as soon as it
// continues. Without any server for longer than its lease, the shard is stopped, and runs again under the next server.
func TestExclusiveJob(t *testing.T) {
	both(t, system.Setup{Agents: 2, MissedPings: 1000}, func(t *testing.T, c *system.Cluster) {
		addresses := freeAddresses(t, 2)
		start := func(n int) {
			c.StartServer(n, "--lease-listen", addresses[n-1], "--lease-urls",
				"http://"+strings.Join(addresses, ",http://"))
		}
		start(1)
		start(2)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("alone", "held", system.Doc{"exclusive": true, "leaseSeconds": 10, "killGraceSeconds": 1,
			"timeoutSeconds": 600, "failover": true, "unreachableSeconds": 15, "env": env("HOLD", path)})
		id := c.Trigger("alone")
		c.AwaitStarts(id, 1)
		pid := func(attempt int) int {
			for _, e := range c.Ledger() {
				if e.What == "start" && e.Execution == id && e.Attempt == attempt {
					return e.PID
				}
			}
			t.Fatalf("attempt %d has not begun", attempt)
			return 0
		}
		awaitGone := func(attempt int) {
			c.Until(fmt.Sprintf("attempt %d is gone", attempt), func() string {
				if err := syscall.Kill(pid(attempt), 0); !errors.Is(err, syscall.ESRCH) {
					return fmt.Sprint(err)
				}
				return ""
			})
		}
		leader := c.AwaitLeader()
		c.KillServer(leader)
		c.AwaitLeader(leader)
		awaitHeartbeat(c)

		shard := c.AwaitShards(id, "RUNNING").Shards[0]
		if shard.Attempt != 1 {
			t.Fatalf("the shard was lost with the leader: %+v", shard)
		}
		n := 1
		if c.AgentID(2) == shard.Agent {
			n = 2
		}
		frozen := time.Now()
		thaw := c.FreezeMachine(n)
		c.AwaitStarts(id, 2)
		t.Logf("it runs elsewhere %s after its machine was frozen", time.Since(frozen).Round(100*time.Millisecond))
		thaw()
		awaitGone(1)

		stopped := time.Now()
		c.KillServer(3 - leader)
		awaitGone(2)
		t.Logf("the shard was stopped %s after the last server", time.Since(stopped).Round(100*time.Millisecond))
		start(leader)
		c.AwaitLeader()
		c.AwaitStarts(id, 3)
		release()
		if e := c.Await(id, "FINISHED"); e.Shards[0].Attempt != 3 {
			t.Errorf("%+v", e)
		}
	})
}

// TestExclusiveJobByMessages runs an exclusive shard whose executor reaches no server by HTTP. Messages of Mesos renew
// its lease.
func TestExclusiveJobByMessages(t *testing.T) {
	onReal(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServer(1, "--lease-urls", "http://"+freeAddresses(t, 1)[0])
		c.AwaitLeader()
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("alone", "held", system.Doc{"exclusive": true, "leaseSeconds": 10, "env": env("HOLD", path)})
		id := c.Trigger("alone")
		began := time.Now()
		c.AwaitStarts(id, 1)
		c.Until("it has run for longer than two leases", func() string {
			if ran := time.Since(began); ran < 25*time.Second {
				return ran.String()
			}
			return ""
		})
		release()
		if e := c.Await(id, "FINISHED"); e.Shards[0].Attempt != 1 {
			t.Errorf("%+v", e)
		}
	})
}

// freeAddresses returns addresses of this machine at which nothing listens now.
func freeAddresses(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

package mesos_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestSilentMachine kills an agent with all its executors. The master does not notice it, because it tolerates many
// missed pings. The server does, because the executors are silent: with failover the shard runs on the other agent;
// without failover it is lost, and the job's next execution runs on the other agent. Operators are notified.
func TestSilentMachine(t *testing.T) {
	both(t, system.Setup{Agents: 2, MissedPings: 1000}, func(t *testing.T, c *system.Cluster) {
		notified := operators(c)
		c.StartServers(1, "--notify-file", notified.file)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("again", "held", system.Doc{"failover": true, "unreachableSeconds": 15, "env": env("HOLD", path)})
		c.Job("once", "held", system.Doc{"unreachableSeconds": 15, "env": env("HOLD", path)})
		again, once := c.Trigger("again"), c.Trigger("once")
		c.AwaitStarts(again, 1)
		c.AwaitStarts(once, 1)
		agent := c.AwaitShards(again, "RUNNING").Shards[0].Agent
		if other := c.AwaitShards(once, "RUNNING").Shards[0].Agent; other != agent {
			t.Fatalf("the shards run on %s and %s", agent, other)
		}
		awaitHeartbeat(c)
		n := 1
		if c.AgentID(2) == agent {
			n = 2
		}
		c.KillMachine(n)
		killed := time.Now()
		if e := c.Await(once, "FAILED"); e.Shards[0].State != "LOST" {
			t.Errorf("without failover: %+v", e)
		}
		c.AwaitStarts(again, 2)
		t.Logf("it runs elsewhere %s after its machine was killed", time.Since(killed).Round(100*time.Millisecond))
		next := c.Trigger("once")
		c.AwaitStarts(next, 1)
		release()
		if e := c.Await(again, "FINISHED"); e.Shards[0].Agent == agent || e.Shards[0].Attempt != 2 {
			t.Errorf("with failover: %+v", e)
		}
		c.Await(next, "FINISHED")
		notified.await(c, "machine_silent")
		var overview struct {
			Problems []struct{ Kind, Agent string }
		}
		c.Get("/api/overview", &overview)
		if !slices.ContainsFunc(overview.Problems, func(p struct{ Kind, Agent string }) bool {
			return p.Kind == "AGENT_UNREACHABLE" && p.Agent == agent
		}) {
			t.Errorf("the overview has %+v", overview.Problems)
		}
	})
}

// operatorNotices collects the notices that a webhook for operators gets.
type operatorNotices struct {
	file string // for --notify-file
	mu   sync.Mutex
	list []struct{ Code, Message string }
}

// operators starts a webhook for operators.
func operators(c *system.Cluster) *operatorNotices {
	c.Helper()
	o := &operatorNotices{file: filepath.Join(c.TempDir(), "notify.json")}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			Notices []struct{ Code, Message string }
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			c.Errorf("a message to operators: %v", err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list = append(o.list, body.Notices...)
	}))
	c.Cleanup(hook.Close)
	settings := fmt.Sprintf(`{"jobErrorHandlerType":"WEBHOOK","props":{"webhook.url":%q}}`, hook.URL)
	if err := os.WriteFile(o.file, []byte(settings), 0o600); err != nil {
		c.Fatal(err)
	}
	return o
}

// await waits until operators were notified with a code.
func (o *operatorNotices) await(c *system.Cluster, code string) {
	c.Helper()
	c.Until("operators are notified", func() string {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, n := range o.list {
			if n.Code == code {
				return ""
			}
		}
		return fmt.Sprintf("%+v", o.list)
	})
}

// TestSilentMachineWithItsMaster kills an agent with all its executors, and the leading master. The next master would
// wait for the agent for minutes. The server does not, because the executors are silent.
func TestSilentMachineWithItsMaster(t *testing.T) {
	both(t, system.Setup{Masters: 3, Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("again", "held", system.Doc{"failover": true, "unreachableSeconds": 15, "env": env("HOLD", path)})
		again := c.Trigger("again")
		c.AwaitStarts(again, 1)
		agent := c.AwaitShards(again, "RUNNING").Shards[0].Agent
		awaitHeartbeat(c)
		n := 1
		if c.AgentID(2) == agent {
			n = 2
		}
		leader := c.LeadingMaster()
		killed := time.Now()
		c.Mesos.KillMaster(leader)
		c.KillMachine(n)
		c.ReplaceMaster(leader)
		c.AwaitStarts(again, 2)
		t.Logf("it runs elsewhere %s after its machine and the master were killed",
			time.Since(killed).Round(100*time.Millisecond))
		release()
		if e := c.Await(again, "FINISHED"); e.Shards[0].Agent == agent || e.Shards[0].Attempt != 2 {
			t.Errorf("%+v", e)
		}
	})
}

// TestSilentMachineIsBack freezes all processes of a machine for longer than they may be silent. The shard without
// failover is lost. The shard with failover waits, because there is no other agent. When the processes continue, the
// server takes both tasks back, and their ends count.
func TestSilentMachineIsBack(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		path, release := c.Hold()
		c.App("held", writes, nil)
		c.Job("again", "held", system.Doc{"failover": true, "unreachableSeconds": 15, "env": env("HOLD", path)})
		c.Job("once", "held", system.Doc{"unreachableSeconds": 15, "env": env("HOLD", path)})
		again, once := c.Trigger("again"), c.Trigger("once")
		c.AwaitStarts(again, 1)
		c.AwaitStarts(once, 1)
		awaitHeartbeat(c)
		thaw := c.FreezeMachine(1)
		if e := c.Await(once, "FAILED"); e.Shards[0].State != "LOST" {
			t.Errorf("without failover: %+v", e)
		}
		c.AwaitShards(again, "WAITING")
		thaw()
		c.AwaitShards(once, "RUNNING")
		c.AwaitShards(again, "RUNNING")
		release()
		for _, id := range []string{again, once} {
			if e := c.Await(id, "FINISHED"); e.Shards[0].Attempt != 1 {
				t.Errorf("%+v", e)
			}
			c.AwaitStarts(id, 1)
		}
	})
}

// awaitHeartbeat waits until the only executor has sent a heartbeat, and returns when it sent the last one.
func awaitHeartbeat(c *system.Cluster) (last time.Time) {
	c.Helper()
	c.Until("the executor has sent a heartbeat", func() string {
		var view struct {
			Executors []struct{ LastHeartbeat *time.Time }
		}
		c.Get("/api/cluster", &view)
		if len(view.Executors) != 1 || view.Executors[0].LastHeartbeat == nil {
			return fmt.Sprintf("%+v", view)
		}
		last = *view.Executors[0].LastHeartbeat
		return ""
	})
	return last
}

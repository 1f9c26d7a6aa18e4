package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// twoAgents returns a cluster whose agents are separate processes. Agent 1 connects through a proxy.
func twoAgents(t *testing.T) (*system.Cluster, *netproxy.Proxy) {
	t.Helper()
	t.Parallel()
	c := system.NewCluster(t, bin, 1, system.LocalFlags{"--agents", "0"})
	proxy := netproxy.Start(t, c.MesosAddress())
	c.StartAgent(1, "http://"+proxy.Address())
	c.StartAgent(2, c.MesosURL())
	c.StartServers(1)
	return c, proxy
}

// agentOf returns the number of the agent on which a process runs, by its working directory.
func agentOf(c *system.Cluster, pid int) int {
	c.Helper()
	cwd, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(pid), "cwd"))
	if err != nil {
		c.Fatal(err)
	}
	if strings.HasPrefix(cwd, c.AgentDir(1)) {
		return 1
	}
	return 2
}

// TestAgentRestarted kills the agents and restarts them while their executors run: executors and tasks keep running.
func TestAgentRestarted(t *testing.T) {
	c, proxy := twoAgents(t)
	h := c.StartHeldJobs()
	for n := 1; n <= 2; n++ {
		c.KillAgent(n)
	}
	c.StartAgent(1, "http://"+proxy.Address())
	c.StartAgent(2, c.MesosURL())
	h.Release()
	for _, id := range []string{h.Again, h.Once} {
		for _, s := range c.Await(id, "FINISHED").Shards {
			if s.Attempt != 1 {
				t.Errorf("%+v: want one attempt", s)
			}
		}
	}
	c.OnceEach()
}

// TestAgentCutOff disconnects an agent from its master until it is unreachable, and reconnects it: its tasks are
// reported as running, and none of their shards starts a second time, because the agent is back before the time of rule
// E4.
func TestAgentCutOff(t *testing.T) {
	for _, test := range []struct {
		name string
		cut  func(*netproxy.Proxy)
	}{
		{"connections refused", (*netproxy.Proxy).Cut},
		{"nothing comes through", (*netproxy.Proxy).Blackhole},
		{"half closed", (*netproxy.Proxy).HalfClose},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, proxy := twoAgents(t)
			c.KillAgent(2) // so that everything runs on agent 1
			h := c.StartHeldJobs()
			test.cut(proxy)
			if test.name != "half closed" { // in that case the agent notices it at once and reconnects
				c.Until("explain says that the agent has not answered", func() string {
					x := c.Explain("once")
					if !strings.Contains(fmt.Sprint(x.Notes), "has not answered") {
						return fmt.Sprintf("%+v", x)
					}
					return ""
				})
			}
			proxy.Heal()
			c.Until("the tasks run again", func() string {
				for _, id := range []string{h.Again, h.Once} {
					for _, s := range c.Execution(id).Shards {
						if s.State != "RUNNING" || s.Attempt != 1 {
							return fmt.Sprintf("%+v", s)
						}
					}
				}
				if x := c.Explain("once"); strings.Contains(fmt.Sprint(x.Notes), "has not answered") {
					return fmt.Sprintf("%+v", x)
				}
				return ""
			})
			h.Release()
			c.Await(h.Again, "FINISHED")
			c.Await(h.Once, "FINISHED")
			c.OnceEach()
		})
	}
}

// TestAgentGone kills an agent with everything that ran there, and marks it gone. Shards with failover run again on the
// other agent. Shards without failover become LOST, with a reason (rule E2).
func TestAgentGone(t *testing.T) {
	c, _ := twoAgents(t)
	c.KillAgent(2)
	h := c.StartHeldJobs()
	c.StartAgent(2, c.MesosURL())
	c.KillAgent(1)
	for _, p := range c.Processes() {
		if strings.Contains(p.Command, "executor") && c.Machine.Lives(p.PID) {
			c.KillProcess(p.PID)
		}
	}
	c.Until("no task runs any more", func() string {
		for _, e := range h.Starts {
			if c.Machine.Lives(e.PID) {
				return fmt.Sprintf("%+v", e)
			}
		}
		return ""
	})
	var agents struct {
		GetAgents struct {
			Agents []struct {
				Active    bool
				AgentInfo struct {
					ID struct{ Value string }
				} `json:"agent_info"`
			}
		} `json:"get_agents"`
	}
	c.Until("the master knows that the agent is inactive", func() string {
		if err := json.Unmarshal([]byte(c.Operate(`{"type":"GET_AGENTS"}`)), &agents); err != nil {
			t.Fatal(err)
		}
		for _, a := range agents.GetAgents.Agents {
			if !a.Active {
				return ""
			}
		}
		return fmt.Sprintf("%+v", agents)
	})
	for _, a := range agents.GetAgents.Agents {
		if !a.Active {
			c.Operate(`{"type":"MARK_AGENT_GONE","mark_agent_gone":{"agent_id":{"value":"` + a.AgentInfo.ID.Value +
				`"}}}`)
		}
	}
	for _, s := range c.Await(h.Once, "FAILED").Shards {
		if s.State != "LOST" || s.FailureCause == "" || s.Attempt != 1 {
			t.Errorf("without failover: %+v, want LOST and why", s)
		}
	}
	for _, e := range c.AwaitStarts(h.Again, 4)[2:] {
		if n := agentOf(c, e.PID); n != 2 {
			t.Errorf("%+v runs on agent %d", e, n)
		}
	}
	h.Release()
	c.Await(h.Again, "FINISHED")
	c.Ran()
}

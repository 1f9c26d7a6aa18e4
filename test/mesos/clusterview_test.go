package mesos_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestTheClusterIsShownAsTheMasterHasIt: GET /api/cluster reports the agents and their used resources as the master
// does.
func TestTheClusterIsShownAsTheMasterHasIt(t *testing.T) {
	onReal(t, system.Setup{Agents: 2, MissedPings: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		hold, release := c.Hold()
		c.App("app", writes, system.Doc{"cpuCount": 0.5, "memoryMB": 32})
		c.Job("wide", "app", system.Doc{"shardingTotalCount": 3, "cpuCount": 3, "memoryMB": 100,
			"env": env("HOLD", hold)})
		id := c.Trigger("wide")
		c.AwaitStarts(id, 3)
		c.Until("both agents are shown as the master has them", func() string {
			shown, had := shownAgents(t, c), masterAgents(t, c)
			if len(shown) != 2 || fmt.Sprint(shown) != fmt.Sprint(had) {
				return fmt.Sprintf("shown %v, the master has %v", shown, had)
			}
			return ""
		})
		used := 1
		if shownAgents(t, c)[c.AgentID(1)].usedCPUs == 0 {
			used = 2
		}
		lost := c.AgentID(used)
		c.Mesos.KillAgent(used)
		c.AwaitAgentInactive(used)
		c.Until("the lost agent is shown as unreachable",
			func() string { return differs(stateOf(t, c, lost), "UNREACHABLE") })
		c.Mesos.StartAgent(used)
		c.Until("the agent is shown as registered again",
			func() string { return differs(stateOf(t, c, lost), "REGISTERED") })
		release()
		c.Await(id, "FINISHED")
	})
}

// differs returns "" if got is want, and otherwise got.
func differs(got, want string) string {
	if got == want {
		return ""
	}
	return got
}

// usage is the size and the use of an agent.
type usage struct{ cpus, usedCPUs, memory, usedMemory float64 }

// view contains the fields of GET /api/cluster that the test checks.
type view struct {
	Agents []struct {
		ID       string
		State    *string
		CPUs     struct{ Total, Used float64 }
		MemoryMB struct{ Total, Used float64 }
	}
}

func clusterView(t *testing.T, c *system.Cluster) (v view) {
	t.Helper()
	c.Get("/api/cluster", &v)
	return v
}

func shownAgents(t *testing.T, c *system.Cluster) map[string]usage {
	t.Helper()
	all := map[string]usage{}
	for _, a := range clusterView(t, c).Agents {
		all[a.ID] = usage{a.CPUs.Total, a.CPUs.Used, a.MemoryMB.Total, a.MemoryMB.Used}
	}
	return all
}

func stateOf(t *testing.T, c *system.Cluster, id string) string {
	t.Helper()
	for _, a := range clusterView(t, c).Agents {
		if a.ID == id && a.State != nil {
			return *a.State
		}
	}
	return "not known"
}

// masterAgents returns the size and the use of the agents as the master reports them.
func masterAgents(t *testing.T, c *system.Cluster) map[string]usage {
	t.Helper()
	type amount []struct {
		Name   string
		Scalar struct{ Value float64 }
	}
	var answer struct {
		Agents struct {
			Agents []struct {
				Info      struct{ ID struct{ Value string } } `json:"agent_info"`
				Total     amount                              `json:"total_resources"`
				Allocated amount                              `json:"allocated_resources"`
				Offered   amount                              `json:"offered_resources"`
			}
		} `json:"get_agents"`
	}
	body := c.Operate(`{"type":"GET_AGENTS"}`)
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	sum := func(of amount, name string) (n float64) {
		for _, r := range of {
			if r.Name == name {
				n += r.Scalar.Value
			}
		}
		return n
	}
	all := map[string]usage{}
	for _, a := range answer.Agents.Agents {
		all[a.Info.ID.Value] = usage{sum(a.Total, "cpus"), sum(a.Allocated, "cpus") - sum(a.Offered, "cpus"),
			sum(a.Total, "mem"), sum(a.Allocated, "mem") - sum(a.Offered, "mem")}
	}
	return all
}

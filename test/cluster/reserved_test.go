package cluster_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestL7ReservedResourcesAreUsedFirst runs a shard that needs more than is reserved for its role, and more than is not:
// it gets all of the one, reserved statically and by an operator, and some of the other, and gives all back.
func TestL7ReservedResourcesAreUsedFirst(t *testing.T) {
	t.Parallel()
	c := system.NewCluster(t, bin, 1, system.LocalFlags{"--reserved", "cpus(batch):1.5;mem(batch):256"})
	c.StartServer(1, "--mesos-role", "batch", "--executor-idle", "0")
	c.AwaitLeader()
	c.Ready()
	c.Operate(fmt.Sprintf(`{"type":"RESERVE_RESOURCES","reserve_resources":{"agent_id":{"value":%q},"resources":[{"name":"cpus","type":"SCALAR",`+
		`"scalar":{"value":0.25},"reservations":[{"type":"DYNAMIC","role":"batch","labels":{"labels":[{"key":"of","value":"ops"}]}}]}]}}`, firstAgent(t, c).Info.ID.Value))
	hold, release := c.Hold()
	c.App("long", writes, system.Doc{"cpuCount": 0.5, "memoryMB": 32})
	c.Job("long", "long", system.Doc{"cpuCount": c.CPUs + 0.5, "memoryMB": 240, "env": env("HOLD", hold)})
	id := c.Trigger("long")
	c.Started(id, 1)
	want := []string{fmt.Sprintf("cpus(*):%v", c.CPUs-0.75), "cpus(batch ops):0.25", "cpus(batch):1.5", "mem(*):16", "mem(batch):256"}
	if got := allocated(t, c); !slices.Equal(got, want) {
		t.Errorf("while it runs %q is allocated, want %q", got, want)
	}
	release()
	c.Await(id, "FINISHED")
	c.Until("all is given back", func() string { return strings.Join(allocated(t, c), " ") })
}

// agentView is what GET_AGENTS says of an agent.
type agentView struct {
	Info struct {
		ID struct{ Value string }
	} `json:"agent_info"`
	Allocated []struct {
		Name, Role  string
		Scalar      *struct{ Value float64 }
		Reservation struct {
			Labels struct{ Labels []struct{ Value string } }
		}
	} `json:"allocated_resources"`
}

// firstAgent is the only agent of the cluster, once it has registered.
func firstAgent(t *testing.T, c *system.Cluster) (out agentView) {
	t.Helper()
	c.Until("the agent has registered", func() string {
		var answer struct {
			Agents struct{ Agents []agentView } `json:"get_agents"`
		}
		body := c.Operate(`{"type":"GET_AGENTS"}`)
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Agents.Agents) != 1 {
			return fmt.Sprintf("%s: %v", body, err)
		}
		out = answer.Agents.Agents[0]
		return ""
	})
	return out
}

// allocated is what tasks and executors have of the agent, by the master's account.
func allocated(t *testing.T, c *system.Cluster) []string {
	t.Helper()
	var out []string
	for _, r := range firstAgent(t, c).Allocated {
		if r.Scalar == nil {
			continue
		}
		for _, l := range r.Reservation.Labels.Labels {
			r.Role += " " + l.Value
		}
		out = append(out, fmt.Sprintf("%s(%s):%v", r.Name, r.Role, r.Scalar.Value))
	}
	slices.Sort(out)
	return out
}

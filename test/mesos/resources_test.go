package mesos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestL7ReservedResourcesAreUsedFirst runs a shard that needs more than the reserved and more than the unreserved
// resources. It gets all of the reserved ones, both static and dynamic, and some of the unreserved, and releases all
// of them.
func TestL7ReservedResourcesAreUsedFirst(t *testing.T) {
	onReal(t, system.Setup{Agents: 1, Resources: "cpus:16;mem:8192;disk:10000;cpus(batch):1.5;mem(batch):256"},
		func(t *testing.T, c *system.Cluster) {
			c.StartServers(1, "--mesos-role", "batch", "--executor-idle", "0")
			c.AwaitLeader()
			c.Operate(fmt.Sprintf(`{"type":"RESERVE_RESOURCES","reserve_resources":{"agent_id":{"value":%q},"resources":[{"name":"cpus","type":"SCALAR",`+
				`"scalar":{"value":0.25},"reservations":[{"type":"DYNAMIC","role":"batch","labels":{"labels":[{"key":"of","value":"ops"}]}}]}]}}`, c.AgentID(1)))
			hold, release := c.Hold()
			c.App("long", writes, system.Doc{"cpuCount": 0.5, "memoryMB": 32})
			c.Job("long", "long", system.Doc{"cpuCount": 16.5, "memoryMB": 240, "env": env("HOLD", hold)})
			id := c.Trigger("long")
			c.AwaitStarts(id, 1)
			want := []string{"cpus(*):15.25", "cpus(batch ops):0.25", "cpus(batch):1.5", "mem(*):16", "mem(batch):256"}
			if got := allocated(t, c); !slices.Equal(got, want) {
				t.Errorf("while it runs %q is allocated, want %q", got, want)
			}
			release()
			c.Await(id, "FINISHED")
			c.Until("all resources are released", func() string { return strings.Join(allocated(t, c), " ") })
		})
}

// allocated returns the resources of the only agent that tasks and executors use, as the master reports them.
func allocated(t *testing.T, c *system.Cluster) []string {
	t.Helper()
	var answer struct {
		Agents struct {
			Agents []struct {
				Allocated []struct {
					Name         string
					Scalar       *struct{ Value float64 }
					Reservations []struct {
						Role   string
						Labels struct{ Labels []struct{ Value string } }
					}
				} `json:"allocated_resources"`
			}
		} `json:"get_agents"`
	}
	body := c.Operate(`{"type":"GET_AGENTS"}`)
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Agents.Agents) != 1 {
		t.Fatalf("%s: %v", body, err)
	}
	var out []string
	for _, r := range answer.Agents.Agents[0].Allocated {
		if r.Scalar == nil || r.Scalar.Value == 0 {
			continue
		}
		role := "*"
		for _, reserved := range r.Reservations {
			role = reserved.Role
			for _, l := range reserved.Labels.Labels {
				role += " " + l.Value
			}
		}
		out = append(out, fmt.Sprintf("%s(%s):%v", r.Name, role, r.Scalar.Value))
	}
	slices.Sort(out)
	return out
}

// TestMaintenance: no new shard is placed on an agent with scheduled maintenance.
func TestMaintenance(t *testing.T) {
	onReal(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		c.Operate(`{"type":"UPDATE_MAINTENANCE_SCHEDULE","update_maintenance_schedule":{"schedule":{"windows":[{"machine_ids":[{"hostname":"127.0.0.2","ip":"127.0.0.2"}],"unavailability":{"start":{"nanoseconds":1}}}]}}}`)
		path, release := c.Hold()
		c.App("placed", writes, nil)
		c.Job("placed", "placed", system.Doc{"shardingTotalCount": 3, "cpuCount": 4, "env": env("HOLD", path)})
		c.Job("waits", "placed", system.Doc{"shardingTotalCount": 2, "cpuCount": 4, "env": env("HOLD", path)})
		for _, e := range c.AwaitStarts(c.Trigger("placed"), 3) {
			cwd, err := os.Readlink(filepath.Join("/proc", fmt.Sprint(e.PID), "cwd"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(cwd, c.Mesos.AgentDir(1)) {
				t.Errorf("%+v runs on the agent in maintenance", e)
			}
		}
		id := c.Trigger("waits")
		c.Until("explain says that an agent is in maintenance", func() string {
			x := c.Explain("waits")
			if len(x.Waiting) == 0 || !strings.Contains(x.Waiting[0].Reason, "maintenance") {
				return fmt.Sprintf("%+v", x)
			}
			return ""
		})
		release()
		c.Await(id, "FINISHED")
	})
}

package mesos_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestFrameworkRemoved: an operator removes the framework. Its tasks end and count as lost, and the servers continue
// with a new framework id.
func TestFrameworkRemoved(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(2)
		c.AwaitLeader()
		h := c.StartHeldJobs()
		before := c.Node("/ha/framework_id")
		c.Operate(`{"type":"TEARDOWN","teardown":{"framework_id":{"value":"` + before + `"}}}`)
		for _, s := range c.Await(h.Once, "FAILED").Shards {
			if s.State != "LOST" || s.FailureCause == "" {
				t.Errorf("%+v: want LOST, and why", s)
			}
		}
		c.Until("its processes end", func() string {
			for _, e := range h.Starts {
				if c.Machine.Lives(e.PID) {
					return fmt.Sprintf("%+v", e)
				}
			}
			return ""
		})
		c.AwaitLeader()
		if after := c.Node("/ha/framework_id"); after == "" || after == before {
			t.Errorf("the framework id is %q after %q", after, before)
		}
		c.Job("new", "held", nil)
		c.Run("new", "FINISHED")
		h.Release()
		// Only an operator knows immediately that the tasks of the former framework have ended.
		for _, s := range c.Execution(h.Again).Shards {
			if s.State != "WAITING" {
				t.Errorf("%+v: want it to wait until its former attempt is known to have ended", s)
			}
		}
		for _, p := range c.Explain("again").Waiting {
			if p.Reason == "" {
				t.Errorf("%+v: want the reason", p)
			}
		}
		c.Ran()
	})
}

// TestTasksOfAnotherFramework: a server whose framework id was registered by another scheduler kills that scheduler's
// tasks before it launches anything.
func TestTasksOfAnotherFramework(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		h := c.StartHeldJobs()
		c.KillServer(1)
		c.RemoveNode("/registry") // without its records, the server takes the id and the tasks for another scheduler's
		c.StartServer(1)
		c.AwaitLeader()
		c.Job("new", "held", nil)
		c.Run("new", "FINISHED")
		for _, e := range h.Starts {
			if c.Machine.Lives(e.PID) {
				t.Errorf("a run was launched while process %d of %+v lived", e.PID, e)
			}
		}
		h.Release()
	})
}

// TestCredentialsAndRole: jobs run with credentials and a role. With a wrong secret, or a role that the cluster
// lacks, the server says so and prints no secret. cluster/local accepts all roles.
func TestCredentialsAndRole(t *testing.T) {
	setup := system.Setup{Agents: 1, Credentials: true, MasterArgs: []string{"--roles=team"}}
	both(t, setup, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1, "--mesos-role", "team")
		c.App("a", writes, nil)
		c.Job("j", "a", system.Doc{"shardingTotalCount": 2})
		c.Run("j", "FINISHED")
		c.KillServer(1)

		refused := func(words []string, args ...string) {
			t.Helper()
			c.StartServer(1, args...)
			c.Unready(words...)
			if strings.Contains(c.ServerLog(1), "-secret") {
				t.Error("the log shows the secret")
			}
			c.KillServer(1)
		}
		refused([]string{"--mesos-credentials-file"}, "--mesos-role", "team", "--mesos-credentials-file",
			c.Secret("wrong", "elasticjob wrong-secret"))
		if c.Kind() == system.Real {
			refused([]string{"role"}, "--mesos-role", "others")
		}

		c.StartServer(1, "--mesos-role", "team")
		c.AwaitLeader()
		c.Run("j", "FINISHED")
		c.OnceEach()
	})
}

// TestReserved: resources reserved for the framework's role are used.
func TestReserved(t *testing.T) {
	onReal(t, system.Setup{Agents: 1, Resources: "cpus:0.2;mem:64;disk:1000;cpus(team):2;mem(team):1024"},
		func(t *testing.T, c *system.Cluster) {
			c.StartServers(1, "--mesos-role", "team")
			c.App("a", writes, nil)
			c.Job("j", "a", system.Doc{"shardingTotalCount": 2, "cpuCount": 0.8, "memoryMB": 256})
			c.Run("j", "FINISHED")
			c.OnceEach()
		})
}

// TestOffersAreGivenBack: while no shard waits and no fire is near, the framework holds no offer.
func TestOffersAreGivenBack(t *testing.T) {
	onReal(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		c.App("a", writes, nil)
		c.Job("j", "a", nil)
		c.Job("nightly", "a", system.Doc{"cron": "0 0 3 1 1 ?"})
		c.Run("j", "FINISHED")
		c.Until("no offer is held", func() string {
			text := c.Operate(`{"type":"GET_FRAMEWORKS"}`)
			var said struct {
				GetFrameworks struct {
					Frameworks []struct {
						Active           bool
						OfferedResources []json.RawMessage `json:"offered_resources"`
					}
				} `json:"get_frameworks"`
			}
			if err := json.Unmarshal([]byte(text), &said); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if all := said.GetFrameworks.Frameworks; len(all) != 1 || !all[0].Active ||
				len(all[0].OfferedResources) > 0 {
				return text
			}
			return ""
		})
		c.OnceEach()
	})
}

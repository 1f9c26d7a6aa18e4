package mesos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
	"github.com/elasticjob-go/elasticjob/test/netproxy"
)

// reason is an outcome that a user may encounter: how to cause it, and what the user reads.
type reason struct {
	name string
	// realOnly is set if cluster/local cannot cause it.
	realOnly bool
	setup    system.Setup
	memory   bool                        // agents limit memory
	server   func(t *testing.T) []string // flags of the server
	// provoke causes the outcome and returns the id of the execution.
	provoke func(t *testing.T, c *system.Cluster) string
	state   string   // of each shard
	cause   []string // words in each shard's failureCause
	explain string   // words in the explanation of the job "once" before its execution ends
}

var reasons = []reason{
	{
		name: "executor killed", state: "LOST", cause: []string{"EXECUTOR_TERMINATED"},
		provoke: func(_ *testing.T, c *system.Cluster) string {
			h := c.StartHeldJobs()
			for _, pid := range c.Executors() {
				c.KillProcess(pid)
			}
			return h.Once
		},
	},
	{
		name: "executor ends at its start", state: "FAILED", cause: []string{"did not start, 5 times",
			"EXECUTOR_TERMINATED"}, explain: "failed to start",
		server:  func(t *testing.T) []string { return []string{"--executor-dir", executorDir(t, "exit 7")} },
		provoke: runOnce,
	},
	{
		name: "executor never registers", state: "FAILED", cause: []string{"did not start, 5 times",
			"EXECUTOR_REGISTRATION_TIMEOUT"}, explain: "failed to start",
		// The timeout starts before the fetch, which takes two seconds on a busy machine.
		realOnly: true, setup: system.Setup{AgentArgs: []string{"--executor_registration_timeout=5secs",
			"--executor_shutdown_grace_period=1secs"}},
		server:  func(t *testing.T) []string { return []string{"--executor-dir", executorDir(t, "exec sleep 1000")} },
		provoke: runOnce,
	},
	{
		name: "executor can't be fetched", state: "FAILED", cause: []string{"did not start, 5 times",
			"CONTAINER_LAUNCH_FAILED", "fetch"}, explain: "failed to start",
		server:  func(*testing.T) []string { return []string{"--advertise", "127.0.0.1:9"} },
		provoke: runOnce,
	},
	{
		name: "no such user", state: "FAILED", cause: []string{"did not start, 5 times", "no-such-user"},
		realOnly: true, setup: system.Setup{AgentArgs: []string{"--switch_user"}},
		server:  func(*testing.T) []string { return []string{"--mesos-user", "no-such-user"} },
		provoke: runOnce,
	},
	{
		// The kernel kills the process, and the agent its container. On a busy machine the executor may report the
		// process first.
		name: "over the memory limit", state: "FAILED", cause: []string{"memory", "limit of", "container"},
		realOnly: true, memory: true,
		provoke: func(_ *testing.T, c *system.Cluster) string {
			c.App("a", only("exec tail /dev/zero"), nil) // tail keeps its only line in memory, which never ends
			c.Job("once", "a", nil)
			return c.Trigger("once")
		},
	},
	{
		name: "package can't be fetched", state: "FAILED", cause: []string{"/none.tar", "404"},
		provoke: func(_ *testing.T, c *system.Cluster) string {
			c.App("none", nil, nil)
			c.Job("once", "none", nil)
			return c.Trigger("once")
		},
	},
	{
		name: "user may not run tasks", state: "FAILED", cause: []string{"TASK_UNAUTHORIZED", "uthorized"},
		realOnly: true, setup: system.Setup{MasterArgs: []string{`--acls={"run_tasks":[{"principals":{"type":"ANY"},"users":{"type":"NONE"}}]}`}},
		provoke: runOnce,
	},
	{
		name: "agent marked gone", state: "LOST", cause: []string{"GONE_BY_OPERATOR"},
		provoke: func(_ *testing.T, c *system.Cluster) string {
			h := c.StartHeldJobs()
			c.Operate(`{"type":"MARK_AGENT_GONE","mark_agent_gone":{"agent_id":{"value":"` + c.AgentID(1) + `"}}}`)
			return h.Once
		},
	},
	{
		name: "agent drained", state: "LOST", cause: []string{"DRAIN"}, realOnly: true,
		provoke: func(_ *testing.T, c *system.Cluster) string {
			h := c.StartHeldJobs()
			c.Operate(`{"type":"DRAIN_AGENT","drain_agent":{"agent_id":{"value":"` + c.AgentID(1) +
				`"},"max_grace_period":{"seconds":1}}}`)
			return h.Once
		},
	},
	{
		name: "executor doesn't come back to its agent", state: "LOST",
		cause: []string{"EXECUTOR_REREGISTRATION_TIMEOUT"},
		provoke: func(_ *testing.T, c *system.Cluster) string {
			h := c.StartHeldJobs()
			// Both must be stopped, because each would continue the other.
			for _, pid := range append(c.Executors(), c.Supervisors()...) {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					c.Fatal(err)
				}
			}
			c.Mesos.KillAgent(1)
			c.Mesos.StartAgent(1)
			return h.Once
		},
	},
	{
		name: "agent without its data", realOnly: true, state: "LOST",
		cause: []string{"AGENT_REMOVED", "a new agent registered at the same address"},
		// On a busy machine the agent is away for longer than the default of missed pings allows, which would make it
		// unreachable.
		setup: system.Setup{MissedPings: 40},
		provoke: func(_ *testing.T, c *system.Cluster) string {
			h := c.StartHeldJobs()
			c.Mesos.KillAgent(1)
			for _, p := range c.Processes() {
				if strings.Contains(p.Command, "executor") {
					_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended with another one
				}
			}
			entries, err := os.ReadDir(c.AgentDir(1))
			if err != nil {
				c.Fatal(err)
			}
			for _, entry := range entries {
				if err := os.RemoveAll(filepath.Join(c.AgentDir(1), entry.Name())); err != nil {
					c.Fatal(err)
				}
			}
			c.Mesos.StartAgent(1)
			return h.Once
		},
	},
	{
		name: "agent unknown to a new master", explain: "has not answered", setup: system.Setup{InMemory: true},
		provoke: func(_ *testing.T, c *system.Cluster) string {
			h := c.StartHeldJobs()
			c.Mesos.KillAgent(1)
			c.Mesos.KillMaster(1)
			c.Mesos.StartMaster(1)
			return h.Once
		},
	},
	{
		name: "agent in maintenance", explain: "maintenance", realOnly: true,
		provoke: func(_ *testing.T, c *system.Cluster) string {
			const machine = `{"hostname":"127.0.0.2","ip":"127.0.0.2"}`
			c.Operate(`{"type":"UPDATE_MAINTENANCE_SCHEDULE","update_maintenance_schedule":{"schedule":{"windows":[{"machine_ids":[` + machine +
				`],"unavailability":{"start":{"nanoseconds":` + fmt.Sprint(time.Now().UnixNano()) + `}}}]}}}`)
			return runOnce(nil, c)
		},
	},
}

// TestReasons: users read the reasons that Mesos gives for an outcome in plain words.
func TestReasons(t *testing.T) {
	for _, r := range reasons {
		t.Run(r.name, func(t *testing.T) {
			run := both
			if r.realOnly {
				run = onReal
			}
			r.setup.Agents = 1
			if r.memory {
				r.setup.AgentArgs = limitMemory(t)
			}
			run(t, r.setup, func(t *testing.T, c *system.Cluster) {
				var flags []string
				if r.server != nil {
					flags = r.server(t)
				}
				c.StartServers(1, flags...)
				id := r.provoke(t, c)
				if r.explain != "" {
					awaitExplanation(c, "once", r.explain)
				}
				if r.state == "" {
					return
				}
				for _, s := range c.Await(id, "FAILED").Shards {
					t.Logf("%s: %s", s.State, s.FailureCause)
					if s.State != r.state || s.FailureCause == "" {
						t.Errorf("%+v: want %s, and why", s, r.state)
					}
					for _, word := range r.cause {
						if !strings.Contains(s.FailureCause, word) {
							t.Errorf("the cause is %q, want it to say %s", s.FailureCause, word)
						}
					}
				}
				c.Ran()
			})
		})
	}
}

// TestOfferTakenBack launches with an offer that the master rescinds before the launch arrives. The master drops the
// launch with INVALID_OFFERS, and the shard runs on another agent.
func TestOfferTakenBack(t *testing.T) {
	both(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		proxy := netproxy.Start(t, c.Mesos.MasterAddress(1))
		c.Masters = "http://" + proxy.Address()
		c.StartServers(1)
		c.App("a", writes, nil)
		c.Job("once", "a", nil)
		proxy.Delay(time.Second)
		id := c.Trigger("once")
		var agent string
		c.Until("its launch is on its way", func() string {
			s := c.Execution(id).Shards[0]
			if agent = s.Agent; agent == "" {
				return fmt.Sprintf("%+v", s)
			}
			return ""
		})
		c.Operate(`{"type":"MARK_AGENT_GONE","mark_agent_gone":{"agent_id":{"value":"` + agent + `"}}}`)
		proxy.Heal()
		if e := c.Await(id, "FINISHED"); e.Shards[0].Agent == agent {
			t.Errorf("%+v ran on an agent that is gone", e)
		}
		if log := c.ServerLog(1); !strings.Contains(log, "INVALID_OFFERS") {
			t.Errorf("the log does not say why the shard was launched twice:\n%s", log)
		}
		c.OnceEach()
	})
}

// runOnce triggers a job "once" with one shard.
func runOnce(_ *testing.T, c *system.Cluster) string {
	c.Helper()
	c.App("a", writes, nil)
	c.Job("once", "a", nil)
	return c.Trigger("once")
}

// executorDir creates a folder with an executor that is a script.
func executorDir(t *testing.T, commands string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "executor"), []byte(script(commands)), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// limitMemory returns flags with which an agent limits its executors' memory. It skips the test if it cannot create
// cgroups of version 1.
func limitMemory(t *testing.T) []string {
	t.Helper()
	name := filepath.Base(filepath.Dir(t.TempDir()))
	roots := []string{"/sys/fs/cgroup/memory/" + name, "/sys/fs/cgroup/freezer/" + name}
	for _, root := range roots {
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Skipf("memory can't be limited here: %v", err)
		}
		t.Cleanup(func() {
			deadline := time.Now().Add(10 * time.Second)
			for err := removeCgroups(root); err != nil && !os.IsNotExist(err); err = removeCgroups(root) {
				if time.Now().After(deadline) {
					t.Errorf("remove the cgroups that Mesos made: %v", err)
					return
				}
				<-time.After(20 * time.Millisecond) // killed processes in it have not been reaped yet
			}
		})
	}
	return []string{"--launcher=linux", "--isolation=posix/cpu,cgroups/mem", "--cgroups_root=" + name}
}

// removeCgroups removes a cgroup and those below it.
func removeCgroups(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeCgroups(filepath.Join(root, entry.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(root)
}

package mesos_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestStorm kills the leading server, the leading master and agents with SIGKILL in turn, while crons fire and
// triggers arrive: nothing is lost, and nothing runs twice. It runs once with masters that remember their agents, and
// once with masters that forget everything at a restart. Agents have 20 s to come back before they are unreachable
// (75 s by default in Mesos). 3 s would not be enough on a busy machine: a launched task that an unreachable agent does
// not know counts as started, and so as lost (rule E1).
func TestStorm(t *testing.T) {
	for _, test := range []struct {
		name  string
		setup system.Setup
	}{
		{"replicated", system.Setup{Masters: 3, Agents: 2, MissedPings: 20}},
		{"in memory", system.Setup{Masters: 2, Agents: 2, InMemory: true, MissedPings: 20}},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, test.setup, func(t *testing.T, c *system.Cluster) {
				c.StartServers(2)
				leader := c.AwaitLeader()
				storm := system.NewStorm(c.Machine)
				d := c.Daemon("tick", system.Doc{"shardingTotalCount": 2, "failover": true})
				ask := func(what string, round int) {
					t.Helper()
					c.Until("a trigger is accepted", func() string {
						if !storm.Ask(fmt.Sprint(what, "-", round)) {
							return "not yet"
						}
						return ""
					})
				}
				for round := range 3 {
					ask("calm", round)
					late := c.Async("POST", "/api/job/asked/trigger", fmt.Sprint("Idempotency-Key: server-", round))
					c.KillServer(leader)
					<-late
					next := c.AwaitLeader(leader)
					c.StartServer(leader)
					leader = next
					ask("server", round)

					master := c.LeadingMaster()
					c.Mesos.KillMaster(master)
					storm.Ask(fmt.Sprint("master-", round))
					c.ReplaceMaster(master)
					c.Ready()
					ask("master", round)

					agent := round%2 + 1
					c.AwaitAgents() // killing an agent that is still coming back would have no effect
					c.Mesos.KillAgent(agent)
					storm.Ask(fmt.Sprint("agent-", round))
					c.Mesos.StartAgent(agent)
					ask("agent", round)
				}
				before := d.Runs()
				d.AwaitRuns(2, func(r system.DaemonRun) bool { return !slices.Contains(before, r) })
				c.OK("POST", "/api/job/tick/disable", "")
				t.Log(storm.Settle(false))
				storm.AskAgain()
				var repeated []system.DaemonRun // runs that repeat an interrupted one
				for _, r := range d.Runs() {
					if r.Source == "FAILOVER" {
						repeated = append(repeated, r)
					}
				}
				d.EachFireOnceBut(repeated)
			})
		})
	}
}

// TestExecutorsKilled kills executors with SIGKILL under load: shards with failover run again, but not while the
// process of the killed executor is still running.
func TestExecutorsKilled(t *testing.T) {
	both(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		storm := system.NewStorm(c.Machine, system.Doc{"failover": true})
		for round := range 3 {
			storm.Ask(fmt.Sprint("before-", round))
			var victims []int
			c.Until("a shard runs", func() string {
				if x := c.Explain("hasty"); len(x.Running) == 0 || x.Running[0].State != "RUNNING" {
					return fmt.Sprintf("%+v", x)
				}
				if victims = c.Executors(); len(victims) == 0 {
					return "there is no executor"
				}
				return ""
			})
			for _, pid := range victims {
				c.KillProcess(pid)
			}
			c.Until("the executors are replaced", func() string {
				now := c.Executors()
				for _, pid := range victims {
					if c.Machine.Lives(pid) {
						return fmt.Sprintf("%d lives", pid)
					}
				}
				if len(now) == 0 {
					return "there is none"
				}
				return ""
			})
		}
		t.Log(storm.Settle(true))
		starts, ends := c.Ran()
		for part := range starts {
			if e := c.Execution(part.Execution); e.State != "FINISHED" || ends[part] == 0 {
				t.Errorf("%+v ended %d times and is %+v: want FINISHED", part, ends[part], e)
			}
		}
	})
}

// TestAgentFrozen stops an agent until it is unreachable, and continues it. Meanwhile the explanation says that the
// agent does not answer. Its tasks keep running, and no shard starts a second time.
func TestAgentFrozen(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		h := c.StartHeldJobs()
		for range 2 {
			c.Mesos.SignalAgent(1, syscall.SIGSTOP)
			c.AwaitAgentInactive(1)
			for _, job := range []string{"again", "once"} {
				awaitExplanation(c, job, "has not answered")
			}
			c.Mesos.SignalAgent(1, syscall.SIGCONT)
			c.Until("the tasks run again", func() string {
				for _, id := range []string{h.Again, h.Once} {
					for _, s := range c.Execution(id).Shards {
						if s.State != "RUNNING" || s.Attempt != 1 {
							return fmt.Sprintf("%+v", s)
						}
					}
				}
				if x := c.Explain("once"); len(x.Notes) > 0 {
					return fmt.Sprintf("%+v", x)
				}
				return ""
			})
		}
		h.Release()
		c.Await(h.Again, "FINISHED")
		c.Await(h.Once, "FINISHED")
		c.OnceEach()
	})
}

// TestEndedMeanwhile: if a task ends while its agent is away, its exit status is reported when the agent is back.
func TestEndedMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name string
		away func(c *system.Cluster, back bool)
	}{
		{"frozen", func(c *system.Cluster, back bool) {
			if back {
				c.Mesos.SignalAgent(1, syscall.SIGCONT)
			} else {
				c.Mesos.SignalAgent(1, syscall.SIGSTOP)
			}
		}},
		{"killed", func(c *system.Cluster, back bool) {
			if back {
				c.Mesos.StartAgent(1)
			} else {
				c.Mesos.KillAgent(1)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
				c.StartServers(1)
				h := c.StartHeldJobs()
				test.away(c, false)
				c.AwaitAgentInactive(1)
				h.Release()
				c.Until("the processes have ended", func() string {
					for _, e := range h.Starts {
						if c.Machine.Lives(e.PID) {
							return fmt.Sprintf("%+v", e)
						}
					}
					return ""
				})
				test.away(c, true)
				for _, id := range []string{h.Again, h.Once} {
					for _, s := range c.Await(id, "FINISHED").Shards {
						if s.Attempt != 1 || s.ExitStatus == nil || *s.ExitStatus != 0 {
							t.Errorf("%+v: want the first attempt's status", s)
						}
					}
				}
				c.OnceEach()
			})
		})
	}
}

// TestLaunchLost kills the agent that a launch was sent to before it arrives, and the master that knew about it. No
// update will ever report that task. So the server asks for it when the agent is back, and launches the shard again.
func TestLaunchLost(t *testing.T) {
	// On a busy machine the launch is only sent after the agent has missed some pings.
	both(t, system.Setup{Agents: 1, InMemory: true, MissedPings: 100}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		c.App("a", writes, nil)
		c.Job("j", "a", nil)
		c.Run("j", "FINISHED")
		c.Mesos.SignalAgent(1, syscall.SIGSTOP)
		id := c.Trigger("j")
		c.AwaitShards(id, "LAUNCHING")
		c.Mesos.KillAgent(1)
		c.Mesos.KillMaster(1)
		c.Mesos.StartMaster(1)
		awaitExplanation(c, "j", "has not answered")
		c.Mesos.StartAgent(1)
		c.Await(id, "FINISHED")
		c.OnceEach()
	})
}

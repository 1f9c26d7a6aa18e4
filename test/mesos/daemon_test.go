package mesos_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestDaemonFailsOver: a daemon's executor is killed, and then its whole machine fails. Its shards are placed again,
// and with failover the interrupted runs are repeated.
func TestDaemonFailsOver(t *testing.T) {
	both(t, system.Setup{Agents: 2}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(2)
		c.AwaitLeader()
		hold, release := c.Hold()
		d := c.Daemon("held", system.Doc{"shardingTotalCount": 2, "cpuCount": 5, "failover": true, "misfire": true,
			"env": env("HOLD", hold)})
		first := d.AwaitRuns(1, nil)
		awaitReported(d)
		for _, pid := range c.Executors() {
			c.KillProcess(pid)
		}
		again := func(cut []system.DaemonRun) func(system.DaemonRun) bool {
			return func(r system.DaemonRun) bool {
				return r.Source == "FAILOVER" && slices.ContainsFunc(cut,
					func(c system.DaemonRun) bool { return r.Item == c.Item && r.Fire == c.Fire && r.Task != c.Task })
			}
		}
		second := d.AwaitRuns(1, again(first))
		awaitReported(d)
		cut := slices.Concat(first, second)
		if c.Kind() == system.Real { // cluster/local has no such operator call
			lost, n := d.Standing().Shards[0].Agent, 1
			if c.AgentID(n) != lost {
				n = 2
			}
			c.KillAgent(n)
			for _, pid := range c.Executors() {
				c.KillProcess(pid)
			}
			c.Operate(fmt.Sprintf(`{"type":"MARK_AGENT_GONE","mark_agent_gone":{"agent_id":{"value":%q}}}`, lost))
			third := d.AwaitRuns(1, func(r system.DaemonRun) bool {
				return again(second)(r) &&
					!slices.Contains(second, r)
			})
			for _, s := range d.Standing().Shards {
				if s.Agent == lost {
					t.Errorf("%+v is on the agent that is gone", s)
				}
			}
			cut = append(cut, third...)
		}
		release()
		d.AwaitRuns(3, func(r system.DaemonRun) bool { return !slices.Contains(cut, r) })
		d.EachFireOnceBut(cut)
	})
}

// awaitReported waits until the scheduler knows that each shard is running.
func awaitReported(d *system.Daemon) {
	d.Helper()
	d.Until("the runs are reported", func() string {
		for _, s := range d.Standing().Shards {
			if s.Daemon == nil || s.Daemon.Running == nil {
				return fmt.Sprintf("%+v", s)
			}
		}
		return ""
	})
}

// TestDaemonIsDrained: a pause lets the current run of a daemon's shard finish, and then releases its resources.
// After a resume it is placed again. After a shutdown it ends with its run, and the job is disabled.
func TestDaemonIsDrained(t *testing.T) {
	both(t, system.Setup{Agents: 1}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		hold, release := c.Hold()
		d := c.Daemon("held", system.Doc{"killGraceSeconds": 1, "env": env("HOLD", hold)})
		d.AwaitRuns(1, nil)
		awaitReported(d)
		standing := d.Standing()
		c.OK("POST", "/api/job/held/pause", "")
		c.Until("explain says that it is drained", func() string {
			if notes := strings.Join(c.Explain("held").Notes, "; "); !strings.Contains(notes,
				"it ends with the run under way: the job is paused") {
				return notes
			}
			return ""
		})
		d.AwaitFires(3) // longer than the grace period
		if s := d.Standing().Shards[0]; s.Daemon.Running == nil || s.TaskID != standing.Shards[0].TaskID {
			t.Errorf("%+v, %+v: want its run to go on", s, s.Daemon)
		}
		release()
		c.Until("it has ended with its run", func() string {
			s := d.Standing().Shards[0]
			if s.State != "WAITING" || s.Daemon.LastRun == nil || s.Daemon.LastRun.State != "FINISHED" {
				return fmt.Sprintf("%+v, %+v", s, s.Daemon)
			}
			return ""
		})
		paused := d.Runs()
		d.AwaitFires(2)
		if len(d.Runs()) != len(paused) {
			t.Error("a paused daemon has run")
		}
		c.OK("POST", "/api/job/held/resume", "")
		d.AwaitRuns(1, func(r system.DaemonRun) bool { return !slices.Contains(paused, r) })
		c.OK("POST", "/api/job/held/shutdown", "")
		c.Await(standing.ExecutionID, "KILLED", "FINISHED")
		if state := c.Explain("held").State; state != "DISABLED" {
			t.Errorf("the job is %s after its shutdown", state)
		}
		d.EachFireOnce()
	})
}

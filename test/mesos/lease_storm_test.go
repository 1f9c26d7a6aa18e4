//go:build nightly

package mesos_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestExclusiveStorm freezes, at random moments and for random times, the agent, the executor, the supervisor or all
// processes of a machine on which exclusive shards run, until shards were frozen 200 times. Two attempts of a shard
// must never run at the same time. The exception is a whole machine: when it continues, its processes run until they
// are killed. The test reports for how long.
func TestExclusiveStorm(t *testing.T) {
	const tries = 200
	onReal(t, system.Setup{Agents: 2, MissedPings: 1000}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		beats := system.NewBeats(c.Machine)
		for n := range 20 {
			beats.Trigger(fmt.Sprintf("alone-%d", n), true)
		}
		onMachine := func(n int, pids []int) []int { // the processes among pids that run on machine n
			return slices.DeleteFunc(c.MachineProcesses(n), func(pid int) bool { return !slices.Contains(pids, pid) })
		}
		freeze := map[string]func(n int) (thaw func()){
			"agent": func(n int) func() {
				c.Mesos.SignalAgent(n, syscall.SIGSTOP)
				return func() { c.Mesos.SignalAgent(n, syscall.SIGCONT) }
			},
			"executor":   func(n int) func() { return c.Freeze(onMachine(n, c.Executors())) },
			"supervisor": func(n int) func() { return c.Freeze(onMachine(n, c.Supervisors())) },
			"machine":    c.FreezeMachine,
		}
		names := slices.Sorted(maps.Keys(freeze))
		for done, round := 0, 0; done < tries; round++ {
			on := beats.AwaitRunning()
			n := 1 + rand.IntN(2)
			if on[c.AgentID(n)] == 0 {
				n = 3 - n
			}
			name, pause := names[round%len(names)], time.Duration(rand.IntN(30_000))*time.Millisecond
			thaw := freeze[name](n)
			time.Sleep(pause)
			thaw()
			done += on[c.AgentID(n)]
			on = beats.AwaitRunning()
			longest := 0.0
			for _, o := range beats.Overlaps() {
				longest = max(longest, o.Seconds)
				if name != "machine" {
					t.Errorf("%v", o)
				}
			}
			t.Logf("%d shards frozen so far: %s of agent %d for %s; longest overlap %.2f s; now %v", done, name, n,
				pause.Round(time.Second), longest, on)
		}
		beats.Finish()
	})
}

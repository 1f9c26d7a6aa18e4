//go:build nightly

package mesos_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// beats is a script that records ten times a second that it runs, and when, in seconds since the machine started.
const beats = `#!/bin/sh
while [ -e "$HOLD" ]; do
	read -r now _ </proc/uptime
	echo "$ELASTICJOB_ATTEMPT $now" >>"$BEATS/$ELASTICJOB_JOB_NAME"
	sleep 0.1
done
`

// TestExclusiveStorm freezes, at random moments and for random times, the agent, the executor, the supervisor or all
// processes of a machine on which exclusive shards run, until shards were frozen 200 times. No shard may ever run twice
// at once. Only as a whole machine goes on, its processes run until they are killed: the test reports for how long.
func TestExclusiveStorm(t *testing.T) {
	const tries = 200
	onReal(t, system.Setup{Agents: 2, MissedPings: 1000}, func(t *testing.T, c *system.Cluster) {
		c.StartServers(1)
		path, release := c.Hold()
		dir := c.TempDir()
		c.App("beats", system.Files{"bin/start.sh": beats}, nil)
		runs := map[string]string{}
		for n := range 20 {
			job := fmt.Sprintf("alone-%d", n)
			runs[job] = triggerBeats(c, job, true, path, dir)
		}
		all := func() map[string]int { return awaitRunning(c, runs) }
		those := func(n int, of []int) []int { // the processes among them that are on a machine
			return slices.DeleteFunc(c.MachineProcesses(n), func(pid int) bool { return !slices.Contains(of, pid) })
		}
		freeze := map[string]func(n int) (thaw func()){
			"agent": func(n int) func() {
				c.Mesos.SignalAgent(n, syscall.SIGSTOP)
				return func() { c.Mesos.SignalAgent(n, syscall.SIGCONT) }
			},
			"executor":   func(n int) func() { return c.Freeze(those(n, c.Executors())) },
			"supervisor": func(n int) func() { return c.Freeze(those(n, c.Supervisors())) },
			"machine":    c.FreezeMachine,
		}
		names := slices.Sorted(maps.Keys(freeze))
		seen := map[string]bool{}
		for done, round := 0, 0; done < tries; round++ {
			on := all()
			n := 1 + rand.IntN(2)
			if on[c.AgentID(n)] == 0 {
				n = 3 - n
			}
			name, pause := names[round%len(names)], time.Duration(rand.IntN(30_000))*time.Millisecond
			thaw := freeze[name](n)
			time.Sleep(pause)
			thaw()
			done += on[c.AgentID(n)]
			on = all()
			longest := 0.0
			for job := range runs {
				for _, o := range overlaps(t, filepath.Join(dir, job)) {
					if key := job + o.attempts; !seen[key] {
						seen[key] = true
						longest = max(longest, o.seconds)
						if name != "machine" {
							t.Errorf("%s: attempts %s ran at once for %.2f s", job, o.attempts, o.seconds)
						}
					}
				}
			}
			t.Logf("%d tries: %s of agent %d frozen for %s; longest overlap %.2f s; now %v", done, name, n,
				pause.Round(time.Second), longest, on)
		}
		release()
		for _, id := range runs {
			c.Await(id, "FINISHED")
		}
	})
}

// triggerBeats registers a job of the app "beats", which runs as long as the file at path exists and records its beats
// in dir, and triggers it. It returns the execution.
func triggerBeats(c *system.Cluster, job string, exclusive bool, path, dir string) (id string) {
	c.Helper()
	c.Job(job, "beats", system.Doc{"exclusive": exclusive, "leaseSeconds": 10, "killGraceSeconds": 1, "failover": true,
		"unreachableSeconds": 15, "env": env("HOLD", path, "BEATS", dir)})
	return c.Trigger(job)
}

// awaitRunning waits until the shards of all executions run, and returns how many run on each agent.
func awaitRunning(c *system.Cluster, runs map[string]string) map[string]int {
	c.Helper()
	on := map[string]int{}
	for _, id := range runs {
		on[c.AwaitShards(id, "RUNNING").Shards[0].Agent]++
	}
	return on
}

// overlap is how long an attempt of a shard ran on after a later one had begun.
type overlap struct {
	attempts string
	seconds  float64
}

// overlaps finds, in the beats of a job, the attempts that went on after a later one had begun. It counts from the
// first beat after that, because the earlier attempt may have been frozen in between.
func overlaps(t *testing.T, path string) (found []overlap) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	beats := map[int][]float64{}
	for line := range strings.Lines(string(text)) {
		var attempt int
		var at float64
		if n, _ := fmt.Sscan(line, &attempt, &at); n == 2 { // else it is still being written
			beats[attempt] = append(beats[attempt], at)
		}
	}
	for a, of := range beats {
		for b := range beats {
			late := slices.DeleteFunc(slices.Clone(of), func(at float64) bool { return at <= beats[b][0] })
			if a < b && len(late) > 0 {
				found = append(found, overlap{fmt.Sprintf("%d and %d", a, b), late[len(late)-1] - late[0] + 0.1})
			}
		}
	}
	return found
}

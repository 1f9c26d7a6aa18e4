//go:build nightly

package mesos_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestPartitions cuts a machine off at random moments and for random times: its agent from the master, its executors
// from the port for leases, both, or the whole machine from everything. Each agent has a network of its own. An
// exclusive shard never runs twice at once, and in the end every shard runs and finishes. It needs root: make nightly
// ONLY=mesos-root.
func TestPartitions(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this needs root: make nightly ONLY=mesos-root runs it")
	}
	const rounds = 12
	onReal(t, system.Setup{Agents: 2, Networks: true, MissedPings: 20}, func(t *testing.T, c *system.Cluster) {
		leases := freePort(t)
		c.StartServers(1, "--lease-listen", fmt.Sprint("127.0.0.1:", leases))
		path, release := c.Hold()
		dir := c.TempDir()
		c.App("beats", system.Files{"bin/start.sh": beats}, nil)
		runs := map[string]string{}
		for n := range 10 {
			for kind, exclusive := range map[string]bool{"alone": true, "again": false} {
				job := fmt.Sprintf("%s-%d", kind, n)
				runs[job] = triggerBeats(c, job, exclusive, path, dir)
			}
		}
		cuts := []struct {
			name string
			cut  func(w *system.Network)
		}{
			{"its agent from the master", (*system.Network).CutFromMaster},
			{"its executors from the leases", func(w *system.Network) { w.Cut(leases) }},
			{"from both", func(w *system.Network) { w.CutFromMaster(); w.Cut(leases) }},
			{"from everything", func(w *system.Network) { w.Cut() }},
		}
		seen := map[string]bool{}
		for round := range rounds {
			on := awaitRunning(c, runs)
			n := 1 + rand.IntN(2)
			if on[c.AgentID(n)] == 0 {
				n = 3 - n
			}
			how, pause := cuts[round%len(cuts)], time.Duration(5_000+rand.IntN(40_000))*time.Millisecond
			how.cut(c.Network(n))
			time.Sleep(pause)
			c.Network(n).Heal()
			c.AwaitAgents()
			for n := 1; n <= 2; n++ { // it may have been cordoned, because it flaps
				c.OK("POST", "/api/agent/"+c.Network(n).Address()+"/uncordon", "")
			}
			now := awaitRunning(c, runs)
			for job := range runs {
				for _, o := range overlaps(t, filepath.Join(dir, job)) {
					if key := job + o.attempts; !seen[key] {
						seen[key] = true
						if strings.HasPrefix(job, "alone") {
							t.Errorf("%s: attempts %s ran at once for %.2f s", job, o.attempts, o.seconds)
						} else {
							t.Logf("%s: attempts %s ran at once for %.2f s, as documented", job, o.attempts, o.seconds)
						}
					}
				}
			}
			t.Logf("%d: machine %d cut off, %s, for %s; %v became %v", round, n, how.name, pause.Round(time.Second), on, now)
		}
		release()
		for _, id := range runs {
			c.Await(id, "FINISHED")
		}
	})
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

//go:build nightly

package mesos_test

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/internal/network"
	"github.com/elasticjob-go/elasticjob/test/internal/system"
)

// TestPartitions cuts a machine off at random moments and for random times: its agent from the master, its executors
// from the port for leases, both, or the whole machine from everything. Each agent has a network of its own. Two
// attempts of an exclusive shard never run at the same time, and in the end every shard runs and finishes. The test
// needs root: make nightly ONLY=mesos-root.
func TestPartitions(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this needs root: make nightly ONLY=mesos-root runs it")
	}
	onReal(t, system.Setup{Agents: 2, Networks: true, MissedPings: 20}, func(t *testing.T, c *system.Cluster) {
		leases := freePort(t)
		c.StartServers(1, "--lease-listen", fmt.Sprint("127.0.0.1:", leases))
		beats := system.NewBeats(c.Machine)
		for n := range 10 {
			beats.Trigger(fmt.Sprintf("alone-%d", n), true)
			beats.Trigger(fmt.Sprintf("again-%d", n), false)
		}
		number := map[string]int{c.AgentID(1): 1, c.AgentID(2): 2}
		machines := map[string]*network.Network{}
		for agent, n := range number {
			machines[agent] = c.Network(n)
		}
		beats.Storm(12, machines, []system.Partition{
			{Name: "its agent from the master", Cut: func(agent string) { c.CutFromMaster(number[agent]) }},
			{Name: "its executors from the leases", Cut: func(agent string) { machines[agent].Cut(leases) }},
			{Name: "from both", Cut: func(agent string) { c.CutFromMaster(number[agent]); machines[agent].Cut(leases) }},
			{Name: "from everything", Cut: func(agent string) { machines[agent].Cut() }},
		}, func() { c.AwaitAgents() })
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

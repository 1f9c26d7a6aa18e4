package system

import (
	"net/netip"

	"github.com/elasticjob-go/elasticjob/test/internal/network"
)

// Network returns the network of an agent. The first call creates it. An agent runs in its network only if
// Setup.Networks is set.
func (c *Cluster) Network(n int) *network.Network {
	c.Helper()
	if c.networks[n] == nil {
		c.networks[n] = network.New(c.TB, n)
	}
	return c.networks[n]
}

// CutFromMaster drops all packets between an agent and master 1, until the agent's network is healed. The master also
// connects to the agent, so CutFromMaster also drops all packets from the host to the agent's port.
func (c *Cluster) CutFromMaster(n int) {
	c.Helper()
	c.Network(n).Cut(c.port(c.Mesos.MasterAddress(1)))
	c.Network(n).CutServer(c.port(c.Mesos.(*realMesos).agents[n].Address()))
}

func (c *Cluster) port(address string) int {
	c.Helper()
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		c.Fatal(err)
	}
	return int(at.Port())
}

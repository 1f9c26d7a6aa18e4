package system

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Network is a network namespace with one agent and all that runs on its machine. There, 127.0.0.1 is that of the host,
// where masters, ZooKeeper and servers listen, and the agent has an address that the host can reach. It needs root.
type Network struct {
	c    *Cluster
	n    int    // the agent's number
	name string // of the namespace, and of its device on the host
	net  string // the first three bytes of its addresses
	cuts [][]string
}

// newNetwork makes the network of agent n. It ends with the test.
func newNetwork(c *Cluster, n int) *Network {
	c.Helper()
	// The device's name has at most 15 letters, and tests run side by side.
	w := &Network{c: c, n: n, name: fmt.Sprintf("ej%x-%d", os.Getpid(), n), net: fmt.Sprintf("10.213.%d", n)}
	host, guest := w.net+".1", w.Address()
	forward := []string{"PREROUTING", "-i", w.name, "-d", host, "-p", "tcp", "-j", "DNAT", "--to-destination", "127.0.0.1"}
	w.run("ip", "netns", "add", w.name)
	c.Cleanup(func() {
		w.Heal()
		w.run(append([]string{"iptables", "-w", "-t", "nat", "-D"}, forward...)...)
		w.run("ip", "netns", "del", w.name)
	})
	w.run("ip", "link", "add", w.name, "type", "veth", "peer", "name", "eth0", "netns", w.name)
	w.run("ip", "addr", "add", host+"/30", "dev", w.name)
	w.run("ip", "link", "set", w.name, "up")
	w.run("sysctl", "-qw", "net.ipv4.conf."+w.name+".route_localnet=1")
	w.run(append([]string{"iptables", "-w", "-t", "nat", "-A"}, forward...)...)
	for _, command := range []string{
		"ip addr add " + guest + "/30 dev eth0", "ip link set eth0 up", "ip link set lo up",
		"sysctl -qw net.ipv4.conf.all.route_localnet=1",
		"iptables -w -t nat -A OUTPUT -d 127.0.0.1 -p tcp -j DNAT --to-destination " + host,
		"iptables -w -t nat -A POSTROUTING -o eth0 -j MASQUERADE",
	} {
		w.run(append([]string{"ip", "netns", "exec", w.name}, strings.Fields(command)...)...)
	}
	return w
}

// Address is the address of the agent.
func (w *Network) Address() string { return w.net + ".2" }

// Cut drops all packets between the machine and some ports of the host, or all packets if there is none, until Heal.
// The host's connections to the machine are from other ports, so they pass if a port is given.
func (w *Network) Cut(ports ...int) {
	w.c.Helper()
	if len(ports) == 0 {
		w.drop("INPUT", "-i", w.name)
		w.drop("OUTPUT", "-o", w.name)
	}
	for _, port := range ports {
		w.drop("INPUT", "-i", w.name, "-p", "tcp", "--dport", strconv.Itoa(port))
		w.drop("OUTPUT", "-o", w.name, "-p", "tcp", "--sport", strconv.Itoa(port))
	}
}

// CutFromMaster is Cut for the port of master 1, and drops all that the host sends to the agent's own port: the master
// connects to the agent, too.
func (w *Network) CutFromMaster() {
	w.c.Helper()
	w.Cut(w.port(w.c.Mesos.MasterAddress(1)))
	agent := strconv.Itoa(w.port(w.c.Mesos.(*real).agents[w.n].Address()))
	w.drop("OUTPUT", "-o", w.name, "-p", "tcp", "--dport", agent)
	w.drop("INPUT", "-i", w.name, "-p", "tcp", "--sport", agent)
}

func (w *Network) port(address string) int {
	w.c.Helper()
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		w.c.Fatal(err)
	}
	return int(at.Port())
}

func (w *Network) drop(rule ...string) {
	w.c.Helper()
	w.run(append([]string{"iptables", "-w", "-I"}, append(rule, "-j", "DROP")...)...)
	w.cuts = append(w.cuts, rule)
}

// Heal ends all cuts.
func (w *Network) Heal() {
	w.c.Helper()
	for _, rule := range w.cuts {
		w.run(append([]string{"iptables", "-w", "-D"}, append(rule, "-j", "DROP")...)...)
	}
	w.cuts = nil
}

func (w *Network) run(command ...string) {
	w.c.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		w.c.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

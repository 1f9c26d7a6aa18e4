// Package network puts a machine of a test, such as the agent of a Mesos or the node of a Kubernetes with all their
// processes, into a network namespace, and cuts it off by rules of the firewall. It needs root, ip and iptables.
package network

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Network is a network namespace. A connection from it to 127.0.0.1 reaches the server that listens there on the host.
// The host reaches the servers in the namespace at Address. The methods are not safe for concurrent use.
type Network struct {
	t      testing.TB
	name   string // of the namespace, and of its device on the host
	prefix string // the first three bytes of its addresses
	cuts   [][]string
}

// New creates a network, which is removed when the test ends. Networks that exist at the same time must have different
// numbers n, from 1 to 255.
func New(t testing.TB, n int) *Network {
	t.Helper()
	// The process id distinguishes the tests that run at the same time. A device's name has at most 15 characters.
	w := &Network{t: t, name: fmt.Sprintf("ej%x-%d", os.Getpid(), n), prefix: fmt.Sprintf("10.213.%d", n)}
	host, guest := w.prefix+".1", w.Address()
	forward := []string{"PREROUTING", "-i", w.name, "-d", host, "-p", "tcp", "-j", "DNAT", "--to-destination",
		"127.0.0.1"}
	w.run("ip", "netns", "add", w.name)
	t.Cleanup(func() {
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

// Name is the name of the namespace, as ip netns shows it.
func (w *Network) Name() string { return w.name }

// Address is the address of the machine in the network.
func (w *Network) Address() string { return w.prefix + ".2" }

// Cut drops all packets between the machine and the given ports of the host until Heal. Connections that the host opens
// to the machine then still work, because they come from other ports. Without a port, Cut drops all packets.
func (w *Network) Cut(ports ...int) {
	w.t.Helper()
	if len(ports) == 0 {
		w.drop("INPUT", "-i", w.name)
		w.drop("OUTPUT", "-o", w.name)
	}
	for _, port := range ports {
		w.drop("INPUT", "-i", w.name, "-p", "tcp", "--dport", strconv.Itoa(port))
		w.drop("OUTPUT", "-o", w.name, "-p", "tcp", "--sport", strconv.Itoa(port))
	}
}

// CutServer drops all packets of connections from the host to a port of the machine, until Heal.
func (w *Network) CutServer(port int) {
	w.t.Helper()
	w.drop("OUTPUT", "-o", w.name, "-p", "tcp", "--dport", strconv.Itoa(port))
	w.drop("INPUT", "-i", w.name, "-p", "tcp", "--sport", strconv.Itoa(port))
}

func (w *Network) drop(rule ...string) {
	w.t.Helper()
	w.run(append([]string{"iptables", "-w", "-I"}, append(rule, "-j", "DROP")...)...)
	w.cuts = append(w.cuts, rule)
}

// Heal ends all cuts.
func (w *Network) Heal() {
	w.t.Helper()
	for _, rule := range w.cuts {
		w.run(append([]string{"iptables", "-w", "-D"}, append(rule, "-j", "DROP")...)...)
	}
	w.cuts = nil
}

func (w *Network) run(command ...string) {
	w.t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

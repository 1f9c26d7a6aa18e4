package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// Ports are chosen from this range. It is below the kernel's ephemeral ports, so that no outgoing connection takes one
// of them between two runs. It is also below the ports that agents offer.
const (
	lowestPort  = 20000
	highestPort = 29999
	portTries   = 200
)

// ports is the content of ports.json. A port of 0 means that none is chosen yet.
type ports struct {
	Master int   `json:"master,omitempty"`
	Agents []int `json:"agents,omitempty"`
}

// listen binds the ports of the last run or chooses new ones. An agent's port changes only if its executors are given
// up, because running executors reconnect to that port. The master's port is kept if possible. The master's listener is
// nil if the agents join another master. Close closes the listeners.
func (c *Cluster) listen() (master net.Listener, agents []net.Listener, err error) {
	opts := &c.opts
	path := filepath.Join(opts.DataDir, "ports.json")
	bound, err := readPorts(path) // the ports of the last run, which the loop below replaces one by one
	if err != nil {
		return nil, nil, err
	}
	for i := range opts.agents() {
		if i == len(bound.Agents) {
			bound.Agents = append(bound.Agents, 0)
		}
		agent, err := listenAgent(opts, opts.agentIP(i), bound.Agents[i])
		if err != nil {
			return nil, nil, err
		}
		c.listeners, agents = append(c.listeners, agent), append(agents, agent)
		bound.Agents[i] = port(agent)
	}
	if opts.Join == "" {
		if master, err = listenMaster(opts, bound.Master); err != nil {
			return nil, nil, err
		}
		c.listeners = append(c.listeners, master)
		bound.Master = port(master)
	}
	if err := wholefile.WriteJSON(path, bound); err != nil {
		return nil, nil, fmt.Errorf("store the ports for the next run: %w", err)
	}
	return master, agents, nil
}

// portTimeout is how long listen waits for a port that is in use. If the last run ended while it was starting a
// process, that process may hold a copy of the socket for a moment.
const portTimeout = 500 * time.Millisecond

// retryInUse listens, and retries for a while if the port is in use.
func retryInUse(listen func() (net.Listener, error)) (net.Listener, error) {
	l, err := listen()
	for end := time.Now().Add(portTimeout); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); {
		<-time.After(portTimeout / 25)
		l, err = listen()
	}
	return l, err
}

// listenAgent binds an agent's port of the last run, or any port if lastPort is 0. With GiveUpExecutors it binds
// another port if that of the last run can't be bound.
func listenAgent(opts *Options, ip string, lastPort int) (net.Listener, error) {
	listen := func() (net.Listener, error) { return bind(ip, lastPort) }
	if opts.GiveUpExecutors {
		l, err := listen()
		return orAnyPort(opts, l, err, ip, lastPort)
	}
	l, err := retryInUse(listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("bind the agent's port %d, where the executors of the last run look for it: it is taken by %s; end that process, or give the executors up with --give-up-executors",
			lastPort, holder(lastPort))
	}
	return l, err
}

// orAnyPort returns l and err, the result of an attempt to bind lastPort. If that port could not be bound, it binds any
// other port instead.
func orAnyPort(opts *Options, l net.Listener, err error, ip string, lastPort int) (net.Listener, error) {
	if err != nil && lastPort != 0 {
		opts.Logger.Warn("port of the last run can't be bound, choosing another", "port", lastPort, "by", holder(lastPort), "error", err)
		return bind(ip, 0)
	}
	return l, err
}

// listenMaster binds Options.Listen. Without this option it binds the port of the last run on loopback, or any port if
// that is 0 or can't be bound.
func listenMaster(opts *Options, lastPort int) (net.Listener, error) {
	if opts.Listen != "" {
		l, err := retryInUse(func() (net.Listener, error) { return net.Listen("tcp4", opts.Listen) })
		if errors.Is(err, syscall.EADDRINUSE) {
			address, _ := net.ResolveTCPAddr("tcp4", opts.Listen) // no error, because only the bind has failed
			return nil, fmt.Errorf("bind the master's address %s: it is taken by %s; end that process, or choose another with --listen", opts.Listen, holder(address.Port))
		}
		if err != nil {
			return nil, fmt.Errorf("bind the master's address: %w", err)
		}
		return l, nil
	}
	l, err := retryInUse(func() (net.Listener, error) { return bind(loopback, lastPort) })
	return orAnyPort(opts, l, err, loopback, lastPort)
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// bind listens on a port, or on a random free port if port is 0.
func bind(ip string, port int) (net.Listener, error) {
	if port != 0 {
		return net.Listen("tcp4", fmt.Sprintf("%s:%d", ip, port))
	}
	var lastErr error
	for range portTries {
		l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", ip, lowestPort+rand.IntN(highestPort-lowestPort+1)))
		if err == nil {
			return l, nil
		}
		lastErr = err
	}
	return nil, fmt.Errorf("find a free port on %s between %d and %d: %w", ip, lowestPort, highestPort, lastErr)
}

// readPorts reads the ports of the last run. A missing or empty file means that there are none.
func readPorts(path string) (ports, error) {
	var p ports
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(content)) == 0 {
		return p, nil // executors that look for an agent at its former port are given up after a timeout
	}
	if err == nil {
		err = json.Unmarshal(content, &p)
	}
	invalid := func(port int) bool { return port < 0 || port > 65535 }
	if err == nil && (slices.ContainsFunc(append([]int{p.Master}, p.Agents...), invalid)) {
		err = errors.New("a port must be 0 to 65535")
	}
	if err != nil {
		return p, fmt.Errorf("read the ports of the last run in %s: %w; remove it to choose others: executors of the last run that still run are then given up", path, err)
	}
	return p, nil
}

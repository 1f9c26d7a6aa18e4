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

// Ports are chosen from this range. It is below the kernel's ephemeral ports, so that no outgoing connection can
// occupy them between two runs, and below the ports that agents offer.
const (
	lowestPort  = 20000
	highestPort = 29999
	portTries   = 200
)

// ports is the content of ports.json; 0 means none.
type ports struct {
	Master int   `json:"master,omitempty"`
	Agents []int `json:"agents,omitempty"`
}

// listen binds the ports of the last run or chooses new ones. An agent's port changes only if its executors are given
// up, because executors know it. The master's port is kept if possible. The master's listener is nil if the agents
// join another master. Close closes what listen has bound.
func (c *Cluster) listen() (master net.Listener, agents []net.Listener, err error) {
	opts := &c.opts
	path := filepath.Join(opts.DataDir, "ports.json")
	now, err := readPorts(path)
	if err != nil {
		return nil, nil, err
	}
	for i := range opts.agents() {
		if i == len(now.Agents) {
			now.Agents = append(now.Agents, 0)
		}
		agent, err := listenAgent(opts, opts.agentIP(i), now.Agents[i])
		if err != nil {
			return nil, nil, err
		}
		c.listeners, agents = append(c.listeners, agent), append(agents, agent)
		now.Agents[i] = port(agent)
	}
	if opts.Join == "" {
		if master, err = listenMaster(opts, now.Master); err != nil {
			return nil, nil, err
		}
		c.listeners = append(c.listeners, master)
		now.Master = port(master)
	}
	if err := wholefile.WriteJSON(path, now); err != nil {
		return nil, nil, fmt.Errorf("keep the ports for the next run: %w", err)
	}
	return master, agents, nil
}

// freeing is how long listen waits for a port that is in use. A process that was being started when the last run ended
// may hold a copy of its socket for a moment.
const freeing = 500 * time.Millisecond

// whenFree listens, and retries for a while if the port is in use.
func whenFree(listen func() (net.Listener, error)) (net.Listener, error) {
	l, err := listen()
	for end := time.Now().Add(freeing); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); {
		<-time.After(freeing / 25)
		l, err = listen()
	}
	return l, err
}

func listenAgent(opts *Options, ip string, kept int) (net.Listener, error) {
	listen := func() (net.Listener, error) { return bind(ip, kept) }
	if opts.GiveUpExecutors {
		l, err := listen()
		return orAnother(opts, l, err, ip, kept)
	}
	l, err := whenFree(listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("bind the agent's port %d, where the executors of the last run look for it: it is taken by %s; end that, or give the executors up with --give-up-executors",
			kept, holder(kept))
	}
	return orAnother(opts, l, err, ip, kept)
}

// orAnother chooses another port if the port of the last run is in use.
func orAnother(opts *Options, l net.Listener, err error, ip string, kept int) (net.Listener, error) {
	if err != nil && kept != 0 {
		opts.Logger.Warn("port taken, choosing another", "port", kept, "by", holder(kept), "error", err)
		return bind(ip, 0)
	}
	return l, err
}

func listenMaster(opts *Options, kept int) (net.Listener, error) {
	if opts.Listen != "" {
		l, err := whenFree(func() (net.Listener, error) { return net.Listen("tcp4", opts.Listen) })
		if errors.Is(err, syscall.EADDRINUSE) {
			at, _ := net.ResolveTCPAddr("tcp4", opts.Listen) // it resolves, since only the bind failed
			return nil, fmt.Errorf("bind the master's address %s: it is taken by %s; end that, or choose another with --listen", opts.Listen, holder(at.Port))
		}
		if err != nil {
			return nil, fmt.Errorf("bind the master's address: %w", err)
		}
		return l, nil
	}
	l, err := whenFree(func() (net.Listener, error) { return bind(loopback, kept) })
	return orAnother(opts, l, err, loopback, kept)
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// bind listens on a port, or on a random free one if port is 0.
func bind(ip string, port int) (net.Listener, error) {
	if port != 0 {
		return net.Listen("tcp4", fmt.Sprintf("%s:%d", ip, port))
	}
	var last error
	for range portTries {
		l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", ip, lowestPort+rand.IntN(highestPort-lowestPort+1)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("find a free port of %s between %d and %d: %w", ip, lowestPort, highestPort, last)
}

func readPorts(path string) (ports, error) {
	var p ports
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(content)) == 0 {
		return p, nil // the ports are a hint: executors that look for another port are given up in time
	}
	if err == nil {
		err = json.Unmarshal(content, &p)
	}
	wrong := func(port int) bool { return port < 0 || port > 65535 }
	if err == nil && (slices.ContainsFunc(append([]int{p.Master}, p.Agents...), wrong)) {
		err = errors.New("no such port")
	}
	if err != nil {
		return p, fmt.Errorf("read the ports of the last run in %s: %w; remove it, and others are chosen: executors of the last run that still run are then given up", path, err)
	}
	return p, nil
}

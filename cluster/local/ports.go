package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// Ports are chosen between these: below the kernel's ephemeral ones, so that no
// outgoing connection takes them between two runs, and below those that the agent offers.
const (
	lowestPort  = 20000
	highestPort = 29999
	portTries   = 200
)

// ports are kept in ports.json.
type ports struct {
	Master int `json:"master"`
	Agent  int `json:"agent"`
}

type listeners struct {
	master, agent net.Listener
}

// listen binds the ports of the last run, or chooses them. Executors know the
// agent's, so it changes only when they are given up; the master's is kept where possible.
func listen(dir string, mayMove bool, log *slog.Logger) (listeners, ports, error) {
	var l listeners
	path := filepath.Join(dir, "ports.json")
	kept, err := readPorts(path)
	if err != nil {
		return l, kept, err
	}
	l.agent, err = bind(kept.Agent)
	if errors.Is(err, syscall.EADDRINUSE) && !mayMove {
		return l, kept, fmt.Errorf("bind the agent's port %d, where the executors of the last run look for it: it is taken by %s; end that, or give the executors up with --give-up-executors",
			kept.Agent, holder(kept.Agent))
	}
	if err != nil && kept.Agent != 0 {
		log.Warn("agent's port is taken, choosing another", "port", kept.Agent, "by", holder(kept.Agent), "error", err)
		l.agent, err = bind(0)
	}
	if err != nil {
		return l, kept, err
	}
	l.master, err = bind(kept.Master)
	if err != nil && kept.Master != 0 {
		log.Warn("master's port is taken, choosing another", "port", kept.Master, "by", holder(kept.Master), "error", err)
		l.master, err = bind(0)
	}
	if err != nil {
		return l, kept, errors.Join(err, l.agent.Close())
	}
	now := ports{Master: port(l.master), Agent: port(l.agent)}
	if now != kept {
		if err := writePorts(path, now); err != nil {
			return l, kept, errors.Join(err, l.agent.Close(), l.master.Close())
		}
	}
	return l, now, nil
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// bind listens on a port, or on a free one that it chooses when port is 0.
func bind(port int) (net.Listener, error) {
	if port != 0 {
		return net.Listen("tcp4", fmt.Sprintf("%s:%d", loopback, port))
	}
	var last error
	for range portTries {
		l, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", loopback, lowestPort+rand.IntN(highestPort-lowestPort+1)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("find a free port between %d and %d: %w", lowestPort, highestPort, last)
}

func readPorts(path string) (ports, error) {
	var p ports
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &p)
	}
	if err == nil && (p.Master < 0 || p.Master > 65535 || p.Agent < 0 || p.Agent > 65535) {
		err = errors.New("no such port")
	}
	if err != nil {
		return p, fmt.Errorf("read the ports of the last run in %s: %w", path, err)
	}
	return p, nil
}

func writePorts(path string, p ports) error {
	content, err := json.Marshal(p)
	if err == nil {
		err = writeWhole(path, content)
	}
	if err != nil {
		return fmt.Errorf("keep the ports for the next run: %w", err)
	}
	return nil
}

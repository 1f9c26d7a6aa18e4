package child

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports for servers under test are below the range of ephemeral ports, and below the ports that cluster/local chooses.
// They are divided into blocks. A block belongs to the process that listens on its first port, so no other process
// takes the port of a server that is down for a moment.
const (
	firstPort = 10_000
	blockSize = 50
	blocks    = 200
)

// reserved are the blocks of this process.
var reserved struct {
	sync.Mutex
	ports     []int          // those that FreePorts has not returned yet
	listeners []net.Listener // on the first port of each block; they are never closed
}

// FreePorts returns free ports of 127.0.0.1 that no other test process and no other call gets, so a server that is
// started again finds its port free.
func FreePorts(n int) (ports []int, err error) {
	reserved.Lock()
	defer reserved.Unlock()
	for len(ports) < n {
		if len(reserved.ports) == 0 {
			if err := reserveBlock(); err != nil {
				return nil, fmt.Errorf("find %d free ports: %w", n, err)
			}
		}
		port := reserved.ports[0]
		reserved.ports = reserved.ports[1:]
		if l, err := listen(port); err == nil {
			_ = l.Close()
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// reserveBlock adds the ports of a block that no other process has.
func reserveBlock() error {
	for _, block := range rand.Perm(blocks) {
		first := firstPort + block*blockSize
		l, err := listen(first)
		if err != nil {
			continue
		}
		reserved.listeners = append(reserved.listeners, l)
		for port := first + 1; port < first+blockSize; port++ {
			reserved.ports = append(reserved.ports, port)
		}
		return nil
	}
	return errors.New("every block of ports is in use")
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

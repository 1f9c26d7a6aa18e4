package local

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync"
)

// either is a listener that takes TLS and plain connections alike, as Mesos with
// LIBPROCESS_SSL_SUPPORT_DOWNGRADE: executors and agents of this machine come plain.
type either struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener. It waits for nothing that a peer sends.
func (l either) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &undecided{Conn: conn, config: l.config}, nil
}

// undecided becomes a TLS connection, or stays plain, by the first byte that comes.
type undecided struct {
	net.Conn
	config *tls.Config
	decide sync.Once
	chosen net.Conn
}

// recordHandshake is what every TLS connection begins with, and no HTTP request does.
const recordHandshake = 0x16

func (c *undecided) choose() net.Conn {
	c.decide.Do(func() {
		read := bufio.NewReader(c.Conn)
		c.chosen = buffered{c.Conn, read}
		if first, err := read.Peek(1); err == nil && first[0] == recordHandshake {
			c.chosen = tls.Server(c.chosen, c.config)
		}
	})
	return c.chosen
}

// Read implements net.Conn.
func (c *undecided) Read(p []byte) (int, error) { return c.choose().Read(p) }

// Write implements net.Conn.
func (c *undecided) Write(p []byte) (int, error) { return c.choose().Write(p) }

// buffered is a connection of which something was read already.
type buffered struct {
	net.Conn
	from *bufio.Reader
}

// Read implements net.Conn.
func (c buffered) Read(p []byte) (int, error) { return c.from.Read(p) }

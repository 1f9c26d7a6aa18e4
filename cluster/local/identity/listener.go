package identity

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync"
)

// tlsHandshake is the first byte of each TLS connection. No HTTP request begins with it.
const tlsHandshake = 0x16

type listener struct {
	net.Listener
	config *tls.Config
}

// Accept does not wait for what the client says: a silent one would keep out all others.
func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{raw, sync.OnceValue(func() net.Conn {
		begun := &peeked{raw, bufio.NewReader(raw)}
		if first, err := begun.read.Peek(1); err == nil && first[0] == tlsHandshake {
			return tls.Server(begun, l.config)
		}
		return begun // an error of Peek comes again with the next read
	})}, nil
}

// conn speaks what its client speaks first. It is read and written by what protocol returns, which waits for the client's first byte;
// deadlines, and closing it, are those of the connection below.
type conn struct {
	net.Conn
	protocol func() net.Conn
}

// Read reads what the client says, without TLS.
func (c *conn) Read(p []byte) (int, error) { return c.protocol().Read(p) }

// Write answers in the client's protocol.
func (c *conn) Write(p []byte) (int, error) { return c.protocol().Write(p) }

// peeked is a connection of which the beginning was looked at.
type peeked struct {
	net.Conn
	read *bufio.Reader
}

// Read begins with what was looked at.
func (p *peeked) Read(b []byte) (int, error) { return p.read.Read(b) }

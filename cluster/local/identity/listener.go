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

// Accept does not wait for the first byte: a silent client would block all others.
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
		return begun // the next read meets an error of Peek again
	})}, nil
}

// conn speaks TLS if its client does. protocol waits for the client's first byte and returns the connection to
// read from and to write to; deadlines and Close go to the connection below, so that they end this wait, too.
type conn struct {
	net.Conn
	protocol func() net.Conn
}

// Read reads what the client says, without TLS.
func (c *conn) Read(p []byte) (int, error) { return c.protocol().Read(p) }

// Write answers in the client's protocol.
func (c *conn) Write(p []byte) (int, error) { return c.protocol().Write(p) }

// peeked is a connection whose first byte was read ahead.
type peeked struct {
	net.Conn
	read *bufio.Reader
}

// Read begins with what was read ahead.
func (p *peeked) Read(b []byte) (int, error) { return p.read.Read(b) }

package identity

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync"
)

// tlsHandshake is the first byte of every TLS connection. No HTTP request begins with it.
const tlsHandshake = 0x16

// listener accepts connections with and without TLS.
type listener struct {
	net.Listener
	config *tls.Config
}

// Accept returns a connection before its first byte has arrived, because otherwise a silent client would block all
// others.
func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{raw, sync.OnceValue(func() net.Conn {
		buffered := &peeked{raw, bufio.NewReader(raw)}
		if first, err := buffered.reader.Peek(1); err == nil && first[0] == tlsHandshake {
			return tls.Server(buffered, l.config)
		}
		return buffered // the next read returns Peek's error again
	})}, nil
}

// conn speaks TLS if its client does. protocol waits for the client's first byte and returns the connection for reads
// and writes. Deadlines and Close apply to the underlying connection, so that they also end this wait.
type conn struct {
	net.Conn
	protocol func() net.Conn
}

// Read reads the client's data, decrypted if the client speaks TLS.
func (c *conn) Read(p []byte) (int, error) { return c.protocol().Read(p) }

// Write writes in the client's protocol.
func (c *conn) Write(p []byte) (int, error) { return c.protocol().Write(p) }

// peeked is a connection whose first byte was read ahead.
type peeked struct {
	net.Conn
	reader *bufio.Reader
}

// Read returns the bytes that were read ahead first.
func (p *peeked) Read(b []byte) (int, error) { return p.reader.Read(b) }

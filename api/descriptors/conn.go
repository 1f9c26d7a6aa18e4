package descriptors

import (
	"container/list"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// conn is a connection of a listener. It counts as waiting for its client in two cases: no complete request is being
// answered, or a write of an answer is pending because the client does not read.
type conn struct {
	net.Conn
	listener  *listener
	closeOnce sync.Once

	// listener.mu guards the following fields.
	answering, writing int // the number of requests being answered, and of pending writes
	closed             bool
	waitingSince       time.Time     // valid while the connection waits
	waitEntry          *list.Element // in listener.waitingConns; nil unless the connection waits
}

// update adds the connection to listener.waitingConns or removes it, after a change of its other fields. The caller
// holds listener.mu.
func (c *conn) update() {
	waits := !c.closed && (c.answering == 0 || c.writing > 0)
	switch {
	case waits && c.waitEntry == nil:
		c.waitEntry, c.waitingSince = c.listener.waitingConns.PushBack(c), c.listener.reserve.now()
	case !waits && c.waitEntry != nil:
		c.listener.waitingConns.Remove(c.waitEntry)
		c.waitEntry = nil
	}
}

// change adds its arguments to the number of requests being answered and to the number of pending writes.
func (c *conn) change(answering, writing int) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.answering += answering
	c.writing += writing
	c.update()
}

// restartWait restarts the wait. The wait for a request's body thus begins when the request's headers were read.
func (c *conn) restartWait() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.waitEntry != nil {
		c.listener.waitingConns.MoveToBack(c.waitEntry)
		c.waitingSince = c.listener.reserve.now()
	}
}

// Close closes the connection and refills the reserve with its descriptor.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.closed = true // before the close, so that closeLongestWaiting picks another connection
	c.update()
	c.listener.mu.Unlock()
	err := c.Conn.Close()
	c.closeOnce.Do(func() {
		c.listener.mu.Lock()
		c.listener.open--
		c.listener.mu.Unlock()
		c.listener.reserve.refill()
	})
	return err
}

func (c *conn) Write(p []byte) (int, error) {
	c.change(0, 1)
	defer c.change(0, -1)
	return c.Conn.Write(p)
}

// ReadFrom lets the kernel send files without a copy, if the underlying connection supports it.
func (c *conn) ReadFrom(from io.Reader) (int64, error) {
	c.change(0, 1)
	defer c.change(0, -1)
	if underlying, ok := c.Conn.(io.ReaderFrom); ok {
		return underlying.ReadFrom(from)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, from)
}

// CloseWrite closes only the sending side. net/http calls it before it closes a connection from which it has not read
// the whole request. Otherwise the connection would be reset, and the client would lose the answer.
func (c *conn) CloseWrite() error {
	if underlying, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return underlying.CloseWrite()
	}
	return nil
}

// NetConn returns the connection that the underlying listener accepted.
func (c *conn) NetConn() net.Conn { return c.Conn }

// connKey is the key of a *conn in a request's context.
type connKey struct{}

// Context returns a context with the connection, for http.Server.ConnContext. accepted is a connection of a Reserve's
// listener, or wraps one, as a TLS connection does. For any other connection it returns ctx.
func Context(ctx context.Context, accepted net.Conn) context.Context {
	for {
		if c, ok := accepted.(*conn); ok {
			return context.WithValue(ctx, connKey{}, c)
		}
		outer, ok := accepted.(interface{ NetConn() net.Conn })
		if !ok {
			return ctx
		}
		accepted = outer.NetConn()
	}
}

// Handler returns a handler that calls h. It counts the request in its connection while the request is being answered:
// from the moment when the body has been read to its end until h returns. Context must have put the connection into
// the request's context.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		var answering sync.Once
		begun := false
		begin := func() {
			answering.Do(func() {
				begun = true
				c.change(1, 0)
			})
		}
		defer func() {
			answering.Do(func() {}) // a later read of the body must not begin an answer
			if begun {
				c.change(-1, 0)
			}
		}()
		if r.Body == nil || r.Body == http.NoBody {
			begin()
		} else {
			c.restartWait()
			// The wrapped body goes into a copy of the request, because net/http depends on the type of the original
			// request's Body.
			r = r.WithContext(r.Context())
			r.Body = &body{r.Body, begin}
		}
		h.ServeHTTP(w, r)
	})
}

// body calls onEOF when it has been read to its end. It may call onEOF several times.
type body struct {
	io.ReadCloser
	onEOF func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.onEOF()
	}
	return n, err
}

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
// answered, or the client does not read the answer.
type conn struct {
	net.Conn
	listener  *listener
	closeOnce sync.Once

	// of.mu guards the following fields.
	answering, writing int
	closed             bool
	since              time.Time     // when it began to wait, if it waits
	waitEntry          *list.Element // nil unless it waits
}

// update adds the connection to those that wait for their clients, or removes it. The caller holds of.mu.
func (c *conn) update() {
	waits := !c.closed && (c.answering == 0 || c.writing > 0)
	switch {
	case waits && c.waitEntry == nil:
		c.waitEntry, c.since = c.listener.waiting.PushBack(c), c.listener.reserve.now()
	case !waits && c.waitEntry != nil:
		c.listener.waiting.Remove(c.waitEntry)
		c.waitEntry = nil
	}
}

// change adds to the number of requests being answered and to the number of pending writes.
func (c *conn) change(answering, writing int) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.answering += answering
	c.writing += writing
	c.update()
}

// restartWait restarts the wait: the wait for a request's body starts with the request.
func (c *conn) restartWait() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.waitEntry != nil {
		c.listener.waiting.MoveToBack(c.waitEntry)
		c.since = c.listener.reserve.now()
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

// ReadFrom lets the kernel send files without a copy.
func (c *conn) ReadFrom(from io.Reader) (int64, error) {
	c.change(0, 1)
	defer c.change(0, -1)
	if below, ok := c.Conn.(io.ReaderFrom); ok {
		return below.ReadFrom(from)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, from)
}

// CloseWrite closes the sending side only, so that the client can still read the answer. net/http calls it before it
// closes a connection whose request it has not read completely. Otherwise the connection would be reset and the answer
// lost.
func (c *conn) CloseWrite() error {
	if below, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// NetConn returns the connection that the underlying listener accepted.
func (c *conn) NetConn() net.Conn { return c.Conn }

type connKey struct{}

// Context returns a context with the conn that accepted is or wraps, for http.Server.ConnContext. If accepted is no
// connection of this package, it returns ctx.
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

// Handler wraps h so that each connection knows which of its requests are being answered. It finds the connection in
// the request's context, where Context has put it.
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
			r = r.WithContext(r.Context()) // a copy: net/http decides by the type of its own request's body
			r.Body = &body{r.Body, begin}
		}
		h.ServeHTTP(w, r)
	})
}

// body calls read once it has been read to its end.
type body struct {
	io.ReadCloser
	read func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.read()
	}
	return n, err
}

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

// conn is a connection of a listener. It waits for its client unless a request that was read completely is being
// answered, and while the client does not read the answer.
type conn struct {
	net.Conn
	of   *listener
	gone sync.Once

	// Of these, of.mu is held.
	answering, writing int
	closed             bool
	since              time.Time     // it waits, if it does
	waits              *list.Element // nil while it does not
}

// update puts the connection among those that wait, or takes it away. of.mu is held.
func (c *conn) update() {
	waits := !c.closed && (c.answering == 0 || c.writing > 0)
	switch {
	case waits && c.waits == nil:
		c.waits, c.since = c.of.waiting.PushBack(c), c.of.reserve.now()
	case !waits && c.waits != nil:
		c.of.waiting.Remove(c.waits)
		c.waits = nil
	}
}

// change adds to the requests that are being answered and to the calls that write.
func (c *conn) change(answering, writing int) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answering += answering
	c.writing += writing
	c.update()
}

// begin restarts the wait: for a request's body it starts with the request.
func (c *conn) begin() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.waits != nil {
		c.of.waiting.MoveToBack(c.waits)
		c.since = c.of.reserve.now()
	}
}

// Close ends the connection, and refills the reserve with its descriptor.
func (c *conn) Close() error {
	c.of.mu.Lock()
	c.closed = true // before: whoever looks for the longest that waits finds another one
	c.update()
	c.of.mu.Unlock()
	err := c.Conn.Close()
	c.gone.Do(func() {
		c.of.mu.Lock()
		c.of.open--
		c.of.mu.Unlock()
		c.of.reserve.refill()
	})
	return err
}

func (c *conn) Write(p []byte) (int, error) {
	c.change(0, 1)
	defer c.change(0, -1)
	return c.Conn.Write(p)
}

// ReadFrom lets files be sent without a copy in between.
func (c *conn) ReadFrom(from io.Reader) (int64, error) {
	c.change(0, 1)
	defer c.change(0, -1)
	if below, ok := c.Conn.(io.ReaderFrom); ok {
		return below.ReadFrom(from)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, from)
}

// CloseWrite ends what is sent, and lets the client read it. net/http does so before it closes a connection whose
// request it has not read completely: closed at once it would be reset, and the answer lost.
func (c *conn) CloseWrite() error {
	if below, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return below.CloseWrite()
	}
	return nil
}

// NetConn is the connection as the listener below has accepted it.
func (c *conn) NetConn() net.Conn { return c.Conn }

type connKey struct{}

// Context has in it the connection of a listener of this package that accepted is, or is made of; for
// http.Server.ConnContext.
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

// Handler is h, which tells the connections of requests, as Context has put them into theirs, while they are answered.
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
			answering.Do(func() {}) // what is read from now on begins nothing
			if begun {
				c.change(-1, 0)
			}
		}()
		if r.Body == nil || r.Body == http.NoBody {
			begin()
		} else {
			c.begin()
			r = r.WithContext(r.Context()) // a copy: net/http decides by the type of its request's body
			r.Body = &body{r.Body, begin}
		}
		h.ServeHTTP(w, r)
	})
}

// body tells when it has been read.
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

package zookeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// wires are all connections of one client, one after the other. They
// tell what the client library keeps to itself: since when the session may have been
// counted down, the timeout that a server granted it, and why there is no session.
type wires struct {
	place *place
	ctx   context.Context // over: no connection any more
	hosts *hosts
	began time.Time

	mu      sync.Mutex
	current *wire
	// heard is when the latest request left of those that were answered, since began by the monotonic
	// clock: servers count a session's time from a request's arrival, so not from before, however
	// late the answer comes.
	heard   time.Duration
	granted time.Duration // session timeout
	trouble error         // why the last try failed
	// standing are requests that each connection sends before any other; see wires.always.
	standing [][]byte
	asked    int
	sessions int          // greetings that gave one
	brought  atomic.Int64 // bytes of answers to our own requests
}

func newWires(ctx context.Context, p *place, h *hosts) *wires {
	return &wires{place: p, ctx: ctx, hosts: h, began: time.Now(), granted: p.SessionTimeout}
}

// dial is the library's Dialer.
func (w *wires) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(w.ctx, timeout)
	defer cancel()
	c, err := w.place.Dial(ctx, network, address)
	if err != nil {
		w.failed(err)
		return nil, err
	}
	one := &wire{Conn: c, all: w, address: address, reader: bufio.NewReaderSize(c, 64<<10), waiting: map[int32]chan<- []byte{}, left: map[int32]time.Duration{}, rewatched: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		_ = c.Close()
		return nil, w.ctx.Err()
	}
	w.current = one
	return one, nil
}

// cut ends the connection under the library's hands.
func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current != nil {
		_ = w.current.Close()
	}
}

func (w *wires) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() == nil { // what fails at our own end is no trouble
		w.trouble = err
	}
}

// always sends a request now, and first of all on every later connection. Nobody
// hears the answer.
func (w *wires) always(code int32, body []byte) {
	packet := frame(firstOwn, code, body)
	w.mu.Lock()
	w.standing = append(w.standing, packet)
	c := w.current
	w.mu.Unlock()
	if c != nil && c.isGreeted() {
		_, _ = c.Write(packet)
	}
}

// errCut says that the connection ended before the answer.
var errCut = errors.New("the connection to ZooKeeper ended")

// ask sends a request that the client library doesn't have, on its connection and
// so in its session and order, and returns the answer's body.
func (w *wires) ask(ctx context.Context, code int32, body []byte) ([]byte, error) {
	w.mu.Lock()
	c := w.current
	w.asked++
	number := firstOwn - 1 - int32(w.asked%(1<<24))
	w.mu.Unlock()
	if c == nil {
		return nil, errCut
	}
	answer := make(chan []byte, 1)
	if !c.expect(number, answer) {
		return nil, errCut
	}
	defer c.forget(number)
	_, _ = c.Write(frame(number, code, body))
	select {
	case packet := <-answer:
		if packet == nil {
			return nil, errCut
		}
		code := zk.ErrCode(binary.BigEndian.Uint32(packet[12:]))
		return packet[replyBytes:], errorOf(code)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// firstOwn is the number of our first request; they go down from there. The
// library counts up from 1, and servers use -1 to -8.
const (
	firstOwn  = -100
	heartbeat = -2
)

// replyBytes are before each answer's body: number, transaction, error.
const replyBytes = 4 + 8 + 4

func frame(number, code int32, body []byte) []byte {
	packet := binary.BigEndian.AppendUint32(make([]byte, 0, 12+len(body)), uint32(8+len(body)))
	packet = binary.BigEndian.AppendUint32(packet, uint32(number))
	packet = binary.BigEndian.AppendUint32(packet, uint32(code))
	return append(packet, body...)
}

// wire is one connection. Answers to our own requests are taken out of what the library reads.
type wire struct {
	net.Conn
	all     *wires
	address string
	reader  *bufio.Reader // one system call brings many answers
	rest    int           // bytes of the library's packet that it has not read yet
	// hold: no answer is read before the watches were set again; see settle.
	hold      bool
	first     bool // a first session: there are no watches yet
	rewatched chan struct{}
	once      sync.Once
	silence   time.Duration // how long the library waits for a packet

	writing sync.Mutex

	mu       sync.Mutex
	greeting []byte // the first bytes that were read, until there is a session
	greeted  bool
	useful   bool // it brought an answer
	closed   bool
	waiting  map[int32]chan<- []byte
	// hello, left and beats are when what has no answer yet left: the request for a session, requests by
	// their numbers, and heartbeats, which have one number and are answered in their order.
	hello time.Duration
	left  map[int32]time.Duration
	beats []time.Duration
}

// greetingBytes of the server's first answer: length, protocol version, timeout and session id.
const greetingBytes = 4 + 4 + 4 + 8

func (c *wire) isGreeted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted
}

func (c *wire) expect(number int32, answer chan<- []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.greeted || c.closed {
		return false
	}
	c.waiting[number] = answer
	return true
}

func (c *wire) forget(number int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, number)
}

// Close is also called when a read or a write has failed.
func (c *wire) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for number, answer := range c.waiting {
		answer <- nil
		delete(c.waiting, number)
	}
	return err
}

func (c *wire) Read(b []byte) (int, error) {
	if c.hold && c.isGreeted() && c.rest == 0 {
		c.settle()
	}
	if c.isGreeted() && c.rest == 0 {
		if err := c.nextPacket(); err != nil {
			c.ended(err)
			return 0, err
		}
	}
	if c.rest > 0 {
		b = b[:min(len(b), c.rest)]
	}
	n, err := c.reader.Read(b)
	if c.isGreeted() {
		c.rest -= n
		if err == nil && c.rest > 0 {
			err = c.wait()
		}
		return n, err
	}
	if err != nil {
		c.all.failed(fmt.Errorf("%s gives no session (is it a ZooKeeper server, and one of a majority?): %w", c.address, err))
	}
	c.greet(b[:n])
	return n, err
}

// ended keeps why a connection was of no use, unless it was.
func (c *wire) ended(why error) {
	c.mu.Lock()
	useful := c.useful
	c.mu.Unlock()
	if !useful {
		c.all.failed(fmt.Errorf("%s gave a session, but the connection ended before any answer (is it a ZooKeeper server?): %w", c.address, why))
	}
}

// settle waits until the library has set its watches on a new connection. They are
// set as of the last transaction that it knows, which it reads without a lock beside
// the answers that change it: an answer that is read too early would hide what happened
// while there was no connection. Without watches nothing is set, and nothing waited for but the bound.
func (c *wire) settle() {
	bound := rewatchBound
	if c.first {
		bound = firstBound
	}
	c.hold = false
	select {
	case <-c.rewatched:
	case <-time.After(bound):
	}
}

const (
	opSetWatches = 101
	rewatchBound = 500 * time.Millisecond
	// firstBound lets the library find, in a first session, that it has no watches to set
	// before the first answer gives it one.
	firstBound = 2 * time.Millisecond
)

// wait gives the server the time anew in which it has to send something more. A large answer comes over a slow
// connection in many pieces.
func (c *wire) wait() error {
	return c.Conn.SetReadDeadline(time.Now().Add(c.silence))
}

// nextPacket hands out answers to our own requests until a packet of the library's comes.
func (c *wire) nextPacket() error {
	for {
		head, err := c.reader.Peek(8)
		if err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint32(head))
		number := int32(binary.BigEndian.Uint32(head[4:]))
		c.answered(number)
		if number > firstOwn {
			c.rest = 4 + length
			return nil
		}
		if length < replyBytes {
			return fmt.Errorf("an answer of %d bytes", length)
		}
		packet := make([]byte, 4+length)
		for n := 0; n < len(packet); {
			some, err := c.reader.Read(packet[n:])
			if n += some; err == nil {
				err = c.wait()
			}
			if err != nil {
				return err
			}
			c.all.brought.Add(int64(some))
		}
		c.mu.Lock()
		if answer := c.waiting[number]; answer != nil {
			answer <- packet[4:]
			delete(c.waiting, number)
		}
		c.mu.Unlock()
	}
}

// greet looks at the answer that grants a session.
func (c *wire) greet(b []byte) {
	c.mu.Lock()
	c.greeting = append(c.greeting, b...)
	if len(c.greeting) < greetingBytes {
		c.mu.Unlock()
		return
	}
	c.rest = 4 + int(binary.BigEndian.Uint32(c.greeting)) - len(c.greeting)
	session := binary.BigEndian.Uint64(c.greeting[12:])
	granted := time.Duration(binary.BigEndian.Uint32(c.greeting[8:])) * time.Millisecond
	c.greeted, c.greeting = true, nil
	hello := c.hello
	c.mu.Unlock()
	if session == 0 {
		return // expired
	}
	w := c.all
	w.arrived(hello)
	w.mu.Lock()
	w.granted = granted
	c.hold, c.first = true, w.sessions == 0
	w.sessions++
	standing := append([][]byte(nil), w.standing...)
	w.mu.Unlock()
	for _, packet := range standing {
		_, _ = c.Write(packet)
	}
}

// Write sends whole packets: the library gives one at a time. A failure ends the
// connection and is told by Read alone: told by Write, the library would answer the request
// while it may still be decoding the server's answer to it, which is a data race.
func (c *wire) Write(b []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(b) >= 12 && binary.BigEndian.Uint32(b[8:]) == opSetWatches {
		c.once.Do(func() { close(c.rewatched) })
	}
	c.leaves(b)
	if n, err := c.Conn.Write(b); err != nil {
		c.all.place.Logger.Debug("a write to ZooKeeper failed", "server", c.address, "sent", n, "error", err)
		_ = c.Close()
	}
	return len(b), nil
}

// SetReadDeadline gives a server that takes connections and says nothing less time
// than the library would, which is several session timeouts.
func (c *wire) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		c.silence = time.Until(t)
	}
	if most := time.Now().Add(max(c.all.place.SessionTimeout/4, 500*time.Millisecond)); !c.isGreeted() && t.After(most) {
		t = most
	}
	return c.Conn.SetReadDeadline(t)
}

// Package descriptors keeps the API reachable while the process has no file descriptors left, and prevents the API's
// clients from using all of them. Its listeners bound the number of connections and hold some descriptors in reserve,
// with which they accept connections that would otherwise fail. The log says what is wrong and what to do.
//
// Slow clients cannot block others. If there is no room for a new connection, the listener closes the connection that
// has waited longest for its client: for a request, for the rest of a request, or for the client to read its answer.
// Handler and Context tell the connections which requests are being answered.
//
// A descriptor lent to a connection returns to the reserve when a connection is closed. In the moment between the
// close and the refill, another part of the process may take the descriptor; so the reserve is refilled immediately
// after each close.
package descriptors

import (
	"container/list"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// warnInterval is the minimum interval between two equal warnings.
const warnInterval = time.Minute

// raiseLimit is the advice for a limit that is too low.
const raiseLimit = "raise the limit (ulimit -n, LimitNOFILE of systemd)"

// Limit returns how many descriptors the process may have open. The Go runtime has already raised the soft limit to
// the hard limit.
func Limit() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return int(min(limit.Cur, math.MaxInt32)), nil
}

// Reserve holds descriptors for the connections of its listeners.
type Reserve struct {
	size, maxConns int
	log            *slog.Logger
	now            func() time.Time

	mu     sync.Mutex
	spare  []*os.File
	closed bool
	out    bool // no descriptors are left for connections
	warned bool // the log has reported it

	warnedOut, warnedConns time.Time
}

// New returns a reserve of size descriptors. maxConns is the maximum number of connections of each of its listeners. It
// returns an error if the process cannot open size descriptors.
func New(size, maxConns int, log *slog.Logger, now func() time.Time) (*Reserve, error) {
	r := &Reserve{size: size, maxConns: maxConns, log: log, now: now}
	if !r.fill(size) {
		err := fmt.Errorf("reserve %d file descriptors for the API: there are not so many left; %s", size, raiseLimit)
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close closes the descriptors of the reserve. Connections accepted with them stay open.
func (r *Reserve) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, file := range r.spare {
		errs = append(errs, file.Close())
	}
	r.spare, r.closed = nil, true
	return errors.Join(errs...)
}

// Out reports whether no descriptors are left for connections except those in reserve.
func (r *Reserve) Out() bool {
	r.recover()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out
}

// Warning returns what an operator should know about the descriptors, or "".
func (r *Reserve) Warning() string {
	if !r.Out() {
		return ""
	}
	return "this server has used up its file descriptors: find what holds them, or " + raiseLimit
}

// Listener returns a listener that accepts connections of l, with the reserve if there is no other descriptor. To make
// room for a new connection, when there are as many as allowed or when the process has no descriptors left, it closes
// the connection that has waited longest for its client.
func (r *Reserve) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, reserve: r, ended: make(chan struct{})}
}

type listener struct {
	net.Listener
	reserve   *Reserve
	closeOnce sync.Once
	ended     chan struct{}

	mu      sync.Mutex
	open    int
	waiting list.List // connections that wait for their clients, the longest first
}

// Close closes the listener and ends a pending Accept.
func (l *listener) Close() error {
	l.closeOnce.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	r := l.reserve
	for {
		r.refill()
		conn, err := l.Listener.Accept()
		lent := isOut(err)
		if lent {
			r.outOfDescriptors(err)
			conn, err = l.acceptLent()
		}
		switch {
		case conn != nil:
			return l.admit(conn, lent)
		case err != nil && !(isOut(err) && r.hasSpare()):
			return nil, err // with an empty reserve net/http retries a little later
		}
	}
}

// admit makes room for a connection by closing others that wait for their clients. While all others are being
// answered, it waits.
func (l *listener) admit(accepted net.Conn, lent bool) (net.Conn, error) {
	if lent {
		l.closeLongestWaiting() // the freed descriptor refills the reserve
	} else {
		l.reserve.recover()
	}
	conn := &conn{Conn: accepted, listener: l}
	for !l.enter(conn) {
		l.reserve.tooManyConnections()
		if l.closeLongestWaiting() {
			continue
		}
		select {
		case <-time.After(waitTime):
		case <-l.ended:
			_ = accepted.Close() // the server no longer serves it
			return nil, net.ErrClosed
		}
	}
	return conn, nil
}

// enter counts the connection. It returns false if there are already as many as allowed.
func (l *listener) enter(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.reserve.maxConns {
		return false
	}
	l.open++
	c.update()
	return true
}

// closeLongestWaiting closes the connection that has waited longest for its client, and reports whether there was one.
// A connection that began to wait a moment ago does not count: its client may already have sent a request, or the end
// of the last answer may still be in transit.
func (l *listener) closeLongestWaiting() bool {
	longest := l.longestWaiting()
	if longest == nil {
		return false
	}
	_ = longest.Close() // its server notices that it is closed
	return true
}

// longestWaiting returns nil if no connection has waited for at least waitTime.
func (l *listener) longestWaiting() *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	front := l.waiting.Front()
	if front == nil {
		return nil
	}
	if c := front.Value.(*conn); l.reserve.now().Sub(c.since) >= waitTime {
		return c
	}
	return nil
}

// acceptLent accepts a connection with a descriptor of the reserve. It returns nil without an error if none is
// pending. It frees the descriptor only when a connection is pending, because other parts of the process could take
// the descriptor while Accept blocks.
func (l *listener) acceptLent() (net.Conn, error) {
	if waits, err := l.pollPending(); err != nil || !waits {
		return nil, err
	}
	if !l.reserve.lend() {
		l.closeLongestWaiting()
		if !l.reserve.lend() {
			return nil, syscall.EMFILE
		}
	}
	return l.Listener.Accept()
}

// isOut reports whether an error means that the process, or the machine, has no descriptors left.
func isOut(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// waitTime is how long to wait for a connection, or for room for one, before looking again. It is also the minimum
// time that a connection has for its request.
const waitTime = 100 * time.Millisecond

// pollPending blocks for at most waitTime and reports whether a connection is pending. It returns true for a listener
// that it cannot poll.
func (l *listener) pollPending() (waits bool, err error) {
	of, ok := l.Listener.(syscall.Conn)
	if !ok {
		return true, nil
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return false, err
	}
	err = raw.Control(func(fd uintptr) {
		n, pollErr := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(waitTime.Milliseconds()))
		waits = n > 0 || pollErr != nil && !errors.Is(pollErr, unix.EINTR)
	})
	return waits, err
}

func (r *Reserve) hasSpare() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.spare) > 0
}

// refill opens descriptors until the reserve has its size.
func (r *Reserve) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fill(r.size)
}

// fill opens descriptors until there are size, and reports whether it succeeded. The caller holds r.mu.
func (r *Reserve) fill(size int) bool {
	for len(r.spare) < size && !r.closed {
		file, err := os.Open(os.DevNull)
		if err != nil {
			return false
		}
		r.spare = append(r.spare, file)
	}
	return true
}

// lend closes one descriptor of the reserve, so that it can be used for a connection. It returns false if the reserve
// is empty.
func (r *Reserve) lend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.spare)
	if n == 0 {
		return false
	}
	file := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return file.Close() == nil
}

// outOfDescriptors records that the process has no descriptors left, and logs it.
func (r *Reserve) outOfDescriptors(why error) {
	r.mu.Lock()
	r.out = true
	warn := r.mayWarn(&r.warnedOut)
	r.warned = r.warned || warn
	left := len(r.spare)
	r.mu.Unlock()
	if warn {
		limit, _ := Limit() // 0 if unknown
		r.log.Warn("out of file descriptors: idle connections are closed for new ones, and new streams are refused, until some are free; find what holds them, or "+raiseLimit,
			"limit", limit, "reserve", left, "error", why)
	}
}

// recover records that descriptors are available again: enough for the whole reserve and a quarter more. With fewer,
// the next connections would use them up and the state would flap.
func (r *Reserve) recover() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.out {
		return
	}
	free := r.fill(r.size + max(r.size/4, 1))
	for len(r.spare) > r.size {
		last := len(r.spare) - 1
		_ = r.spare[last].Close() // it is /dev/null
		r.spare = r.spare[:last]
	}
	if !free {
		return
	}
	r.out = false
	if r.warned {
		r.warned = false
		r.log.Info("file descriptors available again")
	}
}

// tooManyConnections logs that the limit of connections is reached.
func (r *Reserve) tooManyConnections() {
	r.mu.Lock()
	warn := r.mayWarn(&r.warnedConns)
	r.mu.Unlock()
	if warn {
		r.log.Warn("too many connections: those idle for longest are closed for new ones; find clients that hold many", "limit", r.maxConns)
	}
}

// mayWarn reports whether a message may be logged now, given when it was last logged, and records that it is. The
// caller holds r.mu.
func (r *Reserve) mayWarn(last *time.Time) bool {
	now := r.now()
	if !last.IsZero() && now.Sub(*last) < warnInterval {
		return false
	}
	*last = now
	return true
}

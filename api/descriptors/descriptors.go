// Package descriptors keeps the API reachable while the process has no file descriptors left, and prevents the API's
// clients from using all of them. Its listeners bound the number of connections and hold some descriptors in reserve,
// with which they accept connections that would otherwise fail. The log tells an operator about it.
//
// Slow clients cannot block others. If there is no room for a new connection, the listener closes the connection that
// has waited longest for its client: for a request, for the rest of a request, or for the client to read its answer.
// Handler and Context tell the connections which requests are being answered.
//
// A reserve that has lent a descriptor to a connection is refilled immediately after any connection is closed.
// Otherwise another part of the process could take the free descriptor first.
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

// raiseLimit is advice for an operator, in messages about a lack of descriptors.
const raiseLimit = "raise the limit (ulimit -n, LimitNOFILE of systemd)"

// Limit returns the maximum number of descriptors that the process may have open. The Go runtime has already raised
// the soft limit to the hard limit.
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

	mu        sync.Mutex
	spare     []*os.File // the descriptors in reserve
	closed    bool
	out       bool // no descriptors are left except those in reserve
	outLogged bool // the log has reported that

	lastOutWarning, lastConnsWarning time.Time
}

// New returns a reserve of size descriptors. maxConns is the maximum number of connections of each of its listeners.
// New returns an error if the process cannot open size descriptors.
func New(size, maxConns int, log *slog.Logger, now func() time.Time) (*Reserve, error) {
	r := &Reserve{size: size, maxConns: maxConns, log: log, now: now}
	if !r.fill(size) {
		err := fmt.Errorf("reserve %d file descriptors for the API: fewer are left; %s", size, raiseLimit)
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

// Out reports whether no descriptors are left except those in reserve.
func (r *Reserve) Out() bool {
	r.recover()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out
}

// Warning returns a warning for an operator if no descriptors are left, or "".
func (r *Reserve) Warning() string {
	if !r.Out() {
		return ""
	}
	return "this server has used up its file descriptors: find what holds them, or " + raiseLimit
}

// Listener returns a listener that accepts the connections of l, with a descriptor of the reserve if there is no
// other. If there are already maxConns connections, or if the process has no descriptors left, the listener closes the
// connection that has waited longest for its client.
func (r *Reserve) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, reserve: r, ended: make(chan struct{})}
}

type listener struct {
	net.Listener
	reserve   *Reserve
	closeOnce sync.Once
	ended     chan struct{}

	mu           sync.Mutex
	open         int       // the number of open connections
	waitingConns list.List // the connections that wait for their clients; the one that has waited longest is the first
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
		lent := isOutOfDescriptors(err)
		if lent {
			r.outOfDescriptors(err)
			conn, err = l.acceptLent()
		}
		switch {
		case conn != nil:
			return l.admit(conn, lent)
		case err != nil && !(isOutOfDescriptors(err) && r.hasSpare()):
			return nil, err // if the reserve is empty, net/http retries after a delay
		}
	}
}

// admit makes room for a connection by closing connections that wait for their clients. If there are none, it waits.
// lent says whether the connection has a descriptor of the reserve.
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
			_ = accepted.Close() // the server has stopped
			return nil, net.ErrClosed
		}
	}
	return conn, nil
}

// enter counts the connection. It returns false if there are already maxConns connections.
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

// closeLongestWaiting closes the connection that has waited longest for its client. It returns false if no connection
// has waited for at least waitTime: after a shorter wait, the client may already have sent a request, or the end of
// the last answer may still be in transit.
func (l *listener) closeLongestWaiting() bool {
	longest := l.longestWaiting()
	if longest == nil {
		return false
	}
	_ = longest.Close() // the server of the connection notices the close
	return true
}

// longestWaiting returns the connection that has waited longest for its client, or nil if none has waited for at least
// waitTime.
func (l *listener) longestWaiting() *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	front := l.waitingConns.Front()
	if front == nil {
		return nil
	}
	if c := front.Value.(*conn); l.reserve.now().Sub(c.waitingSince) >= waitTime {
		return c
	}
	return nil
}

// acceptLent accepts a connection with a descriptor of the reserve. If no connection is pending, it returns nil
// without an error. It frees the descriptor only when a connection is pending, because other parts of the process
// could take the descriptor while Accept blocks.
func (l *listener) acceptLent() (net.Conn, error) {
	if pending, err := l.pollPending(); err != nil || !pending {
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

// isOutOfDescriptors reports whether an error means that the process, or the machine, has no descriptors left.
func isOutOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// waitTime is the interval of checks for a pending connection and for room for a connection. It is also the minimum
// time that a client has for its request.
const waitTime = 100 * time.Millisecond

// pollPending blocks for at most waitTime and reports whether a connection is pending. It returns true for a listener
// that it cannot poll.
func (l *listener) pollPending() (pending bool, err error) {
	underlying, ok := l.Listener.(syscall.Conn)
	if !ok {
		return true, nil
	}
	raw, err := underlying.SyscallConn()
	if err != nil {
		return false, err
	}
	err = raw.Control(func(fd uintptr) {
		n, pollErr := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(waitTime.Milliseconds()))
		pending = n > 0 || pollErr != nil && !errors.Is(pollErr, unix.EINTR)
	})
	return pending, err
}

func (r *Reserve) hasSpare() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.spare) > 0
}

// refill opens descriptors until the reserve is full, or until there are no more.
func (r *Reserve) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fill(r.size)
}

// fill opens descriptors until the reserve has size of them. It returns false if it cannot open that many. The
// caller holds r.mu.
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

// outOfDescriptors records that the process has no descriptors left, and logs it at most once per warnInterval.
func (r *Reserve) outOfDescriptors(cause error) {
	r.mu.Lock()
	r.out = true
	warn := r.mayWarn(&r.lastOutWarning)
	r.outLogged = r.outLogged || warn
	left := len(r.spare)
	r.mu.Unlock()
	if warn {
		limit, _ := Limit() // 0 if unknown
		r.log.Warn("out of file descriptors: idle connections are closed to make room for new ones, and new streams are refused, until descriptors are free again; find what holds them, or "+raiseLimit,
			"limit", limit, "reserve", left, "error", cause)
	}
}

// recover records that descriptors are left again, once the whole reserve and a quarter more can be opened. If fewer
// sufficed, the next connections would use them up, and the state would change back and forth.
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
	if r.outLogged {
		r.outLogged = false
		r.log.Info("file descriptors available again")
	}
}

// tooManyConnections logs that the limit of connections is reached, at most once per warnInterval.
func (r *Reserve) tooManyConnections() {
	r.mu.Lock()
	warn := r.mayWarn(&r.lastConnsWarning)
	r.mu.Unlock()
	if warn {
		r.log.Warn("too many connections: those idle for longest are closed to make room for new ones; find clients that hold many",
			"limit", r.maxConns)
	}
}

// mayWarn reports whether warnInterval has passed since last, the time at which the same warning was logged. If so, it
// sets last to now. The caller holds r.mu.
func (r *Reserve) mayWarn(last *time.Time) bool {
	now := r.now()
	if !last.IsZero() && now.Sub(*last) < warnInterval {
		return false
	}
	*last = now
	return true
}

// Package descriptors keeps the API within reach while the process has no file descriptors left, and keeps the API's
// clients from taking all of them: its listeners keep so many connections at most, and hold some descriptors in
// reserve, with which they accept connections that would fail otherwise. The log says what is wrong and what to do.
//
// Clients that take their time keep nobody out: where there is no room for another connection, the one is closed whose
// client is waited for longest, be it for a request, for the rest of one, or for it to read its answer. Handler and
// Context tell the connections which requests are being answered.
//
// A descriptor that was lent to a connection comes back when that is closed. In the moment between, another part of
// the process may take it: the reserve is refilled as soon as a connection is closed.
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

// warnInterval is after how long the log says the same again.
const warnInterval = time.Minute

// raiseLimit says what to do about a limit that is too low.
const raiseLimit = "raise the limit (ulimit -n, LimitNOFILE of systemd)"

// Limit is how many descriptors the process may have open. The Go runtime has raised it to the hard limit at its
// start.
func Limit() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return int(min(limit.Cur, math.MaxInt32)), nil
}

// Reserve holds descriptors for the connections of listeners.
type Reserve struct {
	size, most int
	log        *slog.Logger
	now        func() time.Time

	mu     sync.Mutex
	spare  []*os.File
	closed bool
	out    bool // there are no descriptors left for connections
	warned bool // the log says so, too

	warnedOut, warnedMost time.Time
}

// New makes a reserve of size descriptors, for listeners each of which has most connections. The error says that the
// process does not have so many descriptors.
func New(size, most int, log *slog.Logger, now func() time.Time) (*Reserve, error) {
	r := &Reserve{size: size, most: most, log: log, now: now}
	if !r.fill(size) {
		err := fmt.Errorf("reserve %d file descriptors for the API: there are not so many left; %s", size, raiseLimit)
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close gives the reserve back. Connections that were accepted with it go on.
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

// Out reports whether there are no descriptors left for connections but those in reserve.
func (r *Reserve) Out() bool {
	r.recover()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out
}

// Warning is what an operator should know of the descriptors, or "".
func (r *Reserve) Warning() string {
	if !r.Out() {
		return ""
	}
	return "this server has used up its file descriptors: look for what holds them, or " + raiseLimit
}

// Listener is l, which accepts connections with the reserve when there is no other descriptor. It keeps as many
// connections as it may have: for another one, and while the process has no descriptors left, it closes the one that
// has waited longest for its client.
func (r *Reserve) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, reserve: r, ended: make(chan struct{})}
}

type listener struct {
	net.Listener
	reserve *Reserve
	end     sync.Once
	ended   chan struct{}

	mu      sync.Mutex
	open    int
	waiting list.List // connections that wait for their clients, the longest first
}

// Close ends Accept, too.
func (l *listener) Close() error {
	l.end.Do(func() { close(l.ended) })
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
			return nil, err // without a reserve left, net/http tries again a little later
		}
	}
}

// admit makes room for a connection by closing others that wait for their clients. While all others are being
// answered, it waits until one is not.
func (l *listener) admit(accepted net.Conn, lent bool) (net.Conn, error) {
	if lent {
		l.closeLongestWaiting() // its descriptor refills the reserve
	} else {
		l.reserve.recover()
	}
	conn := &conn{Conn: accepted, of: l}
	for !l.enter(conn) {
		l.reserve.tooManyConnections()
		if l.closeLongestWaiting() {
			continue
		}
		select {
		case <-time.After(waitTime):
		case <-l.ended:
			_ = accepted.Close() // nobody serves it any more
			return nil, net.ErrClosed
		}
	}
	return conn, nil
}

// enter counts the connection unless there are as many as there may be.
func (l *listener) enter(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.reserve.most {
		return false
	}
	l.open++
	c.update()
	return true
}

// closeLongestWaiting reports whether there was a connection to close. One that began to wait a moment ago is none:
// its client may have sent the request already, or the end of the last answer may still be on its way out.
func (l *listener) closeLongestWaiting() bool {
	longest := l.longestWaiting()
	if longest == nil {
		return false
	}
	_ = longest.Close() // its server sees it as closed
	return true
}

// longestWaiting is nil if no connection waits for longer than a moment.
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

// acceptLent accepts a connection with a descriptor of the reserve; nil without an error if none waits. Before one
// waits the descriptor is not freed, because all parts of the process could take it while Accept waits.
func (l *listener) acceptLent() (net.Conn, error) {
	if waits, err := l.waits(); err != nil || !waits {
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

// isOut reports errors of a process, or of a machine, without descriptors.
func isOut(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// waitTime is how long is waited for a connection, or for room for one, before it is looked for again; so long, at
// least, a connection has for its request.
const waitTime = 100 * time.Millisecond

// waits waits a little, and reports whether a connection can be accepted. What it can't look into has one.
func (l *listener) waits() (waits bool, err error) {
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

// refill takes descriptors until the reserve has its size.
func (r *Reserve) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fill(r.size)
}

// fill takes descriptors until there are size, and reports whether there are. r.mu is held.
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

// lend frees one descriptor of the reserve, if there is one.
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

// outOfDescriptors notes that the process has no descriptors left, and tells the log.
func (r *Reserve) outOfDescriptors(why error) {
	r.mu.Lock()
	r.out = true
	warn := r.due(&r.warnedOut)
	r.warned = r.warned || warn
	left := len(r.spare)
	r.mu.Unlock()
	if warn {
		limit, _ := Limit() // 0 says that it is not known
		r.log.Warn("out of file descriptors: connections that wait for their clients are closed for new ones, and "+
			"nothing new is followed, until some are free; look for what holds them, or "+raiseLimit,
			"limit", limit, "reserve", left, "error", why)
	}
}

// recover notes that there are descriptors again: all of the reserve, and a quarter as many besides. With fewer the
// next connections would take them, and the state would change with each of them.
func (r *Reserve) recover() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.out {
		return
	}
	free := r.fill(r.size + max(r.size/4, 1))
	for len(r.spare) > r.size {
		last := len(r.spare) - 1
		_ = r.spare[last].Close() // of /dev/null
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

// tooManyConnections tells the log.
func (r *Reserve) tooManyConnections() {
	r.mu.Lock()
	warn := r.due(&r.warnedMost)
	r.mu.Unlock()
	if warn {
		r.log.Warn("too many connections of the API's clients: those that wait longest for their clients are closed "+
			"for new ones; look for clients that hold many", "most", r.most)
	}
}

// due reports whether the log is to say something that it said last at a time, and notes that it does. r.mu is held.
func (r *Reserve) due(last *time.Time) bool {
	now := r.now()
	if !last.IsZero() && now.Sub(*last) < warnInterval {
		return false
	}
	*last = now
	return true
}

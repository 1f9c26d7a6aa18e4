// Package descriptors keeps the API within reach while the process has no file descriptors left, and keeps the API's
// clients from taking all of them: its listeners accept so many connections at most, and hold some descriptors in
// reserve, with which they accept connections that would fail otherwise. The log says what is wrong and what to do.
//
// A descriptor that was lent to a connection comes back when that is closed. In the moment between, another part of the
// process may take it: the reserve is refilled as soon as a connection is closed.
package descriptors

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// warnInterval is after how long without descriptors the log says it again.
const warnInterval = time.Minute

// raiseLimit says what to do about a limit that is too low.
const raiseLimit = "raise the limit (ulimit -n, LimitNOFILE of systemd)"

// Limit is how many descriptors the process may have open. The Go runtime has raised it to the hard limit at its start.
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

	mu      sync.Mutex
	spare   []*os.File
	closed  bool
	out     bool // there are no descriptors left for connections
	warned  time.Time
	changed []func(out bool)
}

// New makes a reserve of size descriptors, for listeners each of which has most connections. The error says that the
// process does not have so many descriptors.
func New(size, most int, log *slog.Logger, now func() time.Time) (*Reserve, error) {
	r := &Reserve{size: size, most: most, log: log, now: now}
	if !r.refill() {
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

// Listener is l, which accepts connections with the reserve when there is no other descriptor. changed, which should
// close connections that do nothing, is told when descriptors are short, and when there are some again.
func (r *Reserve) Listener(l net.Listener, changed func(out bool)) net.Listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, changed)
	return &listener{Listener: l, reserve: r, ended: make(chan struct{})}
}

type listener struct {
	net.Listener
	reserve *Reserve
	open    atomic.Int64 // connections
	end     sync.Once
	ended   chan struct{}
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
		full := r.refill()
		if l.open.Load() >= int64(r.most) {
			r.set(true, fmt.Errorf("the API's clients have %d connections, as many as they may", r.most))
			select {
			case <-time.After(waitTime):
				continue
			case <-l.ended:
				return nil, net.ErrClosed
			}
		}
		conn, err := l.Listener.Accept()
		switch {
		case isOut(err):
			r.set(true, err)
			conn, err = l.acceptLent()
		case err == nil && full:
			r.set(false, nil)
		}
		switch {
		case conn != nil:
			l.open.Add(1)
			return &counted{Conn: conn, of: l}, nil
		case err != nil && !(isOut(err) && r.hasSpare()):
			return nil, err // without a reserve left, net/http tries again a little later
		}
	}
}

// acceptLent accepts a connection with a descriptor of the reserve; nil without an error if none waits. Before one
// waits the descriptor is not freed, because all parts of the process could take it while Accept waits.
func (l *listener) acceptLent() (net.Conn, error) {
	if waits, err := l.waits(); err != nil || !waits {
		return nil, err
	}
	if !l.reserve.lend() {
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

// isOut reports errors of a process, or of a machine, without descriptors.
func isOut(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// waitTime is how long is waited for a connection before descriptors are looked for again.
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

// counted is a connection of a listener.
type counted struct {
	net.Conn
	of  *listener
	end sync.Once
}

// Close ends the connection, and refills the reserve with its descriptor.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.end.Do(func() {
		c.of.open.Add(-1)
		c.of.reserve.refill()
	})
	return err
}

// ReadFrom lets files be sent without a copy in between.
func (c *counted) ReadFrom(from io.Reader) (int64, error) {
	if below, ok := c.Conn.(io.ReaderFrom); ok {
		return below.ReadFrom(from)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, from)
}

// NetConn is the connection as the listener below has accepted it.
func (c *counted) NetConn() net.Conn { return c.Conn }

func (r *Reserve) hasSpare() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.spare) > 0
}

// refill takes descriptors until the reserve has its size, and reports whether it has.
func (r *Reserve) refill() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.spare) < r.size && !r.closed {
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

// set notes whether the process has descriptors left, and tells the log and the listeners' owners.
func (r *Reserve) set(out bool, why error) {
	r.mu.Lock()
	changed := r.out != out
	r.out = out
	warn := out && (r.warned.IsZero() || r.now().Sub(r.warned) >= warnInterval)
	if warn {
		r.warned = r.now()
	}
	left, owners := len(r.spare), r.changed
	r.mu.Unlock()
	if warn {
		limit, _ := Limit() // 0 says that it is not known
		r.log.Warn("out of file descriptors: few connections are accepted, and nothing new is followed, until some are "+
			"closed; look for what holds them, or "+raiseLimit, "limit", limit, "reserve", left, "error", why)
	}
	if !changed {
		return
	}
	if !out {
		r.log.Info("file descriptors available again")
	}
	for _, tell := range owners {
		tell(out)
	}
}

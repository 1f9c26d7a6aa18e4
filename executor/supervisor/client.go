package supervisor

import (
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/internal/lease"
)

// Client is the executor's connection to a supervisor. Any goroutine may call its methods.
type Client struct {
	command *exec.Cmd // nil if this process is its own supervisor
	conn    *net.UnixConn
	files   *net.UnixConn // carries the descriptors for processes
	reader  sync.WaitGroup
	lost    chan struct{}
	close   func() error

	sendMu  sync.Mutex
	encoder *gob.Encoder

	// patience and lastWait are constants, except in tests.
	patience, lastWait time.Duration

	mu        sync.Mutex
	lastID    uint64
	processes map[uint64]*Process // nil once the supervisor is lost
}

// Process is the main process of a task. Its end includes the end of all of its descendants.
type Process struct {
	// PID and Started are set when Start returns.
	PID     int
	Started time.Time

	client  *Client
	id      uint64
	givesUp bool // Spec.GiveUp
	started chan error
	done    chan struct{}
	exit    Exit

	// giveUp runs once the process should have ended after a kill; nil before. giveUpAt is when. Client.mu guards both.
	giveUp   *time.Timer
	giveUpAt time.Time
}

// Launch starts a supervisor by running the program exe with args; that program must call [isolation.Enter] and
// then [Serve]. The supervisor gets an empty environment and its own process group. If hidden is not nil, the
// supervisor and all of its descendants can't see these places.
func Launch(hidden *isolation.Places, exe string, args ...string) (*Client, error) {
	raiseUserLimit()
	c, supervisorEnds, err := connect()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	defer closeAll(supervisorEnds)
	command := exec.Command(exe, args...)
	command.Args[0] = "executor"
	command.Env = []string{}
	command.Stderr = os.Stderr
	command.ExtraFiles = supervisorEnds // become descriptors 3 and 4
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := command.Start
	if hidden != nil {
		start = func() error { return hidden.Start(command.SysProcAttr, &command.Env, command.Start) }
	}
	if err := start(); err != nil {
		c.closeSockets()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	c.command = command
	c.reader.Go(c.read)
	c.reader.Go(c.continueStopped)
	return c, nil
}

// connect creates the two socket pairs. It returns a client with the executor's ends, and the supervisor's ends.
func connect() (*Client, []*os.File, error) {
	conn, connEnd, err := socketPair(unix.SOCK_STREAM)
	if err != nil {
		return nil, nil, err
	}
	files, filesEnd, err := socketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		_, _ = conn.Close(), connEnd.Close()
		return nil, nil, err
	}
	c := &Client{conn: conn, files: files, lost: make(chan struct{}), encoder: gob.NewEncoder(conn),
		patience: defaultPatience, lastWait: lastWait, processes: map[uint64]*Process{}}
	c.close = sync.OnceValue(c.end)
	return c, []*os.File{connEnd, filesEnd}, nil
}

func (c *Client) closeSockets() { _, _ = c.conn.Close(), c.files.Close() }

// socketPair creates a pair of connected sockets, the executor's and the supervisor's.
func socketPair(kind int) (own *net.UnixConn, supervisorEnd *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	ownFile, supervisorEnd := os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "executor")
	conn, err := net.FileConn(ownFile) // duplicates the descriptor
	_ = ownFile.Close()
	if err != nil {
		_ = supervisorEnd.Close()
		return nil, nil, fmt.Errorf("use a socket pair: %w", err)
	}
	return conn.(*net.UnixConn), supervisorEnd, nil // FileConn returns this type for sockets of this family
}

// continueStopped continues the supervisor whenever a signal has stopped it, because a stopped supervisor ends no
// task. It returns when the supervisor is lost.
func (c *Client) continueStopped() {
	// The kernel sends this signal to a parent when a child stops.
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGCHLD)
	defer signal.Stop(stopped)
	for {
		select {
		case <-stopped:
			_ = c.command.Process.Signal(syscall.SIGCONT)
		case <-c.lost:
			return
		}
	}
}

// Inside makes this process its own supervisor for the rest of its life. The process must have no children, and
// must start none by other means. Close kills all remaining processes of all tasks.
func Inside() (*Client, error) {
	if err := Inherit(); err != nil {
		return nil, err
	}
	closeOnExec()
	c, supervisorEnds, err := connect()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	s, err := newServer(supervisorEnds[0], int(supervisorEnds[1].Fd()))
	if err != nil {
		closeAll(supervisorEnds)
		c.closeSockets()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	s.limit = nil // the container limits its tasks; fork would give this process the limit of a task
	go func() {
		_ = s.serve() // the client sees the end of the connection
		closeAll(supervisorEnds)
	}()
	c.reader.Go(c.read)
	return c, nil
}

// Inherit makes this process a subreaper, so that it inherits the processes of a supervisor that was killed.
func Inherit() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// PID returns the supervisor's process id.
func (c *Client) PID() int {
	if c.command == nil {
		return os.Getpid()
	}
	return c.command.Process.Pid
}

// Lost returns a channel that is closed when the supervisor has ended.
func (c *Client) Lost() <-chan struct{} { return c.lost }

// Start starts a process and returns as soon as it runs. If a step of the start fails in the supervisor, the error
// is a [*StartError]; once the supervisor is lost, it wraps ErrLost. The files become the process's descriptors from
// 1 on. Start always closes them, and does so before the process is forked: once the process runs, no other process
// holds its end of a pipe.
func (c *Client) Start(spec Spec, files ...*os.File) (*Process, error) {
	defer closeAll(files)
	p := &Process{client: c, givesUp: spec.GiveUp, started: make(chan error, 1), done: make(chan struct{})}
	c.mu.Lock()
	if c.processes == nil {
		c.mu.Unlock()
		return nil, ErrLost
	}
	c.lastID++
	p.id = c.lastID
	c.processes[p.id] = p
	c.mu.Unlock()
	if err := c.send(request{ID: p.id, Start: &spec, Files: len(files)}, files...); err != nil {
		c.mu.Lock()
		delete(c.processes, p.id)
		c.mu.Unlock()
		return nil, err
	}
	if err := <-p.started; err != nil {
		return nil, err
	}
	return p, nil
}

// StartError is the failure of one step of a start.
type StartError struct {
	// Op is "exec", or the name of an earlier step.
	Op    string
	Errno syscall.Errno
}

// Error names the step and the system's error.
func (e *StartError) Error() string { return e.Op + ": " + e.Errno.Error() }

// Unwrap returns the system's error number.
func (e *StartError) Unwrap() error { return e.Errno }

// Kill sends SIGTERM to the process group and, after grace, SIGKILL to all remaining processes of the task. Without
// grace it sends SIGKILL at once. It does not wait for the end of the processes. A later call can only shorten the
// grace. A process with Spec.GiveUp is given up if it has not ended a minute after SIGKILL: see Exit.Unkilled.
func (p *Process) Kill(grace time.Duration) error {
	p.client.giveUpAfter(p, grace+p.client.patience)
	return p.client.send(request{ID: p.id, Grace: grace})
}

const (
	// defaultPatience is how long after SIGKILL the client begins to give up a process.
	defaultPatience = lease.UnkilledAfter - lastWait
	// lastWait is how long the client then waits after another SIGKILL. If all processes of the machine were frozen
	// meanwhile, the supervisor has this time to do its work.
	lastWait = 10 * time.Second
)

// giveUpAfter makes the client begin to give up a process after some time, unless it does so earlier. It does nothing
// without Spec.GiveUp.
func (c *Client) giveUpAfter(p *Process, after time.Duration) {
	at := time.Now().Add(after)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.processes[p.id] != p || !p.givesUp:
	case p.giveUp == nil:
		p.giveUpAt = at
		p.giveUp = time.AfterFunc(after, func() {
			_ = c.send(request{ID: p.id})
			time.AfterFunc(c.lastWait, func() { c.abandon(p) })
		})
	case at.Before(p.giveUpAt) && p.giveUp.Stop():
		p.giveUpAt = at
		p.giveUp.Reset(after)
	}
}

// abandon ends the wait for a process that can't be killed.
func (c *Client) abandon(p *Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.processes[p.id] != p {
		return
	}
	delete(c.processes, p.id)
	p.exit = Exit{Killed: true, Unkilled: true, At: time.Now()}
	close(p.done)
}

// Renew moves the end of the process's lease to a later time of CLOCK_BOOTTIME.
func (p *Process) Renew(until time.Duration) error {
	return p.client.send(request{ID: p.id, Until: until})
}

// Done returns a channel that is closed when the process and all of its descendants have ended, when the client has
// given it up, or when the supervisor is lost.
func (p *Process) Done() <-chan struct{} { return p.done }

// WaitExit waits for Done and returns how the process ended. ok is false if the supervisor was lost first.
func (p *Process) WaitExit() (exit Exit, ok bool) {
	<-p.done
	return p.exit, !p.exit.At.IsZero()
}

// send sends a request. It sends the files of a start first, so that the supervisor, when it reads the request, never
// waits for them. The lock keeps both sockets in the same order. Once the second socket holds the descriptors, send
// closes the files, which is before the supervisor can fork the process.
func (c *Client) send(r request, files ...*os.File) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		_, _, err := c.files.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
			return fmt.Errorf("%w (%v)", ErrLost, err) // read may not have noticed it yet
		}
		if err != nil {
			return fmt.Errorf("pass descriptors to the supervisor: %w", err)
		}
		closeAll(files)
	}
	if err := c.encoder.Encode(r); err != nil {
		return fmt.Errorf("%w (%v)", ErrLost, err)
	}
	return nil
}

// closeAll closes files; some of them may be closed already.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// read handles the supervisor's events until the connection ends. Then the supervisor is lost, and so are all
// processes that it has not reported as ended.
func (c *Client) read() {
	decoder := gob.NewDecoder(c.conn)
	for {
		var e event
		if err := decoder.Decode(&e); err != nil {
			break
		}
		c.mu.Lock()
		p := c.processes[e.ID]
		if e.Exit != nil || e.Op != "" {
			delete(c.processes, e.ID)
			if p != nil && p.giveUp != nil {
				p.giveUp.Stop()
			}
		}
		c.mu.Unlock()
		if p == nil {
			continue
		}
		switch {
		case e.Op != "":
			p.started <- &StartError{Op: e.Op, Errno: syscall.Errno(e.Errno)}
		case e.Exit != nil:
			p.exit = *e.Exit
			close(p.done)
		case e.Left:
			c.giveUpAfter(p, c.patience)
		default:
			p.PID, p.Started = e.PID, e.At
			p.started <- nil
		}
	}
	c.mu.Lock()
	left := c.processes
	c.processes = nil
	c.mu.Unlock()
	for _, p := range left {
		select {
		case p.started <- ErrLost:
		default: // the process runs already, so no call waits for its start
		}
		close(p.done)
	}
	close(c.lost)
}

// Close kills the remaining processes of all tasks at once. It returns when all of them have ended, or when the
// supervisor is lost. Further calls return the same result.
func (c *Client) Close() error { return c.close() }

func (c *Client) end() error {
	_ = c.conn.CloseWrite()
	c.reader.Wait()
	var err error
	if c.command != nil {
		err = c.command.Wait()
	}
	c.closeSockets()
	if err != nil {
		return fmt.Errorf("end of supervisor: %w", err)
	}
	return nil
}

package supervisor

import (
	"encoding/gob"
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
)

// Client is the executor's connection to a supervisor. Any goroutine may call its methods.
type Client struct {
	command *exec.Cmd // nil if this process is its own supervisor
	conn    *net.UnixConn
	files   *net.UnixConn // descriptors for processes
	reader  sync.WaitGroup
	lost    chan struct{}
	close   func() error

	sendMu  sync.Mutex
	encoder *gob.Encoder

	mu        sync.Mutex
	last      uint64
	processes map[uint64]*Process // nil once the supervisor is lost
}

// Process is one task's main process, with all of its descendants.
type Process struct {
	// PID and Started are set when Start returns.
	PID     int
	Started time.Time

	client  *Client
	id      uint64
	started chan error
	done    chan struct{}
	exit    Exit
}

// Launch starts a supervisor by running the program exe with args; that program must call [isolation.Enter] and
// then [Serve]. The supervisor gets an empty environment and its own process group. If hidden is not nil, those
// places are hidden from the supervisor and all of its descendants.
func Launch(hidden *isolation.Places, exe string, args ...string) (*Client, error) {
	raiseUserLimit()
	c, theirs, err := connect()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	defer closeAll(theirs)
	command := exec.Command(exe, args...)
	command.Args[0] = "executor"
	command.Env = []string{}
	command.Stderr = os.Stderr
	command.ExtraFiles = theirs // become descriptors 3 and 4
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

// connect creates the client's sockets, and the supervisor's ends of them.
func connect() (*Client, []*os.File, error) {
	conn, theirs, err := socketPair(unix.SOCK_STREAM)
	if err != nil {
		return nil, nil, err
	}
	files, theirFiles, err := socketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		_, _ = conn.Close(), theirs.Close()
		return nil, nil, err
	}
	c := &Client{conn: conn, files: files, lost: make(chan struct{}), encoder: gob.NewEncoder(conn),
		processes: map[uint64]*Process{}}
	c.close = sync.OnceValue(c.end)
	return c, []*os.File{theirs, theirFiles}, nil
}

func (c *Client) closeSockets() { _, _ = c.conn.Close(), c.files.Close() }

// socketPair creates a pair of connected sockets: the executor's, and the supervisor's.
func socketPair(kind int) (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "executor")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("use a socket pair: %w", err)
	}
	return conn.(*net.UnixConn), theirs, nil // FileConn returns this type for sockets of this family
}

// continueStopped continues a supervisor that was stopped, because a stopped supervisor ends no task.
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

// Inside makes this process its own supervisor, as long as it lives. The process must have no children, and must
// start none by other means. Close kills all processes that are left of all tasks.
func Inside() (*Client, error) {
	if err := Inherit(); err != nil {
		return nil, err
	}
	closeOnExec()
	c, theirs, err := connect()
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	s, err := newServer(theirs[0], int(theirs[1].Fd()))
	if err != nil {
		closeAll(theirs)
		c.closeSockets()
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	s.limit = nil // the container limits tasks; fork would set a task's limit on this process
	go func() {
		_ = s.serve() // the client notices the end
		closeAll(theirs)
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

// Start starts a process and returns as soon as it runs. If a system call of the start fails, the error is a
// [*StartError]; if the supervisor has ended, it is ErrLost. The files become the process's descriptors from 1 on.
// Start always closes them, and before the process is forked: when the process runs, it alone holds its end of a
// pipe.
func (c *Client) Start(spec Spec, files ...*os.File) (*Process, error) {
	defer closeAll(files)
	p := &Process{client: c, started: make(chan error, 1), done: make(chan struct{})}
	c.mu.Lock()
	if c.processes == nil {
		c.mu.Unlock()
		return nil, ErrLost
	}
	c.last++
	p.id = c.last
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

// Kill sends SIGTERM to the process group and, after grace, SIGKILL to all processes that are left of the task. It
// does not wait for their end. A later call can shorten the grace.
func (p *Process) Kill(grace time.Duration) error {
	return p.client.send(request{ID: p.id, Grace: grace})
}

// Done returns a channel that is closed when the process has ended and nothing of it is left, or when the
// supervisor is lost.
func (p *Process) Done() <-chan struct{} { return p.done }

// WaitExit waits for Done and returns how the process ended. ok is false if the supervisor was lost first.
func (p *Process) WaitExit() (exit Exit, ok bool) {
	<-p.done
	return p.exit, !p.exit.At.IsZero()
}

// send sends a request, after the descriptors of a start, so that the supervisor never waits for them. The lock
// keeps the order of both sockets the same. The descriptors are closed before the request is sent: from then on the
// socket holds them.
func (c *Client) send(r request, files ...*os.File) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		if _, _, err := c.files.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil); err != nil {
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
		default:
		}
		close(p.done)
	}
	close(c.lost)
}

// Close kills all processes that are left of all tasks at once, and returns when none is left, or when the
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

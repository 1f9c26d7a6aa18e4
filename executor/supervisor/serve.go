package supervisor

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Descriptor is where the supervisor finds its socket, and the next one that by which it gets descriptors for
// processes.
const Descriptor = 3

// mostFiles is how many descriptors a process can get.
const mostFiles = 4

// Serve is the supervisor. It returns when the executor has closed the socket, or
// died, and none of the supervisor's descendants is left. It must be called from
// main, in a process that does nothing else: it reaps every child.
func Serve() error {
	// It does one thing at a time. With more, each start and end would wake another thread.
	runtime.GOMAXPROCS(1)
	// Orphans become children of the process's first thread. Tasks are forked on another
	// one, so that the list of the first thread's children is a list of orphans.
	runtime.LockOSThread()
	if err := Inherit(); err != nil {
		return err
	}
	// Handled and not ignored: an ignored signal would stay ignored in tasks.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)

	closeOnExec()
	startSpareThreads()
	s, err := newServer(os.NewFile(Descriptor, "executor"), Descriptor+1)
	if err != nil {
		return err
	}
	s.group = joinGroup()
	go continueParent(os.Getppid())
	err = s.serve()
	s.group.remove()
	return err
}

func newServer(socket io.ReadWriter, files int) (*server, error) {
	null, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", os.DevNull, err)
	}
	return &server{
		socket: socket, files: files, null: null, marks: ownMarks(), limit: newUserLimit(),
		encoder:   gob.NewEncoder(socket),
		processes: map[uint64]*process{}, byPID: map[int]*process{}, ending: map[*process]bool{},
		started: make(chan struct{}, 1), changed: make(chan struct{}), toSweep: make(chan struct{}, 1),
	}, nil
}

// serve returns when the executor has closed the socket and no descendant of this process is left. From its call on
// every child of this process is reaped, for as long as the process lives.
func (s *server) serve() error {
	go s.reap()
	go s.sweep()
	end := make(chan error)
	go s.fork(func() { end <- s.listen(s.socket) })
	err := <-end
	s.group = s.group.leave()
	s.killAll()
	return err
}

// fork calls f on a thread that tasks are forked on: they die with it (Pdeathsig). It is not the process's first one,
// which orphans become children of.
func (s *server) fork(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	go s.fork(f)
	select {} // so that the thread stays locked
}

type server struct {
	socket io.ReadWriter
	files  int // descriptors for processes come over this one
	null   int
	marks  marks
	limit  *userLimit // nil where none can be set

	group group

	sendMu  sync.Mutex
	encoder *gob.Encoder

	// mu is held while a process is forked and entered, and while one is reaped
	// or signalled: so no signal goes to a pid that was given to somebody else.
	mu        sync.Mutex
	processes map[uint64]*process
	byPID     map[int]*process
	ending    map[*process]bool // their main process was reaped, and something of them is left
	changed   chan struct{}     // closed and replaced whenever something was reaped, or a grace has ended

	started chan struct{} // wakes the reaper when there is a child again
	toSweep chan struct{} // wakes the sweeper when something is ending
}

type process struct {
	id     uint64
	pid    int
	marker string // NAME=value
	mark   uint64
	killed bool
	killAt time.Time
	timer  *time.Timer
	exit   Exit
}

func (s *server) listen(socket io.Reader) error {
	decoder := gob.NewDecoder(socket)
	for {
		var r request
		err := decoder.Decode(&r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from executor: %w", err)
		}
		if r.Start != nil {
			s.start(r.ID, r.Start, r.Files)
		} else {
			s.kill(r.ID, r.Grace)
		}
	}
}

func (s *server) send(e event) {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	_ = s.encoder.Encode(e) // an executor that is gone is noticed by the reader
}

// receive takes the descriptors of one start. It is called for each start that has some, so that those of the next are
// never taken for them. The caller closes what it returns, also beside an error.
func receive(socket, count int) (fds []int, err error) {
	space := make([]byte, unix.CmsgSpace(mostFiles*4)) // a descriptor has 4 bytes
	var n, flags int
	for err = unix.EINTR; err == unix.EINTR; {
		_, n, flags, _, err = unix.Recvmsg(socket, make([]byte, 1), space, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(space[:n])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		more, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return fds, err
		}
		fds = append(fds, more...)
	}
	if flags&unix.MSG_CTRUNC != 0 || len(fds) != count {
		return fds, syscall.EMFILE // the kernel passes as many as this process may have
	}
	return fds, nil
}

// start starts a process and reports that it runs, or what kept it from being started.
func (s *server) start(id uint64, spec *Spec, passed int) {
	files, failed := s.collectFiles(passed)
	if failed != nil {
		closeFiles(files)
		s.refuse(id, failed)
		return
	}
	p := &process{id: id, marker: spec.Marker}
	s.mu.Lock()
	err := s.forkExec(p, spec, files)
	at := time.Now()
	// The process has its own copies now. The executor may write to a pipe as soon as it knows of the start, and
	// must see then that the process has closed its end: a reader left here would take the message, and nobody
	// would ever answer it.
	closeFiles(files)
	if err != nil {
		s.mu.Unlock()
		s.refuse(id, &StartError{Op: "exec", Errno: errnoOf(err)})
		return
	}
	s.processes[id] = p
	s.byPID[p.pid] = p
	// Under the lock, so that it can't be overtaken by the news of its end.
	s.send(event{ID: id, PID: p.pid, At: at})
	s.mu.Unlock()
	select {
	case s.started <- struct{}{}:
	default:
	}
}

// refuse reports that a process was not started.
func (s *server) refuse(id uint64, failed *StartError) {
	s.send(event{ID: id, Op: failed.Op, Errno: int(failed.Errno)})
}

// errnoOf is the system's error number in an error.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return syscall.EINVAL
	}
	return errno
}

// collectFiles returns the descriptors that the executor has passed for a process. The caller closes what it returns,
// also beside an error.
func (s *server) collectFiles(passed int) (files []int, failed *StartError) {
	if passed == 0 {
		return nil, nil
	}
	files, err := receive(s.files, passed)
	if err != nil {
		return files, &StartError{Op: "pass descriptors", Errno: errnoOf(err)}
	}
	return files, nil
}

func closeFiles(files []int) {
	for _, fd := range files {
		_ = syscall.Close(fd)
	}
}

// forkExec starts the process's program, and sets its pid and mark. It is called with mu held, so that no other
// process is forked meanwhile: the child would hold these descriptors until it executes its program.
func (s *server) forkExec(p *process, spec *Spec, files []int) (err error) {
	descriptors := []uintptr{uintptr(s.null)}
	for _, fd := range files {
		descriptors = append(descriptors, uintptr(fd))
	}
	p.mark = s.marks.next(p.id)
	p.pid, err = s.limit.fork(spec.Processes, spec.As, func() (int, error) {
		return syscall.ForkExec(spec.Path, spec.Args, &syscall.ProcAttr{
			Dir: spec.Dir, Env: spec.Env, Files: descriptors,
			Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: credential(spec.As)},
		})
	})
	return err
}

// credential is what the kernel is asked for, nil for no change.
func credential(as *isolation.Account) *syscall.Credential {
	if as == nil {
		return nil
	}
	return &syscall.Credential{Uid: as.UID, Gid: as.GID, Groups: as.Groups}
}

func (s *server) kill(id uint64, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[id]
	if p == nil {
		return
	}
	at := time.Now().Add(grace)
	if p.killed && !at.Before(p.killAt) {
		return
	}
	first := !p.killed
	p.killed, p.killAt = true, at
	if p.timer != nil {
		p.timer.Stop()
	}
	if grace <= 0 {
		s.signal(p, syscall.SIGKILL)
		s.wake()
		return
	}
	if first {
		s.signal(p, syscall.SIGTERM)
	}
	p.timer = time.AfterFunc(grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.signal(p, syscall.SIGKILL)
		s.wake()
	})
}

// signal reaches the main process and its group; the rest follows when the
// main process has ended. Called with mu held.
func (s *server) signal(p *process, sig syscall.Signal) {
	if s.byPID[p.pid] != p {
		return // reaped: its pid may be somebody else's
	}
	_ = syscall.Kill(-p.pid, sig)
	if group, err := syscall.Getpgid(p.pid); err == nil && group != p.pid {
		_ = syscall.Kill(p.pid, sig)
	}
}

// wake wakes all goroutines that wait for a change. Called with mu held.
func (s *server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

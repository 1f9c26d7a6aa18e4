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

// Descriptor is the supervisor's descriptor of its socket; the next one is that of the socket for the descriptors
// of processes.
const Descriptor = 3

// maxFiles is how many descriptors a process can get at its start.
const maxFiles = 4

// Serve runs the supervisor. It returns when the executor has closed the socket, or died, and none of the
// supervisor's descendants is left. It must be called from main, in a process that does nothing else, because it
// reaps every child.
func Serve() error {
	// The supervisor does one thing at a time. With more processors, each start and end would wake another thread.
	runtime.GOMAXPROCS(1)
	// Orphans become children of the process's first thread. Tasks are forked on another thread, so the list of the
	// first thread's children is the list of orphans.
	runtime.LockOSThread()
	if err := Inherit(); err != nil {
		return err
	}
	// The signals are handled, not ignored, because tasks would inherit an ignored signal as ignored.
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
		socket: socket, files: files, null: null, marks: ownMarks(), limit: newUserLimit(), oom: newOOMCounter(),
		encoder:   gob.NewEncoder(socket),
		processes: map[uint64]*process{}, byPID: map[int]*process{}, ending: map[*process]bool{},
		started: make(chan struct{}, 1), changed: make(chan struct{}), toSweep: make(chan struct{}, 1),
	}, nil
}

// serve returns when the executor has closed the socket and no descendant of this process is left. Once called, it
// reaps every child of this process, for as long as the process lives.
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

// fork calls f on the thread for the forks of tasks. Tasks die with that thread (Pdeathsig), so it must stay alive.
// It is not the process's first thread, whose children are the orphans.
func (s *server) fork(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	go s.fork(f)
	select {} // keeps the first thread locked, so that f gets another one
}

// server is the supervisor's state, which these goroutines share: listen handles the executor's requests one after
// the other, on the thread that forks; reap reaps children; sweep kills the processes that ended tasks left behind;
// and a timer per kill sends SIGKILL after the grace.
//
// A task is in processes and byPID while its main process lives, in processes and ending after that was reaped, and
// in none of them once its end is reported, which is when nothing of it is left.
type server struct {
	socket io.ReadWriter
	files  int // the socket for the descriptors of processes
	null   int
	marks  marks
	limit  *userLimit // nil if no limit can be set

	group group
	oom   oomCounter

	sendMu  sync.Mutex
	encoder *gob.Encoder

	// mu is held while a process is forked and entered, and while one is reaped or signalled, so that no signal
	// goes to a pid that the kernel has given to another process.
	mu        sync.Mutex
	processes map[uint64]*process
	byPID     map[int]*process
	ending    map[*process]bool // main process reaped, other processes left
	changed   chan struct{}     // closed and replaced when a child was reaped or a grace has ended

	started chan struct{} // wakes the reaper after a start, as it may have had no child
	toSweep chan struct{} // wakes the sweeper when ending is not empty
}

// process is a task, from the start of its main process until its end is reported. server.mu guards it.
type process struct {
	id     uint64
	pid    int
	marker string // NAME=value
	mark   uint64
	killed bool
	killAt time.Time
	timer  *time.Timer
	exit   Exit
	// oomKills is what oom counted before the start.
	oomKills int64
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
	_ = s.encoder.Encode(e) // listen notices that the executor is gone
}

// receive receives the descriptors of one start. It must be called for each start that has some, so that those of
// different starts are not mixed up. The caller closes the descriptors that it returns, even if it also returns an
// error.
func receive(socket, count int) (fds []int, err error) {
	space := make([]byte, unix.CmsgSpace(maxFiles*4)) // a descriptor has 4 bytes
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
		return fds, syscall.EMFILE // the kernel passes only as many as this process may have open
	}
	return fds, nil
}

// start starts a process, and reports that it runs or why it could not be started.
func (s *server) start(id uint64, spec *Spec, passed int) {
	files, failed := s.collectFiles(passed)
	if failed != nil {
		closeFiles(files)
		s.reportStartError(id, failed)
		return
	}
	p := &process{id: id, marker: spec.Marker, oomKills: s.oom.count()}
	s.mu.Lock()
	err := s.forkExec(p, spec, files)
	at := time.Now()
	// The process has its own copies now. The executor may write to a pipe as soon as it knows of the start, and
	// must then get an error if the process has closed its end: a reader left open here would take the message, and
	// it would never be answered.
	closeFiles(files)
	if err != nil {
		s.mu.Unlock()
		s.reportStartError(id, &StartError{Op: "exec", Errno: errnoOf(err)})
		return
	}
	s.processes[id] = p
	s.byPID[p.pid] = p
	// This is sent under the lock, so that the event of the process's end can't overtake it.
	s.send(event{ID: id, PID: p.pid, At: at})
	s.mu.Unlock()
	select {
	case s.started <- struct{}{}:
	default:
	}
}

// reportStartError reports that a process was not started.
func (s *server) reportStartError(id uint64, failed *StartError) {
	s.send(event{ID: id, Op: failed.Op, Errno: int(failed.Errno)})
}

// errnoOf returns the system's error number in an error; EINVAL if there is none.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return syscall.EINVAL
	}
	return errno
}

// collectFiles returns the descriptors that the executor has passed for a process. The caller closes them, even if
// there is also an error.
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

// forkExec starts the process's program, and sets its pid and mark. The caller holds mu, so that no other process
// is forked at the same time: that child would hold these descriptors until it executes its program.
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

// credential returns the user to ask the kernel for; nil for no change.
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

// signal signals the main process and its group. The sweeper kills the task's other processes after the main
// process has ended. The caller holds mu.
func (s *server) signal(p *process, sig syscall.Signal) {
	if s.byPID[p.pid] != p {
		return // reaped: its pid may belong to another process
	}
	_ = syscall.Kill(-p.pid, sig)
	if group, err := syscall.Getpgid(p.pid); err == nil && group != p.pid {
		_ = syscall.Kill(p.pid, sig)
	}
}

// wake wakes all goroutines that wait for a change. The caller holds mu.
func (s *server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

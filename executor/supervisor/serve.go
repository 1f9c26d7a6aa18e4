package supervisor

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// Descriptor is the number of the supervisor's descriptor for the socket of requests. The next number is the socket
// that carries the descriptors for processes.
const Descriptor = 3

// maxFiles is how many descriptors a process can get at its start.
const maxFiles = 4

// Serve runs the supervisor. After the executor has closed the socket or has died, Serve kills all of the supervisor's
// descendants and returns when none is left. It must be called from main, in a process that does nothing else, because
// it reaps every child.
func Serve() error {
	// The supervisor does one thing at a time. With more processors, each start and each end of a process would wake
	// another thread.
	runtime.GOMAXPROCS(1)
	// Orphans become children of the process's first thread. Tasks are forked on another thread, so the list of the
	// first thread's children is the list of orphans.
	runtime.LockOSThread()
	if err := Inherit(); err != nil {
		return err
	}
	// These signals have no effect. They are not set to be ignored, because tasks would inherit that.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)

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

// newServer returns a server for the two sockets; files is the descriptor of the one that carries descriptors.
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
		leased: make(chan struct{}, 1),
	}, nil
}

// serve handles the executor's requests until the executor closes the socket. Then it kills all descendants of this
// process and returns when none is left. Its goroutines continue to reap every child for as long as the process lives.
func (s *server) serve() error {
	go s.reap()
	go s.sweep()
	go s.watchLeases()
	end := make(chan error)
	go s.runOnForkThread(func() { end <- s.listen(s.socket) })
	err := <-end
	s.group = s.group.leave()
	s.killAll()
	return err
}

// runOnForkThread calls f on a thread that only f uses and that lives as long as the process, because tasks die with
// the thread that has forked them (Pdeathsig). It is not the process's first thread, whose children are the orphans.
func (s *server) runOnForkThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	go s.runOnForkThread(f)
	select {} // keeps the first thread, so that f gets another one
}

// server is the supervisor's state, which these goroutines share: listen handles the executor's requests one after
// the other, on the thread that forks; reap reaps children; sweep kills the processes that a main process has left
// behind; watchLeases kills the tasks whose lease has ended; and a timer per kill sends SIGKILL after the grace.
//
// A task is in processes and byPID until its main process is reaped, and then in processes and ending until none of
// its processes is left. Then its end is reported, and it is in none of the maps.
type server struct {
	socket io.ReadWriter
	files  int // the socket that carries descriptors for processes
	null   int // /dev/null, the input of every process
	marks  marks
	limit  *userLimit // nil if no limit can be set

	group group
	oom   oomCounter

	sendMu  sync.Mutex
	encoder *gob.Encoder

	// mu is held while a process is forked and entered in the maps, and while a process is reaped or signalled, so
	// that no signal goes to a pid that the kernel has given to another process.
	mu        sync.Mutex
	processes map[uint64]*process
	byPID     map[int]*process
	ending    map[*process]bool // the main process is reaped, the end is not reported yet
	changed   chan struct{}     // closed and replaced when children were reaped or a grace has ended

	started chan struct{} // wakes the reaper, which sleeps while there is no child, after a start
	toSweep chan struct{} // wakes the sweeper when ending is not empty
	leased  chan struct{} // wakes watchLeases when a process with a lease was started
}

// process is a task, from the start of its main process until its end is reported. server.mu guards it.
type process struct {
	id     uint64
	pid    int
	marker string // NAME=value
	mark   uint64
	group  group // of a task with a lease
	killed bool
	killAt time.Time
	timer  *time.Timer
	exit   Exit
	// toldLeft is set when the executor was told that processes are left after the main process.
	toldLeft bool
	// until is the end of the task's lease by CLOCK_BOOTTIME, 0 if it needs none.
	until, leaseGrace time.Duration
	leaseOver         bool // the task was killed because its lease was over
	// oomKills is what server.oom has counted before the start.
	oomKills int64
}

// listen handles the requests from the socket until the executor closes it.
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
		switch {
		case r.Start != nil:
			s.start(r.ID, r.Start, r.Files)
		case r.Until > 0:
			s.renew(r.ID, r.Until)
		default:
			s.kill(r.ID, r.Grace)
		}
	}
}

func (s *server) send(e event) {
	s.sendMu.Lock()
	defer s.sendMu.Unlock()
	_ = s.encoder.Encode(e) // if the executor is gone, listen notices it
}

// receive receives the descriptors of one start. It must be called for each start that has descriptors, so that those
// of different starts are not mixed up. The caller closes the descriptors that receive returns, even those that it
// returns with an error.
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
		return fds, syscall.EMFILE // this process may not open more descriptors, so the kernel has passed fewer
	}
	return fds, nil
}

// start starts a process, and reports that it runs or why it could not be started.
func (s *server) start(id uint64, spec *Spec, passed int) {
	files, failed := s.collectFiles(passed)
	if failed == nil && spec.Until > 0 && bootTime() >= spec.Until {
		failed = &StartError{Op: "start after the end of the lease", Errno: syscall.ETIME}
	}
	if failed != nil {
		closeFiles(files)
		s.reportStartError(id, failed)
		return
	}
	p := &process{id: id, marker: spec.Marker, oomKills: s.oom.count()}
	if spec.Until > 0 {
		p.group = s.group.ofTask(id)
	}
	s.mu.Lock()
	err := s.forkExec(p, spec, files)
	startedAt := time.Now()
	// The process has its own copies now. As soon as the executor knows of the start, it may write to a pipe of the
	// process, and it must then get an error if the process has closed its end. If the end were still open here, the
	// write would succeed, and no answer would ever come.
	closeFiles(files)
	if err != nil {
		s.mu.Unlock()
		s.reportStartError(id, &StartError{Op: "exec", Errno: errnoOf(err)})
		return
	}
	p.until, p.leaseGrace = spec.Until, spec.LeaseGrace
	s.processes[id] = p
	s.byPID[p.pid] = p
	// The event is sent under the lock, so that the event of the process's end can't overtake it.
	s.send(event{ID: id, PID: p.pid, At: startedAt})
	s.mu.Unlock()
	select {
	case s.started <- struct{}{}:
	default:
	}
	if spec.Until > 0 {
		select {
		case s.leased <- struct{}{}:
		default:
		}
	}
}

// reportStartError reports that a process was not started.
func (s *server) reportStartError(id uint64, failed *StartError) {
	s.send(event{ID: id, Op: failed.Op, Errno: int(failed.Errno)})
}

// errnoOf returns the system's error number that an error wraps; EINVAL if it wraps none.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return syscall.EINVAL
	}
	return errno
}

// collectFiles returns the descriptors that the executor has passed for a process. The caller closes them, even those
// that it gets with an error.
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

// forkExec starts the process's program, and sets the pid and the mark of p. The caller holds mu, so that no other
// process is forked at the same time: until it executed its program, that process would hold these descriptors too.
func (s *server) forkExec(p *process, spec *Spec, files []int) (err error) {
	descriptors := []uintptr{uintptr(s.null)}
	for _, fd := range files {
		descriptors = append(descriptors, uintptr(fd))
	}
	p.mark = s.marks.next(p.id)
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: credential(spec.As)}
	if p.group != (group{}) {
		if folder, err := syscall.Open(p.group.folder, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			defer func() { _ = syscall.Close(folder) }()
			attributes.UseCgroupFD, attributes.CgroupFD = true, folder
		}
	}
	fork := func() (err error) {
		p.pid, err = s.limit.fork(spec.Processes, spec.As, func() (int, error) {
			return syscall.ForkExec(spec.Path, spec.Args, &syscall.ProcAttr{
				Dir: spec.Dir, Env: spec.Env, Files: descriptors, Sys: attributes,
			})
		})
		return err
	}
	if err = fork(); err != nil && attributes.UseCgroupFD {
		// Some containers forbid the system call that forks into a cgroup.
		attributes.UseCgroupFD, p.group = false, group{}
		err = fork()
	}
	if err == nil {
		raiseOOMScore(p.pid)
	}
	return err
}

// oomScore is added to the oom_score_adj of a task, in thousandths of the memory. So when memory runs out, the kernel
// kills a task rather than its executor or supervisor, which must report and end the other tasks.
const oomScore = 200

// raiseOOMScore adds oomScore for a process that has just started. The processes that it starts inherit that. If this
// fails, the score stays the same.
func raiseOOMScore(pid int) {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return
	}
	if score, err := strconv.Atoi(strings.TrimSpace(string(own))); err == nil {
		path := fmt.Sprintf("/proc/%d/oom_score_adj", pid)
		_ = os.WriteFile(path, []byte(strconv.Itoa(min(score+oomScore, 1000))), 0)
	}
}

// credential returns the account in the form that a fork needs; nil means that the user stays the same.
func credential(as *isolation.Account) *syscall.Credential {
	if as == nil {
		return nil
	}
	return &syscall.Credential{Uid: as.UID, Gid: as.GID, Groups: as.Groups}
}

// kill sends SIGTERM to a task and SIGKILL after grace, or SIGKILL at once without grace. A repeated kill only has an
// effect if it shortens the grace. See Process.Kill.
func (s *server) kill(id uint64, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[id]
	if p == nil {
		return
	}
	killAt := time.Now().Add(grace)
	if p.killed && !killAt.Before(p.killAt) {
		return
	}
	first := !p.killed
	p.killed, p.killAt = true, killAt
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

// signal sends a signal to the main process and to its group, unless the main process is reaped already. The sweeper
// kills the task's other processes after the main process has ended. The caller holds mu.
func (s *server) signal(p *process, sig syscall.Signal) {
	if s.byPID[p.pid] != p {
		return // its pid may belong to another process now
	}
	_ = syscall.Kill(-p.pid, sig)
	if group, err := syscall.Getpgid(p.pid); err == nil && group != p.pid {
		_ = syscall.Kill(p.pid, sig)
	}
	if sig == syscall.SIGKILL {
		p.group.kill()
	}
}

// wake wakes all goroutines that wait for a change. The caller holds mu.
func (s *server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

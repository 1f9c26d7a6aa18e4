package pipe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a process may take to read a message once its pipe is full.
const patience = 2 * time.Second

// Pipe is the executor's ends of a process's two pipes. Its methods may be called from any goroutine.
type Pipe struct {
	in  *os.File // what the process reads
	out *os.File // what it writes

	sending sync.Mutex
	read    chan struct{} // closed when Read has returned
}

// Open makes the pipes of a process. theirs are its descriptors 3 and 4; they must be closed before Read is called,
// so that Send notices when the process has closed its end. Read must be called.
func Open() (p *Pipe, theirs []*os.File, err error) {
	var fds [4]int
	if err := unix.Pipe2(fds[:2], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make the process's pipes: %w", err)
	}
	if err := unix.Pipe2(fds[2:], unix.O_CLOEXEC); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, fmt.Errorf("make the process's pipes: %w", err)
	}
	// Only our own ends: a process expects reads and writes that wait.
	err = errors.Join(unix.SetNonblock(fds[1], true), unix.SetNonblock(fds[2], true))
	file := func(i int) *os.File { return os.NewFile(uintptr(fds[i]), "pipe of a process") }
	p = &Pipe{in: file(1), out: file(2), read: make(chan struct{})}
	theirs = []*os.File{file(0), file(3)}
	if err != nil {
		p.Close()
		for _, f := range theirs {
			_ = f.Close()
		}
		return nil, nil, fmt.Errorf("make the process's pipes: %w", err)
	}
	return p, theirs, nil
}

// Read calls handle with each message, until the process has closed its end or, after Ended, all that it had written
// is read. In the first case it calls closed, before Ended returns: the process may have ended, or may go on.
func (p *Pipe) Read(handle func(Message), closed func()) {
	defer close(p.read)
	end := &rest{file: p.out}
	lines := bufio.NewReader(end)
	var line []byte
	skip := false
	for {
		part, err := lines.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) && !end.ended {
				closed()
			}
			return // what has no end is no message
		case err != nil:
			skip = skip || len(line)+len(part) > maxLine
			if !skip {
				line = append(line, part...)
			}
			continue
		}
		if !skip && len(line)+len(part)-1 <= maxLine {
			whole := part
			if len(line) > 0 {
				whole = append(line, part...)
			}
			if m, ok := parse(whole); ok {
				handle(m)
			}
		}
		line, skip = nil, false
	}
}

// Ended says that the process has ended, and returns when Read has handled what it wrote. A process that it left
// behind may hold the pipe open, and is not waited for.
func (p *Pipe) Ended() {
	_ = p.out.SetReadDeadline(time.Unix(1, 0))
	<-p.read
	p.Close()
}

// ErrClosed is what becomes of a run whose process has said hello and then closed its pipe: no answer can come.
var ErrClosed = errors.New("the process said hello, and has closed its pipe (ELASTICJOB_PIPE)")

// Send sends a Run or a Cancel. It fails when the process has closed its end, or doesn't read for some seconds; then a
// part of the message may have been sent, so that nothing more can be.
func (p *Pipe) Send(message json.Marshaler) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("describe what the process is to do: %w", err)
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = p.in.SetWriteDeadline(time.Now().Add(patience))
	switch _, err = p.in.Write(append(data, '\n')); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the process said hello, and has not read its pipe (ELASTICJOB_PIPE) for %v", patience)
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return ErrClosed
	case err != nil:
		return fmt.Errorf("write to the process's pipe: %w", err)
	}
	return nil
}

// End ends the stream that the process reads: no more runs.
func (p *Pipe) End() { _ = p.in.Close() }

// Close closes both ends. Read returns.
func (p *Pipe) Close() {
	_ = p.in.Close()
	_ = p.out.Close()
}

// rest reads from a pipe and, once its deadline has passed, what is in it then.
type rest struct {
	file  *os.File
	ended bool
	left  int
}

// mostLeft bounds what is read after the end: a pipe holds so much where anybody may set it, and a process that
// holds it open could fill it for ever.
const mostLeft = 1 << 20

func (r *rest) Read(buffer []byte) (int, error) {
	if !r.ended {
		n, err := r.file.Read(buffer)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		r.ended, r.left = true, mostLeft
		_ = r.file.SetReadDeadline(time.Time{}) // else it would hold for what follows, too
	}
	if r.left <= 0 {
		return 0, io.EOF
	}
	raw, err := r.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	n := 0
	if failed := raw.Read(func(fd uintptr) bool {
		for err = unix.EINTR; err == unix.EINTR; {
			n, err = unix.Read(int(fd), buffer)
		}
		return true // it doesn't wait
	}); failed != nil {
		return 0, failed
	}
	if err != nil || n <= 0 {
		return 0, io.EOF // EAGAIN too: nothing is left
	}
	r.left -= n
	return n, nil
}

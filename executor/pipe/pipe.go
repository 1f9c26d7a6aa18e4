package pipe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
)

// writeTimeout is how long a process may take to read a message when its pipe is full.
const writeTimeout = 2 * time.Second

// Pipe is the executor's ends of a process's two pipes. Any goroutine may call its methods.
type Pipe struct {
	in  *os.File // the process reads from it
	out *os.File // the process writes to it

	sending  sync.Mutex
	read     chan struct{} // closed when Read has returned
	draining atomic.Bool   // whether Drain was called
}

// Open creates the pipes of a process that runs as an account; nil is the user of this process. theirs are the
// process's descriptors 3 and 4. The caller must start the process, close theirs, so that Send notices when the
// process has closed its end, and then call Read.
func Open(as *isolation.Account) (p *Pipe, theirs []*os.File, err error) {
	var fds [4]int
	if err := unix.Pipe2(fds[:2], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make the process's pipes: %w", err)
	}
	if err := unix.Pipe2(fds[2:], unix.O_CLOEXEC); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, fmt.Errorf("make the process's pipes: %w", err)
	}
	// Only the executor's ends are non-blocking: a process expects reads and writes that block.
	err = errors.Join(unix.SetNonblock(fds[1], true), unix.SetNonblock(fds[2], true))
	if as != nil { // Java and shells open descriptors by their paths, /proc/self/fd/3, which requires the right owner
		err = errors.Join(err, unix.Fchown(fds[0], int(as.UID), int(as.GID)),
			unix.Fchown(fds[3], int(as.UID), int(as.GID)))
	}
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

// Handlers are the functions that Read calls, one at a time.
type Handlers struct {
	// Message is called with each message.
	Message func(Message)
	// Ignored is called with a description, as a clause, of everything else that the process writes. The description
	// may contain secrets.
	Ignored func(description string)
	// Closed is called when the process has closed its end, and before Drain returns. The process may still run.
	Closed func()
}

// Read reads until the process has closed its end or, after a call of Drain, until everything that the process has
// written is read.
func (p *Pipe) Read(h Handlers) {
	defer close(p.read)
	end := &pipeReader{pipe: p, unfinished: func() { h.Ignored("a line without a line feed at its end") }}
	lines := bufio.NewReader(end)
	var line []byte
	skip := false
	for {
		part, err := lines.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			if len(part)+len(line) > 0 {
				h.Ignored("a line without a line feed at its end")
			}
			if errors.Is(err, io.EOF) && !end.ended {
				h.Closed()
			}
			return
		case err != nil:
			skip = skip || len(line)+len(part) > maxLine
			if !skip {
				line = append(line, part...)
			}
			continue
		}
		if skip = skip || len(line)+len(part)-1 > maxLine; skip {
			h.Ignored(fmt.Sprintf("a line of more than %d bytes", maxLine))
		} else {
			whole := part
			if len(line) > 0 {
				whole = append(line, part...)
			}
			if m, problem := parse(whole); problem == "" {
				h.Message(m)
			} else if len(bytes.TrimSpace(whole)) > 0 {
				h.Ignored(problem)
			}
		}
		line, skip = nil, false
	}
}

// Drain must be called when the process has ended. It returns when Read has handled everything that the process
// wrote. It does not wait for a process that was left behind and holds the pipe open.
func (p *Pipe) Drain() {
	p.draining.Store(true)
	_ = p.out.SetReadDeadline(time.Unix(1, 0))
	<-p.read
	p.Close()
}

// ErrClosed is the error of a run whose process has sent a hello and then closed its pipe, so that no answer can
// arrive.
var ErrClosed = errors.New("the process sent a hello, but has closed its pipe (ELASTICJOB_PIPE)")

// Send sends a Run or a Cancel. It returns an error if the process has closed its end, or does not read for some
// seconds. The caller must not send anything after an error, because a part of the message may have been sent.
func (p *Pipe) Send(message json.Marshaler) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message to the process: %w", err)
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = p.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	switch _, err = p.in.Write(append(data, '\n')); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the process sent a hello, but has not read its pipe (ELASTICJOB_PIPE) for %v", writeTimeout)
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return ErrClosed
	case err != nil:
		return fmt.Errorf("write to the process's pipe: %w", err)
	}
	return nil
}

// Probe writes a space to the process. It is harmless, because JSON permits space before an object. Once the process
// has read the space (Taken), it is known to read its pipe.
func (p *Pipe) Probe() error {
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = p.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := p.in.Write([]byte(" "))
	return err
}

// Taken reports whether the process has read everything that was written to it.
func (p *Pipe) Taken() bool {
	raw, err := p.in.SyscallConn()
	if err != nil {
		return false
	}
	unread := 1
	controlErr := raw.Control(func(fd uintptr) {
		unread, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) // the same as FIONREAD
	})
	return controlErr == nil && err == nil && unread == 0
}

// CloseInput ends the stream to the process, which so learns that it gets no more runs.
func (p *Pipe) CloseInput() { _ = p.in.Close() }

// Close closes the executor's ends of both pipes. Read then returns.
func (p *Pipe) Close() {
	_ = p.in.Close()
	_ = p.out.Close()
}

// pipeReader reads from a pipe. After Drain was called, it reads what the pipe contains, and then ends.
type pipeReader struct {
	pipe *Pipe
	// unfinished is called when the rest of a line has not arrived for maxPause.
	unfinished func()
	open       bool // whether a line has begun: the last byte was not a line feed
	ended      bool // whether Drain was called and noticed
	left       int  // how many bytes may still be read once ended is set
}

const (
	// maxAfterEnd limits the number of bytes that are read after the end of the process. A pipe contains at most this
	// much without special rights, but a process that keeps it open could fill it again and again.
	maxAfterEnd = 1 << 20
	// maxPause is how long a process may take to finish a line before the unfinished line is reported.
	maxPause = time.Second
)

func (r *pipeReader) Read(buffer []byte) (n int, err error) {
	file := r.pipe.out
	for !r.ended {
		if r.open {
			_ = file.SetReadDeadline(time.Now().Add(maxPause))
		}
		if !r.pipe.draining.Load() { // otherwise the deadline of Drain may already be replaced
			n, err = file.Read(buffer)
			r.open = n > 0 && buffer[n-1] != '\n'
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return n, err
			}
		}
		_ = file.SetReadDeadline(time.Time{}) // otherwise the deadline would also fail the next read
		if r.ended = r.pipe.draining.Load(); !r.ended {
			r.unfinished()
		}
		r.left = maxAfterEnd
	}
	if r.left <= 0 {
		return 0, io.EOF
	}
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { // raw.Read would fail because of Drain's deadline
		for err = unix.EINTR; err == unix.EINTR; {
			n, err = unix.Read(int(fd), buffer)
		}
	})
	if controlErr != nil {
		return 0, controlErr
	}
	if err != nil || n <= 0 {
		return 0, io.EOF // also for EAGAIN, which means that the pipe is empty
	}
	r.left -= n
	return n, nil
}

package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/executor/supervisor"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// Streams is the standard output and standard error of a pod's container. The task's processes write to the
// container's standard output directly, so that output costs nothing. The executor writes its records (wire.PodRecord)
// between the lines of the processes. Standard error goes through one pipe per process, and its end is kept for the
// cause of a failure. The kubelet limits how much of both streams is stored.
type Streams struct {
	stdout, stderr *os.File
	folder         string // any folder on the disk to which tasks write

	writing sync.Mutex // held during each write to stdout, so that no record is inside of an answer

	mu    sync.Mutex // held from a read of a pipe until its data is written and kept
	end   []byte     // the end of the data written to stderr: at least TailLength bytes, if there are so many
	count int64      // the number of all bytes written to stderr
	pipes map[*os.File]bool
	part  [16 << 10]byte // the buffer for one read
}

var _ Sink = (*Streams)(nil)

// NewStreams returns the output of the one task of a container with these streams. folder is any folder on the disk
// to which the task writes.
func NewStreams(stdout, stderr *os.File, folder string) *Streams {
	return &Streams{stdout: stdout, stderr: stderr, folder: folder, pipes: map[*os.File]bool{}}
}

// Begin implements Sink. The streams need no preparation.
func (o *Streams) Begin(string) (end func(time.Time), err error) {
	return func(time.Time) {}, nil
}

// Watch implements Sink. It does nothing, because the kubelet limits the output.
func (o *Streams) Watch(context.Context) {}

// LastWrite implements Sink. The streams do not show when something was written.
func (o *Streams) LastWrite(string) time.Time { return time.Time{} }

// Streams implements Sink. It passes on the container's own stdout, and a pipe as stderr.
func (o *Streams) Streams(string, *supervisor.Spec) ([]*os.File, func(), error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make the pipe of stderr: %w", err)
	}
	_ = unix.SetNonblock(fds[0], true) // not the other end, because processes expect blocking writes
	read, write := os.NewFile(uintptr(fds[0]), "stderr of a process"),
		os.NewFile(uintptr(fds[1]), "stderr of a process")
	stdout, err := unix.FcntlInt(o.stdout.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		CloseAll([]*os.File{read, write})
		return nil, nil, fmt.Errorf("pass on stdout: %w", err)
	}
	o.mu.Lock()
	o.pipes[read] = true
	o.mu.Unlock()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		o.forwardAll(read)
	}()
	return []*os.File{os.NewFile(uintptr(stdout), "stdout"), write}, func() {
		o.drain()
		// The deadline ends the read even if a process that has escaped still holds the pipe.
		_ = read.SetReadDeadline(time.Unix(1, 0))
		<-copied
		o.mu.Lock()
		delete(o.pipes, read)
		o.mu.Unlock()
		_ = read.Close()
	}, nil
}

// forwardAll passes on what a process writes to stderr, until the pipe has no writer or its deadline passes.
func (o *Streams) forwardAll(pipe *os.File) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) (done bool) {
		var err error
		for err == nil {
			err = o.forward(fd)
		}
		return !errors.Is(err, unix.EAGAIN)
	})
}

// drain passes on what the pipes contain now, and at most one pipe's capacity of what follows.
func (o *Streams) drain() {
	o.mu.Lock()
	var all []*os.File
	for pipe := range o.pipes {
		all = append(all, pipe)
	}
	o.mu.Unlock()
	for _, pipe := range all {
		if conn, err := pipe.SyscallConn(); err == nil {
			_ = conn.Control(func(fd uintptr) {
				for range pipeSize / len(o.part) {
					if o.forward(fd) != nil {
						return
					}
				}
			})
		}
	}
}

// pipeSize is the capacity of a pipe in the kernel.
const pipeSize = 64 << 10

// forward passes on the next part of a pipe's content. It returns EAGAIN if the pipe is empty, and io.EOF if it has no
// writer.
func (o *Streams) forward(fd uintptr) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := unix.Read(int(fd), o.part[:])
	switch {
	case err == unix.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	o.end, o.count = append(o.end, o.part[:n]...), o.count+int64(n)
	if len(o.end) > 2*TailLength { // a limit of TailLength would copy the data after each read
		o.end = append(o.end[:0], o.end[len(o.end)-TailLength:]...)
	}
	return writeWhole(o.stderr, o.part[:n])
}

// Record writes a record into the output. It does so in one write, so that no other output is inside of the record.
func (o *Streams) Record(r wire.PodRecord) error {
	data, err := r.Encode()
	if err != nil {
		return err
	}
	_, err = o.Write(data)
	return err
}

// Answers implements Sink. Answers go to stdout.
func (o *Streams) Answers(string) (io.WriteCloser, error) { return nopCloser{o}, nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Write writes to the container's stdout.
func (o *Streams) Write(data []byte) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	if err := writeWhole(o.stdout, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// writeWhole writes all data. It also waits if the stream is non-blocking: a process that shares the stream may have
// changed that, as Node.js does.
func writeWhole(stream *os.File, data []byte) error {
	fd := int(stream.Fd())
	for len(data) > 0 {
		n, err := syscall.Write(fd, data)
		switch {
		case err == syscall.EAGAIN:
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
			if err != nil && err != unix.EINTR {
				return err
			}
		case err != nil && err != syscall.EINTR:
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}

// Mark implements Sink. Its position is that of stderr only.
func (o *Streams) Mark(string) (m Mark) {
	o.drain()
	o.mu.Lock()
	defer o.mu.Unlock()
	m[1] = o.count
	return m
}

// Cause implements Sink.
func (o *Streams) Cause(_, failure string, since Mark, show func([]byte) string) string {
	if diskFull(o.folder) {
		failure += "; the node's disk is full"
	}
	o.drain()
	o.mu.Lock()
	length := min(o.count-since[1], int64(len(o.end)), TailLength)
	data := slices.Clone(o.end[int64(len(o.end))-length:])
	o.mu.Unlock()
	if end := lastOf(data, show); end != "" {
		return withEnd(failure, streamNames[1], end)
	}
	return failure + silentStderr
}

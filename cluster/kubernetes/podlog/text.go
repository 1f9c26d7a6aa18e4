package podlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// errOutputCut means that the output ended before its container did.
var errOutputCut = errors.New("the API server ended the output stream before the container ended")

// text is the output of one pod as far as it was read, in an unlinked file.
type text struct {
	ref       podRef
	file      *os.File
	stop      context.CancelFunc
	ready     chan struct{} // closed when the output that existed at the beginning was read, or reading it failed
	readyOnce sync.Once

	mu   sync.Mutex // guards size, endedAt and err
	size int64
	// endedAt is when follow ended; zero before. err says why; nil if the container has ended.
	endedAt time.Time
	err     error

	// Files.mu guards these fields. lastRead is when the text was last read, reserved its share of the budget in
	// bytes, and idle a timer that drops the text after a time without reads.
	readers  int
	lastRead time.Time
	reserved int64
	idle     *time.Timer
}

// setReady releases the readers that wait for the existing output.
func (t *text) setReady() { t.readyOnce.Do(func() { close(t.ready) }) }

// follow copies the pod's output into the file until the output ends or ctx ends.
func (t *text) follow(ctx context.Context, f *Files) {
	defer t.setReady()
	err := t.copy(ctx, f)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endedAt, t.err = f.opt.now(), err
}

// copy does the work of follow. It returns nil if the container has ended. The API server does not mark where the
// existing output ends, so copy assumes that it is complete when no data has arrived for Quiet.
func (t *text) copy(ctx context.Context, f *Files) error {
	from := source{f.opt.Core}
	stream, err := from.followPod(ctx, t.ref)
	if err != nil {
		return err
	}
	defer stream.Close()
	quiet := time.AfterFunc(f.opt.Quiet, t.setReady)
	defer quiet.Stop()
	var records wire.PodOutput
	buffer := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buffer)
		quiet.Reset(f.opt.Quiet)
		if n > 0 {
			part, _ := records.Next(buffer[:n])
			if err := t.append(f, part); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("follow the output of pod %s: %w", t.ref.name, err)
		}
	}
	if err := t.append(f, records.End()); err != nil {
		return err
	}
	found, err := from.pod(ctx, t.ref)
	if err != nil {
		return err
	}
	if _, ended := outputContainer(found); !ended {
		return errOutputCut
	}
	return nil
}

// append adds a part of the output to the file. Only follow's goroutine calls it.
func (t *text) append(f *Files, part []byte) error {
	if len(part) == 0 {
		return nil
	}
	if !f.reserve(t, int64(len(part))) {
		return fmt.Errorf("the output of pod %s exceeds the %d MB that are reserved for outputs being read: "+
			"read it with kubectl logs", t.ref.name, f.opt.Budget>>20)
	}
	// Readers only read the file up to size, which is increased after the write.
	if _, err := t.file.WriteAt(part, t.length()); err != nil {
		return fmt.Errorf("store the output of pod %s: %w", t.ref.name, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size += int64(len(part))
	return nil
}

func (t *text) length() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// read returns up to length bytes from offset. At or beyond the end it returns no bytes; the error then says why the
// output broke off, and is nil if it did not.
func (t *text) read(offset int64, length int) ([]byte, error) {
	t.mu.Lock()
	left, err := t.size-offset, t.err
	t.mu.Unlock()
	if left <= 0 || length == 0 {
		return nil, err
	}
	data := make([]byte, min(left, int64(length)))
	if _, err := t.file.ReadAt(data, offset); err != nil {
		return nil, fmt.Errorf("read the output of pod %s: %w", t.ref.name, err)
	}
	return data, nil
}

// stale reports whether the output broke off at least pause ago, so that it may be requested again.
func (t *text) stale(now time.Time, pause time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil && now.Sub(t.endedAt) >= pause
}

// failure returns why the output broke off, if nothing of it was read or if the pod no longer exists. It returns nil if
// some output was read from a pod that exists, and while nothing has failed.
func (t *text) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size > 0 && !errors.Is(t.err, cluster.ErrGone) {
		return nil
	}
	return t.err
}

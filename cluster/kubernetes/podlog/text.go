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

// errCut says that the output ended before its container did.
var errCut = errors.New("the API server ended the output before its container has ended")

// text is the output of one pod as far as it was read, in a file that has no name any more.
type text struct {
	at    place
	file  *os.File
	stop  context.CancelFunc
	ready chan struct{} // closed when what there was at the begin was read, or can't be
	once  sync.Once
	mu    sync.Mutex
	size  int64
	// over is when its end came, zero before that; err is why, nil if the container has ended.
	over time.Time
	err  error

	// These are Files'. While there are readers it is not forgotten; used is when it was last read, reserved how many
	// bytes of the budget it has, and idle ends it when it was not read for a while.
	readers  int
	used     time.Time
	reserved int64
	idle     *time.Timer
}

// setReady lets readers have what there is.
func (t *text) setReady() { t.once.Do(func() { close(t.ready) }) }

// follow reads the pod's output to its end.
func (t *text) follow(ctx context.Context, f *Files) {
	defer t.setReady()
	err := t.copy(ctx, f)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.err = f.opt.now(), err
}

// copy brings the output into the file. It was all read when nothing has come for a moment: the API server does not
// say so.
func (t *text) copy(ctx context.Context, f *Files) error {
	from := source{f.opt.Core}
	stream, err := from.open(ctx, t.at)
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
			return fmt.Errorf("follow the output of pod %s: %w", t.at.name, err)
		}
	}
	if err := t.append(f, records.End()); err != nil {
		return err
	}
	found, err := from.pod(ctx, t.at)
	if err != nil {
		return err
	}
	if _, ended := speaker(found); !ended {
		return errCut
	}
	return nil
}

func (t *text) append(f *Files, part []byte) error {
	if len(part) == 0 {
		return nil
	}
	if !f.makeRoom(t, int64(len(part))) {
		return fmt.Errorf("the output of pod %s takes more than the %d MB that there are for outputs that are read: read it with kubectl logs", t.at.name, f.opt.Budget>>20)
	}
	// Readers look at the file below size only, which is raised behind what is written.
	if _, err := t.file.WriteAt(part, t.length()); err != nil {
		return fmt.Errorf("keep the output of pod %s: %w", t.at.name, err)
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

// read gives what there is from offset on. Behind the end of a text that broke off it gives why.
func (t *text) read(offset int64, length int) ([]byte, error) {
	t.mu.Lock()
	left, err := t.size-offset, t.err
	t.mu.Unlock()
	if left <= 0 || length == 0 {
		return nil, err
	}
	data := make([]byte, min(left, int64(length)))
	if _, err := t.file.ReadAt(data, offset); err != nil {
		return nil, fmt.Errorf("read the output of pod %s: %w", t.at.name, err)
	}
	return data, nil
}

// stale reports whether it broke off, so long ago that the API server may be asked again.
func (t *text) stale(now time.Time, pause time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil && now.Sub(t.over) >= pause
}

// failed is why nothing of it can be read; nil if anything can.
func (t *text) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.size > 0 && !errors.Is(t.err, cluster.ErrGone) {
		return nil
	}
	return t.err
}

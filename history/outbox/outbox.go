package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// ErrFull is what a batch is refused with for which there is no room within Options.Bytes.
var ErrFull = errors.New("the outbox has reached its bound")

// errClosed is what a batch is refused with after Close.
var errClosed = errors.New("the outbox is closed")

// Options of a log.
type Options struct {
	// Bytes bounds all of its files.
	Bytes int64
	// SegmentBytes is the size from which a segment is followed by the next; by default a 16th of Bytes, from 64 KiB
	// to 16 MiB.
	SegmentBytes int64
	// Logger gets what damage was found.
	Logger *slog.Logger
	// Clock is the wall clock; time.Now if nil.
	Clock func() time.Time
	// FS is the folder's content; that of the operating system if nil.
	FS FS
}

// mostQueued bounds, in bytes, what waits in memory for a disk that hangs.
const mostQueued = 64 << 20

// Log is an open outbox. Append, Settle and Status may be called concurrently; Next, Done and what is about batches
// that are set aside by one goroutine at a time.
type Log struct {
	opt   Options
	fs    FS
	lock  io.Closer
	codec *codec

	wake  chan struct{} // has something when the writer is to look
	ended chan struct{} // closed when the writer has ended
	out   writer        // the writer's own
	in    reader        // the reader's own
	found int64         // the newest segment of an earlier process; ours come after it

	mu       sync.Mutex
	queue    []request
	queued   int64 // bytes in queue and in the writer's hands
	closing  bool
	segments []segment     // with at least one frame, oldest first
	grown    chan struct{} // closed, and replaced, when there is more to read
	bytes    int64         // of all segments and of what is set aside
	total    int64         // rows that were ever taken
	done     position
	active   int64  // the segment that is written to; 0: none
	verdict  *frame // what the disk has not taken of the newest batch
	aside    []Key
	damaged  int64 // bytes that were skipped since Open
	lost     int64 // rows that were not read since Open
}

// segment is a file of the log: so much of it may be read.
type segment struct {
	id, size int64
}

// position is a place in the log, and how many rows were taken before it.
type position struct {
	segment, offset, total int64
}

// Status is how a log stands.
type Status struct {
	Rows    int64 // taken, and neither done nor set aside
	Bytes   int64 // of its files
	Bound   int64
	Aside   int   // batches that are set aside
	Damaged int64 // bytes that were damaged, and skipped, since it was opened
	// Lost are rows that could not be read since it was opened, those of commits that never happened among them.
	Lost int64
}

// Open opens the log of a folder, which it makes, and finds what an earlier process has left there.
func Open(dir string, opt Options) (*Log, error) {
	l, err := open(dir, opt)
	if err != nil {
		return nil, fmt.Errorf("open the history's outbox %s: %w", dir, err)
	}
	return l, nil
}

func open(dir string, opt Options) (_ *Log, err error) {
	if opt.FS == nil {
		if err := folder(dir).make(); err != nil {
			return nil, err
		}
		opt.FS = folder(dir)
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.SegmentBytes == 0 {
		opt.SegmentBytes = min(max(opt.Bytes/16, 64<<10), 16<<20)
	}
	l := &Log{opt: opt, fs: opt.FS, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		grown: make(chan struct{})}
	if l.codec, err = newCodec(); err != nil {
		return nil, err
	}
	if l.lock, err = opt.FS.Lock(); err != nil {
		return nil, err
	}
	if err := l.find(); err != nil {
		return nil, errors.Join(err, l.in.close(), l.lock.Close())
	}
	go l.write()
	return l, nil
}

// Status says how the log stands.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Status{
		Rows: max(0, l.total-l.done.total), Bytes: l.bytes, Bound: l.opt.Bytes, Aside: len(l.aside),
		Damaged: l.damaged, Lost: l.lost,
	}
}

// Close writes what is queued and closes the log. What was not confirmed may be lost when ctx ends before: then the
// disk hangs, and the lock is kept until the process ends.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.wakeWriter()
	select {
	case <-l.ended:
	case <-ctx.Done():
		return fmt.Errorf("close the history's outbox: the disk has not answered: %w", ctx.Err())
	}
	l.codec.decoder.Close()
	return errors.Join(l.out.close(), l.in.close(), l.codec.encoder.Close(), l.lock.Close())
}

func (l *Log) wakeWriter() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// skipped counts damaged bytes and says where they are.
func (l *Log) skipped(name string, offset, n int64, why string) {
	l.mu.Lock()
	l.damaged += n
	l.mu.Unlock()
	l.opt.Logger.Error("history outbox damaged: what stood there is lost to the history", "file", name, "offset",
		offset, "bytes", n, "detail", why)
}

// lose counts rows that were taken and can't be read, and says how many.
func (l *Log) lose(rows int64) {
	if rows <= 0 {
		return
	}
	l.mu.Lock()
	l.lost += rows
	l.mu.Unlock()
	l.opt.Logger.Error("history rows lost: the outbox has them no more, or damaged", "rows", rows)
}

// segmentAt is the segment of an id or the first one after it, and whether it is the last.
func (l *Log) segmentAt(id int64) (s segment, last, ok bool) {
	i, _ := slices.BinarySearchFunc(l.segments, id, func(s segment, id int64) int { return int(s.id - id) })
	if i == len(l.segments) {
		return segment{}, true, false
	}
	return l.segments[i], i == len(l.segments)-1, true
}

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

// ErrFull is the error for a batch that would exceed Options.Bytes.
var ErrFull = errors.New("the outbox has reached its bound")

// errClosed is the error for a batch after Close.
var errClosed = errors.New("the outbox is closed")

// Options are the settings of a log.
type Options struct {
	// Bytes bounds the total size of its files: a batch that would exceed it is refused.
	Bytes int64
	// SegmentBytes is the size at which a new segment begins; by default a 16th of Bytes, between 64 KiB and 16 MiB.
	SegmentBytes int64
	// Logger receives reports of damage.
	Logger *slog.Logger
	// Clock is the wall clock; time.Now if nil.
	Clock func() time.Time
	// FS is the folder's content; that of the operating system if nil.
	FS FS
}

// maxQueued bounds the bytes that wait in memory while a disk hangs.
const maxQueued = 64 << 20

// Log is an open outbox. Append, Settle and Status may be called concurrently. Next, Done and the methods for batches
// that are set aside may be called by one goroutine at a time.
type Log struct {
	opt   Options
	fs    FS
	lock  io.Closer
	codec *codec

	wake         chan struct{} // holds a token when the writer has work
	ended        chan struct{} // closed when the writer has ended
	writer       writer        // used by the writer only
	reader       reader        // used by the reader only
	foundSegment int64         // the newest segment of an earlier process; this process writes later ones

	mu       sync.Mutex
	queue    []request
	queued   int64 // bytes in queue and in the current write
	closing  bool
	segments []segment     // oldest first
	grown    chan struct{} // closed and replaced when there is more to read
	bytes    int64         // of all segments and batches that are set aside
	total    int64         // rows that were ever appended
	done     position
	active   int64  // the segment being written; 0: none
	outcome  *frame // the outcome of the newest batch, if the disk has not stored it
	aside    []Key
	damaged  int64 // bytes skipped since Open
	lost     int64 // rows that could not be read since Open
}

// segment is a file of the log, with the size up to which it may be read.
type segment struct {
	id, size int64
}

// position is a place in the log, and the number of rows appended before it.
type position struct {
	segment, offset, total int64
}

// Status is the state of a log.
type Status struct {
	Rows    int64 // rows that were appended, and are neither done nor set aside
	Bytes   int64 // of its files
	Bound   int64
	Aside   int   // batches that are set aside
	Damaged int64 // damaged bytes that were skipped since Open
	// Lost counts rows that could not be read since Open, including rows of commits that never happened.
	Lost int64
}

// Open opens the log in a folder, which it creates if necessary, and finds the entries of an earlier process there.
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
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.reader.close(), l.lock.Close())
	}
	go l.write()
	return l, nil
}

// Status returns the state of the log.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Status{
		Rows: max(0, l.total-l.done.total), Bytes: l.bytes, Bound: l.opt.Bytes, Aside: len(l.aside),
		Damaged: l.damaged, Lost: l.lost,
	}
}

// Close writes the queue and closes the log. If ctx ends first, the disk hangs: unconfirmed batches may be lost, and
// the lock is held until the process ends.
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
	return errors.Join(l.writer.close(), l.reader.close(), l.codec.encoder.Close(), l.lock.Close())
}

func (l *Log) wakeWriter() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// recordDamage counts and logs damaged bytes.
func (l *Log) recordDamage(name string, offset, n int64, why string) {
	l.mu.Lock()
	l.damaged += n
	l.mu.Unlock()
	l.opt.Logger.Error("history outbox damaged: the data there is lost", "file", name, "offset",
		offset, "bytes", n, "detail", why)
}

// recordLost counts and logs rows that were appended and can't be read.
func (l *Log) recordLost(rows int64) {
	if rows <= 0 {
		return
	}
	l.mu.Lock()
	l.lost += rows
	l.mu.Unlock()
	l.opt.Logger.Error("history rows lost: missing or damaged in the outbox", "rows", rows)
}

// segmentAt returns the segment with the id or, without it, the first segment after that id, and whether the returned
// segment is the last one. ok is false, and isLast true, if there is none. The caller holds mu.
func (l *Log) segmentAt(id int64) (s segment, isLast, ok bool) {
	i, _ := slices.BinarySearchFunc(l.segments, id, func(s segment, id int64) int { return int(s.id - id) })
	if i == len(l.segments) {
		return segment{}, true, false
	}
	return l.segments[i], i == len(l.segments)-1, true
}

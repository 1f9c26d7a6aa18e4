package outbox

import (
	"errors"
	"fmt"
	"os"
)

// Outcome is the outcome of the commit of a batch.
type Outcome uint8

const (
	Happened Outcome = iota
	Never
	// Uncertain means that this process does not know the outcome, and that its log will not show it.
	Uncertain
)

// request is a frame in the queue.
type request struct {
	frame
	answer chan<- error // nil for a frame that needs no fsync
}

// writer is the state of the writing goroutine.
type writer struct {
	file       File // the segment being written; nil: begin a new one
	id         int64
	size       int64 // of whole frames
	synced     int64
	nameSynced bool // whether the segment's name is durable
	buf        []byte

	// A failed fsync may lose the outcome of the newest batch. The outcome is then written again. Otherwise the next
	// batch of the term would say that the commit has happened, even if it has not.
	newest  Key      // the newest batch in the log
	outcome *request // its first settlement, unless that is synced
	failed  bool     // whether the last write has failed
}

// Append queues a batch with this number of rows. The channel receives nil when the batch is on disk, or the reason
// why it never will be. Batches are written in the order of the calls. One fsync confirms all batches that wait for
// one.
func (l *Log) Append(term, number int64, rows int, data []byte) <-chan error {
	answer := make(chan error, 1)
	kind, packed := l.codec.pack(data)
	r := request{frame{kind: kind, term: term, number: number, rows: rows, data: packed,
		time: l.opt.Clock().UnixMilli()}, answer}
	if len(packed) > maxData || len(data) > maxRaw {
		answer <- fmt.Errorf("append to the history's outbox: a batch of %d bytes is too large", len(data))
		return answer
	}
	if err := l.enqueue(r); err != nil {
		answer <- fmt.Errorf("append to the history's outbox: %w", err)
	}
	return answer
}

// Settle records the outcome of the commit of the newest batch with this term and number. It does not wait. If the
// record is lost, the outcome stays uncertain.
func (l *Log) Settle(term, number int64, o Outcome) {
	kindOf := map[Outcome]kind{Happened: happened, Never: never, Uncertain: unknown}
	_ = l.enqueue(request{frame: frame{kind: kindOf[o], term: term, number: number, time: l.opt.Clock().UnixMilli()}})
}

func (l *Log) enqueue(r request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closing:
		return errClosed
	case r.answer != nil && l.bytes+l.queued+r.size() > l.opt.Bytes:
		return fmt.Errorf("%w: %d MB", ErrFull, l.opt.Bytes>>20)
	case l.queued+r.size() > maxQueued:
		return fmt.Errorf("%w: the disk accepts nothing, and %d MB wait in memory", ErrFull, maxQueued>>20)
	}
	l.queue = append(l.queue, r)
	l.queued += r.size()
	l.wakeWriter()
	return nil
}

// write writes the queue until the log is closed.
func (l *Log) write() {
	defer close(l.ended)
	for range l.wake {
		l.mu.Lock()
		group, closing := l.queue, l.closing
		l.queue = nil
		l.mu.Unlock()
		if len(group) > 0 {
			err := l.writeGroup(group)
			for _, r := range group {
				if r.answer != nil {
					r.answer <- err
				}
			}
		}
		if closing {
			return
		}
	}
}

// writeGroup writes frames with one write, and with one fsync if one of them needs it.
func (l *Log) writeGroup(group []request) error {
	w := &l.writer
	l.mu.Lock()
	total := l.total
	l.mu.Unlock()
	w.buf = w.buf[:0]
	if w.failed && w.outcome != nil {
		w.outcome.total = total
		w.buf = w.outcome.append(w.buf)
	}
	sync := false
	for i := range group {
		f := &group[i].frame
		total += int64(f.rows)
		f.total = total
		w.buf = f.append(w.buf)
		sync = sync || group[i].answer != nil
	}
	written := int64(len(w.buf))
	err := w.write(l, sync)
	w.recordOutcome(group, sync, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range group {
		l.queued -= group[i].size()
	}
	if cap(w.buf) > 4<<20 {
		w.buf = nil
	}
	if err != nil {
		if w.outcome != nil {
			l.outcome = &w.outcome.frame
			l.wakeReader()
		}
		return fmt.Errorf("append to the history's outbox: %w", err)
	}
	l.active, l.outcome = w.id, nil
	if n := len(l.segments); n > 0 && l.segments[n-1].id == w.id {
		l.segments[n-1].size = w.size
	} else {
		l.segments = append(l.segments, segment{w.id, w.size})
	}
	l.bytes += written
	l.total = total
	l.wakeReader()
	return nil
}

// wakeReader wakes the reader. The caller holds mu.
func (l *Log) wakeReader() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// recordOutcome keeps the first settlement of the newest batch until it is synced.
func (w *writer) recordOutcome(group []request, synced bool, err error) {
	for i := range group {
		r := &group[i]
		switch {
		case r.answer == nil && w.outcome == nil && w.newest == Key{r.term, r.number}:
			w.outcome = r
		case r.answer != nil && err == nil:
			w.newest, w.outcome = Key{r.term, r.number}, nil
		}
	}
	if synced && err == nil {
		w.outcome = nil
	}
	w.failed = err != nil
}

// write appends buf to the segment. If that fails, it cuts the segment back to its synced size, and the next write
// begins a new segment.
func (w *writer) write(l *Log, sync bool) (err error) {
	defer func() {
		if err != nil {
			w.abandon(l)
		}
	}()
	if w.file != nil && w.size >= l.opt.SegmentBytes {
		if err := w.roll(l); err != nil {
			return err
		}
	}
	if w.file == nil {
		if w.file, err = l.fs.Open(segmentName(w.id+1), os.O_CREATE|os.O_TRUNC); err != nil {
			return err
		}
		w.id, w.size, w.synced, w.nameSynced = w.id+1, 0, 0, false
	}
	if _, err := w.file.WriteAt(w.buf, w.size); err != nil {
		return err
	}
	if sync {
		if err := w.file.Sync(); err != nil {
			return err
		}
		if !w.nameSynced {
			if err := l.fs.Sync(); err != nil {
				return err
			}
			w.nameSynced = true
		}
		w.synced = w.size + int64(len(w.buf))
	}
	w.size += int64(len(w.buf))
	return nil
}

// roll ends a full segment. It syncs the settlements at the segment's end, because no later write to this file would.
func (w *writer) roll(l *Log) error {
	if w.synced < w.size {
		if err := w.file.Sync(); err != nil {
			return err
		}
		w.synced = w.size
	}
	return w.close()
}

// abandon ends the use of a segment that could not be written to. It cuts off the unconfirmed part if possible. A
// segment without a frame is removed and its number used again, because a missing number would mean missing batches.
func (w *writer) abandon(l *Log) {
	if w.file == nil {
		return
	}
	name, file := segmentName(w.id), w.file
	w.file = nil
	l.mu.Lock()
	l.active = 0
	l.mu.Unlock()
	err := errors.Join(file.Truncate(w.synced), file.Close())
	if w.size == 0 {
		err = errors.Join(err, l.fs.Remove(name))
	}
	if err != nil {
		l.opt.Logger.Warn("history outbox: failed segment not truncated", "file", name, "error", err)
	}
	if w.size == 0 {
		w.id--
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.segments); n > 0 && l.segments[n-1].id == w.id {
		l.bytes -= l.segments[n-1].size - w.synced
		l.segments[n-1].size = w.synced
	}
}

func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	return err
}

package outbox

import (
	"errors"
	"fmt"
	"os"
)

// Outcome is what became of the commit of a batch.
type Outcome uint8

const (
	Happened Outcome = iota
	Never
	// Uncertain: nobody who reads this log can know yet.
	Uncertain
)

// request is a frame that waits to be written.
type request struct {
	frame
	answer chan<- error // nil for one that needs no fsync
}

// writer is what only the writing goroutine uses.
type writer struct {
	file   File // the segment that is written to; nil: begin a new one
	id     int64
	size   int64 // of whole frames
	synced int64
	named  bool // its name is on disk
	buf    []byte

	// What a failed fsync takes with it is written again if it tells of the newest batch: else the next batch would,
	// and a commit that never happened would count as happened.
	newest  Key      // the newest batch in the log
	verdict *request // the first settlement of it, if it is not synced
	again   bool     // the last write has failed
}

// Append takes a batch of so many rows. The channel gets nil when it is on disk, or why it is not and will not be. It
// is on its way meanwhile, in the order of the calls. One fsync confirms all that wait for one.
func (l *Log) Append(term, number int64, rows int, data []byte) <-chan error {
	answer := make(chan error, 1)
	kind, packed := l.codec.pack(data)
	r := request{frame{kind: kind, term: term, number: number, rows: rows, data: packed,
		time: l.opt.Clock().UnixMilli()}, answer}
	if len(packed) > mostData || len(data) > mostRaw {
		answer <- fmt.Errorf("append to the history's outbox: a batch of %d bytes is too large", len(data))
		return answer
	}
	if err := l.enqueue(r); err != nil {
		answer <- fmt.Errorf("append to the history's outbox: %w", err)
	}
	return answer
}

// Settle says what became of the newest batch of this term and number. It is not waited for: what is lost of it leaves
// the batch uncertain.
func (l *Log) Settle(term, number int64, o Outcome) {
	of := map[Outcome]kind{Happened: happened, Never: never, Uncertain: unknown}
	_ = l.enqueue(request{frame: frame{kind: of[o], term: term, number: number, time: l.opt.Clock().UnixMilli()}})
}

func (l *Log) enqueue(r request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closing:
		return errClosed
	case r.answer != nil && l.bytes+l.queued+r.size() > l.opt.Bytes:
		return fmt.Errorf("%w: %d MB", ErrFull, l.opt.Bytes>>20)
	case l.queued+r.size() > mostQueued:
		return fmt.Errorf("%w: the disk takes nothing, and %d MB wait in memory", ErrFull, mostQueued>>20)
	}
	l.queue = append(l.queue, r)
	l.queued += r.size()
	l.wakeWriter()
	return nil
}

// write writes what is queued until the log is closed.
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

// writeGroup writes frames with one write, and with one fsync if one of them wants it.
func (l *Log) writeGroup(group []request) error {
	w := &l.out
	l.mu.Lock()
	total := l.total
	l.mu.Unlock()
	w.buf = w.buf[:0]
	if w.again && w.verdict != nil {
		w.verdict.total = total
		w.buf = w.verdict.append(w.buf)
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
	w.judge(group, sync, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range group {
		l.queued -= group[i].size()
	}
	if cap(w.buf) > 4<<20 {
		w.buf = nil
	}
	if err != nil {
		if w.verdict != nil {
			l.verdict = &w.verdict.frame
			l.more()
		}
		return fmt.Errorf("append to the history's outbox: %w", err)
	}
	l.active, l.verdict = w.id, nil
	if n := len(l.segments); n > 0 && l.segments[n-1].id == w.id {
		l.segments[n-1].size = w.size
	} else {
		l.segments = append(l.segments, segment{w.id, w.size})
	}
	l.bytes += written
	l.total = total
	l.more()
	return nil
}

// more tells the reader that there is more to read; mu is held.
func (l *Log) more() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// judge keeps the verdict over the newest batch.
func (w *writer) judge(group []request, synced bool, err error) {
	for i := range group {
		r := &group[i]
		switch {
		case r.answer == nil && w.verdict == nil && w.newest == Key{r.term, r.number}:
			w.verdict = r
		case r.answer != nil && err == nil:
			w.newest, w.verdict = Key{r.term, r.number}, nil
		}
	}
	if synced && err == nil {
		w.verdict = nil
	}
	w.again = err != nil
}

// write appends buf to the segment. When it fails, the segment is cut back to what was synced, and is not used any
// more.
func (w *writer) write(l *Log, sync bool) (err error) {
	defer func() {
		if err != nil {
			w.abandon(l)
		}
	}()
	if w.file != nil && w.size >= l.opt.SegmentBytes {
		err := w.roll(l)
		if err != nil {
			return err
		}
	}
	if w.file == nil {
		if w.file, err = l.fs.Open(segmentName(w.id+1), os.O_CREATE|os.O_TRUNC); err != nil {
			return err
		}
		w.id, w.size, w.synced, w.named = w.id+1, 0, 0, false
	}
	if _, err := w.file.WriteAt(w.buf, w.size); err != nil {
		return err
	}
	if sync {
		if err := w.file.Sync(); err != nil {
			return err
		}
		if !w.named {
			if err := l.fs.Sync(); err != nil {
				return err
			}
			w.named = true
		}
		w.synced = w.size + int64(len(w.buf))
	}
	w.size += int64(len(w.buf))
	return nil
}

// roll ends a segment that is full. Settlements at its end are synced, so that no later one makes up for them.
func (w *writer) roll(l *Log) error {
	if w.synced < w.size {
		if err := w.file.Sync(); err != nil {
			return err
		}
		w.synced = w.size
	}
	return w.close()
}

// abandon gives up a segment that could not be written to. What of it was not confirmed is cut off, if that can be
// done. A segment of which nothing was ever read is removed, and the next one has its number: a number that is missing
// means that batches are.
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
		l.opt.Logger.Warn("history outbox: a segment that failed could not be cut back", "file", name, "error", err)
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

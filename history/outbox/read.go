package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Key identifies a batch.
type Key struct{ Term, Number int64 }

// Entry is a batch that was appended.
type Entry struct {
	Key
	// Outcome is Happened or Uncertain. Batches whose commit never happened are not returned.
	Outcome Outcome
	Rows    int
	Time    time.Time // when it was appended
	Data    []byte
	end     position
}

// reader reads frames in order. It is used by one goroutine.
type reader struct {
	at   position // position of the next frame
	file File
	id   int64  // segment id of file
	buf  []byte // data that was read ahead
	from int64  // the offset of buf in the file

	position  File   // the open position file
	total     int64  // of the last frame read; the next frame shows how many rows are missing; -1: unknown
	pending   *Entry // a batch whose outcome the next frame decides
	delivered int64  // the total at the last entry that Next returned
	failures  int    // consecutive failed reads
}

func (r *reader) close() error {
	var errs []error
	for _, f := range []*File{&r.file, &r.position} {
		if *f != nil {
			errs = append(errs, (*f).Close())
			*f = nil
		}
	}
	return errors.Join(errs...)
}

// open opens a segment unless it is open already.
func (r *reader) open(fs FS, id int64) error {
	if r.file != nil && r.id == id {
		return nil
	}
	if r.file != nil {
		_ = r.file.Close() // it was only read
		r.file = nil
	}
	f, err := fs.Open(segmentName(id), 0)
	if err != nil {
		return err
	}
	r.file, r.id, r.buf = f, id, nil
	return nil
}

const readSize = 256 << 10

// bytes returns n bytes at the offset, or fewer at the end.
func (r *reader) bytes(offset int64, n int, end int64) ([]byte, error) {
	n = int(min(int64(n), end-offset))
	if have := r.from + int64(len(r.buf)) - offset; offset < r.from || have < int64(n) {
		size := min(int64(max(n, readSize)), end-offset)
		buf := make([]byte, size)
		got, err := r.file.ReadAt(buf, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.buf, r.from = buf[:got], offset
	}
	have := r.buf[offset-r.from:]
	return have[:min(n, len(have))], nil
}

// next reads the frame at the current offset of a segment that ends at end, and moves past the frame, whose length is
// n. If the data there is damaged, next returns an n of 0 and moves to the next whole frame, or to the end. At the end
// it returns io.EOF.
func (r *reader) next(end int64) (f frame, n int64, err error) {
	if r.at.offset >= end {
		return frame{}, 0, io.EOF
	}
	if f, n, err = r.frameAt(r.at.offset, end); err != nil || n > 0 {
		r.at.offset += n
		return f, n, err
	}
	for at := r.at.offset + 1; ; {
		b, err := r.bytes(at, readSize, end)
		if err != nil {
			return frame{}, 0, err
		}
		i := bytes.Index(b, []byte(magic))
		if i >= 0 {
			at += int64(i)
			if _, n, err := r.frameAt(at, end); err != nil || n > 0 {
				r.at.offset = at
				return frame{}, 0, err
			}
			at++
			continue
		}
		if at+int64(len(b)) >= end || len(b) < len(magic) {
			r.at.offset = end
			return frame{}, 0, nil
		}
		at += int64(len(b) - len(magic) + 1)
	}
}

// frameAt reads the frame at an offset. n is its length, or 0 if there is no valid frame.
func (r *reader) frameAt(offset, end int64) (f frame, n int64, err error) {
	b, err := r.bytes(offset, headerSize, end)
	if err != nil {
		return frame{}, 0, err
	}
	length, ok := dataLength(b)
	if !ok || offset+int64(headerSize+length) > end {
		return frame{}, 0, nil
	}
	if b, err = r.bytes(offset, headerSize+length, end); err != nil {
		return frame{}, 0, err
	}
	if f, ok = parse(b); !ok {
		return frame{}, 0, nil
	}
	return f, f.size(), nil
}

// Next returns the oldest batch that it has not returned since Open and whose outcome is Happened or Uncertain. It
// waits for such a batch until ctx ends.
func (l *Log) Next(ctx context.Context) (Entry, error) {
	for {
		f, grown, err := l.nextFrame()
		switch {
		case err != nil:
			return Entry{}, fmt.Errorf("read the history's outbox: %w", err)
		case grown != nil:
			if p := l.reader.pending; p != nil && p.end.segment <= l.foundSegment {
				return l.resolve(Uncertain), nil // the process that appended it has ended
			}
			if f, known := l.pendingOutcome(); known {
				if e, ok, err := l.processFrame(f); err != nil || ok {
					return e, err
				}
				continue
			}
			l.freeIdle()
			select {
			case <-grown:
			case <-ctx.Done():
				return Entry{}, ctx.Err()
			}
			continue
		}
		if e, ok, err := l.processFrame(f); err != nil || ok {
			return e, err
		}
	}
}

// processFrame processes the next frame, and returns the batch whose outcome the frame decides. ok is false if there is
// none, or if its commit never happened.
func (l *Log) processFrame(f frame) (e Entry, ok bool, err error) {
	p := l.reader.pending
	sameTerm := p != nil && p.Term == f.term
	switch f.kind {
	case gap:
		if p != nil {
			return l.resolve(Uncertain), true, nil
		}
	case batch, compressed:
		if p != nil {
			switch {
			case !sameTerm, f.number < p.Number: // numbers restart in a registry that has replaced another one
				e, ok = l.resolve(Uncertain), true
			case f.number > p.Number:
				e, ok = l.resolve(Happened), true
			}
		}
		data, err := l.codec.unpack(f)
		if err != nil { // the checksum is right, so the frame was written with such data
			l.recordDamage(segmentName(l.reader.at.segment), l.reader.at.offset-f.size(), f.size(), err.Error())
			l.recordLost(int64(f.rows))
			l.reader.pending = nil
			return e, ok, nil
		}
		end := l.reader.at
		end.total = f.total
		l.reader.pending = &Entry{Key: Key{f.term, f.number}, Rows: f.rows, Time: time.UnixMilli(f.time), Data: data,
			end: end}
	case happened:
		if sameTerm && f.number >= p.Number {
			return l.resolve(Happened), true, nil
		}
	case never:
		if sameTerm && f.number == p.Number {
			l.reader.pending = nil
		}
	case unknown:
		if sameTerm && f.number == p.Number {
			return l.resolve(Uncertain), true, nil
		}
	}
	return e, ok, nil
}

// resolve returns the pending batch with its outcome.
func (l *Log) resolve(o Outcome) Entry {
	e := *l.reader.pending
	e.Outcome = o
	l.reader.pending, l.reader.delivered = nil, e.end.total
	return e
}

// pendingOutcome returns the outcome of the pending batch if the writer knows it but the disk can't store it. The
// reader must not wait for the disk to recover, because only entries that it has read can be freed.
func (l *Log) pendingOutcome() (frame, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.reader.pending
	if l.outcome == nil || p == nil || p.Key != (Key{l.outcome.term, l.outcome.number}) {
		return frame{}, false
	}
	return *l.outcome, true
}

// freeIdle is called at the end of the log. If all batches that Next has returned are done, only skipped frames and
// batches whose commits never happened are left. It marks these as done, too, and removes all segments but the one
// being written, so that a full disk gets space.
func (l *Log) freeIdle() {
	l.mu.Lock()
	var free []segment
	s, isLast, ok := l.segmentAt(l.reader.at.segment)
	atEnd := !ok || isLast && l.reader.at.offset >= s.size
	allDone := l.reader.pending == nil && l.done.total == l.reader.delivered
	if atEnd && allDone {
		l.done.total, l.reader.delivered = l.total, l.total
		n := len(l.segments)
		if n > 0 && l.segments[n-1].id == l.active {
			n--
		}
		free = l.release(n)
	}
	l.mu.Unlock()
	if err := l.remove(free); err != nil {
		l.opt.Logger.Warn("history outbox: stored segments not removed", "error", err)
	}
}

// release drops the first segments from the list. The caller holds mu.
func (l *Log) release(n int) []segment {
	free := slices.Clone(l.segments[:n])
	for _, s := range free {
		l.bytes -= s.size
	}
	l.segments = l.segments[n:]
	return free
}

func (l *Log) remove(free []segment) error {
	var errs []error
	for _, s := range free {
		if r := &l.reader; r.file != nil && r.id == s.id { // the disk frees the space only when the file is closed
			errs = append(errs, r.file.Close())
			r.file = nil
		}
		errs = append(errs, l.fs.Remove(segmentName(s.id)))
	}
	return errors.Join(errs...)
}

// maxFailures is the number of consecutive failed reads of a segment after which the rest of it is skipped.
const maxFailures = 5

// nextFrame reads the next frame, or returns a gap where frames are missing. At the end of the log it returns a channel
// that is closed when there is more to read.
func (l *Log) nextFrame() (frame, <-chan struct{}, error) {
	r := &l.reader
	for {
		l.mu.Lock()
		s, isLast, ok := l.segmentAt(r.at.segment)
		grown, total := l.grown, l.total
		l.mu.Unlock()
		if ok && s.id != r.at.segment {
			if r.at = (position{segment: s.id}); s.id > 1 { // before segment 1 there is none
				r.total = -1 // missing segments may have been done and removed
			}
			return frame{kind: gap}, nil, nil
		}
		if !ok || r.at.offset >= s.size {
			if isLast {
				l.readUpTo(total, total)
				return frame{}, grown, nil
			}
			r.at = position{segment: s.id + 1}
			continue
		}
		before := r.at.offset
		err := r.open(l.fs, s.id)
		var f frame
		var n int64
		if err == nil {
			f, n, err = r.next(s.size)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			if isShortage(err) {
				return frame{}, nil, err
			}
			if r.failures++; r.failures < maxFailures {
				return frame{}, nil, err
			}
			l.recordDamage(segmentName(s.id), before, s.size-before, err.Error())
			r.at.offset, r.failures = s.size, 0
			return frame{kind: gap}, nil, nil
		}
		r.failures = 0
		if n > 0 {
			l.readUpTo(f.total-int64(f.rows), f.total)
			return f, nil, nil
		}
		l.recordDamage(segmentName(s.id), before, r.at.offset-before, "no frame with a valid checksum")
		return frame{kind: gap}, nil, nil
	}
}

// isShortage reports whether an error says nothing about the file: the process or the machine has no descriptor or no
// memory left.
func isShortage(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// readUpTo counts the rows between the last readable frame and the next one as lost. before and total are the numbers
// of rows that were appended before the next frame and including it.
func (l *Log) readUpTo(before, total int64) {
	if r := &l.reader; r.total >= 0 {
		l.recordLost(before - r.total)
	}
	l.reader.total = total
}

// Done records that this entry and all earlier ones are in the database or set aside. Next does not return them again,
// and Done removes the segments that have no other entries.
func (l *Log) Done(e Entry) error {
	l.mu.Lock()
	n := 0
	for n < len(l.segments) && l.segments[n].id < e.end.segment {
		n++
	}
	free := l.release(n)
	l.done = e.end
	l.mu.Unlock()
	if err := errors.Join(l.writePosition(e.end), l.remove(free)); err != nil {
		return fmt.Errorf("free stored rows of the history's outbox: %w", err)
	}
	return nil
}

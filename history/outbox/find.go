package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

func segmentName(id int64) string { return fmt.Sprintf("%016d.log", id) }

const positionName = "position"

// load finds the files of an earlier process: the segments, the position, and the batches that are set aside.
func (l *Log) load() error {
	names, err := l.fs.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := l.loadFile(name); err != nil {
			return err
		}
	}
	slices.SortFunc(l.segments, func(a, b segment) int { return int(a.id - b.id) })
	slices.SortFunc(l.aside, func(a, b Key) int { return int(a.Term - b.Term) })
	found, err := l.readPosition()
	if err != nil {
		return err
	}
	if n := len(l.segments); n > 0 {
		l.writer.id = l.segments[n-1].id
	}
	l.writer.id = max(l.writer.id, l.done.segment)
	l.foundSegment = l.writer.id
	if err := l.truncateEnd(); err != nil {
		return err
	}
	if !found {
		if err := l.resetDone(); err != nil {
			return err
		}
		_ = l.writePosition(l.done) // creates the file before the disk may be full
	}
	l.reader.at, l.reader.delivered, l.reader.total = l.done, l.done.total, l.done.total
	l.total = max(l.total, l.done.total)
	return nil
}

// size returns the size of a file.
func (l *Log) size(name string) (int64, error) {
	f, err := l.fs.Open(name, 0)
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	return size, errors.Join(err, f.Close())
}

func (l *Log) loadFile(name string) error {
	var id int64
	if _, err := fmt.Sscanf(name, "%d.log", &id); err == nil && name == segmentName(id) {
		size, err := l.size(name)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, segment{id, size})
		l.bytes += size
		return nil
	}
	if strings.HasSuffix(name, temporary) {
		return l.fs.Remove(name)
	}
	return l.loadAside(name)
}

// truncateEnd cuts off the end of the last segment if a crash has left it half-written. It reads from the last frame
// how many rows were appended in total.
func (l *Log) truncateEnd() error {
	for i := len(l.segments) - 1; i >= 0; i-- {
		s := &l.segments[i]
		end, _, total, err := l.scan(*s)
		if err != nil {
			return err
		}
		if end < s.size && i == len(l.segments)-1 {
			l.opt.Logger.Warn("history outbox: incomplete end of the last file dropped; confirmed rows are before it",
				"file", segmentName(s.id), "offset", end, "bytes", s.size-end)
			if err := l.cut(s.id, end); err != nil {
				return err
			}
			l.bytes -= s.size - end
			s.size = end
		}
		if end > 0 {
			l.total = total
			break
		}
		// The segment has no frame: a crash came before its first frame was on disk. The frame before it counts.
	}
	return nil
}

// scan returns the end of the last whole frame of a segment, and the totals of rows before its first and after its last
// whole frame. They are all 0 if the segment has no whole frame.
func (l *Log) scan(s segment) (end, before, total int64, err error) {
	r := reader{at: position{segment: s.id}}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(l.fs, s.id); err != nil {
		return 0, 0, 0, err
	}
	for {
		f, n, err := r.next(s.size)
		if errors.Is(err, io.EOF) {
			return end, before, total, nil
		}
		if err != nil {
			return 0, 0, 0, err
		}
		if n > 0 {
			if end == 0 {
				before = f.total - int64(f.rows)
			}
			end, total = r.at.offset, f.total
		}
	}
}

func (l *Log) cut(id, size int64) error {
	f, err := l.fs.Open(segmentName(id), 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// resetDone treats all entries as not done. Rows before the first whole frame do not count as lost, because their
// number is unknown.
func (l *Log) resetDone() error {
	for i, s := range l.segments {
		if i == 0 {
			l.done = position{segment: s.id, total: l.total}
		}
		end, before, _, err := l.scan(s)
		if err != nil {
			return err
		}
		if end > 0 {
			l.done.total = before
			break
		}
	}
	return nil
}

// The position file contains segment, offset, total and a checksum.
const positionSize = 3*8 + 4

// readPosition reads the position up to which everything is done. It returns false if the position is unknown;
// everything is then read again.
func (l *Log) readPosition() (found bool, err error) {
	f, err := l.fs.Open(positionName, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := make([]byte, positionSize)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s: %w", positionName, err)
	}
	if crc32.Checksum(b[:positionSize-4], castagnoli) != binary.LittleEndian.Uint32(b[positionSize-4:]) {
		if len(l.segments) > 0 {
			l.opt.Logger.Warn("history outbox: position not readable; its rows are written to the database again, which changes nothing there")
		}
		return false, nil
	}
	number := func(offset int) int64 { return int64(binary.LittleEndian.Uint64(b[offset:])) }
	l.done = position{number(0), number(8), number(16)}
	return true, nil
}

// writePosition writes the position up to which everything is done. It does not sync the file; the package comment says
// why.
func (l *Log) writePosition(p position) error {
	b := make([]byte, 0, positionSize)
	for _, n := range []int64{p.segment, p.offset, p.total} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if l.reader.position == nil {
		f, err := l.fs.Open(positionName, os.O_CREATE)
		if err != nil {
			return err
		}
		l.reader.position = f
	}
	_, err := l.reader.position.WriteAt(b, 0)
	return err
}

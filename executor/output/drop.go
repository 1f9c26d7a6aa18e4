package output

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// dropUnit is a multiple of every file system's block size. Only whole blocks can be given back.
const dropUnit = 64 << 10

// dropBeginning gives the blocks at the beginning of a file back to the file system and writes a note about that into
// the first block. At least the last limit bytes are left. The file keeps its size, so processes and readers continue
// at the same offsets, and output that is written at the same time is not lost. dropBeginning returns the offset at
// which the rest begins; unless lines are very long, a line begins there. If the file system can't make holes, the
// whole file is dropped.
func dropBeginning(f *os.File, limit int64) (begin int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	begin = max(end-limit, 0)
	// The part before a hole that the process has made is dropped too, which bounds the number of parts.
	if last, err := endOf(f, limit); err == nil && len(last) > 0 {
		begin = max(begin, last[len(last)-1].from)
	} else if err == nil {
		begin = end
	}
	begin, from := lineBefore(f, begin)
	if from > 0 { // first the note, so that no reader sees the hole without it
		if _, err = f.WriteAt(wire.DroppedNote(begin), 0); err == nil {
			err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, wire.DroppedNoteRoom,
				from-wire.DroppedNoteRoom)
		}
	}
	// Only truncation, even to the same size, gives back blocks that the process has allocated behind the end.
	if info, statErr := f.Stat(); err == nil && statErr == nil {
		expected := info.Size() - from + wire.DroppedNoteRoom
		if diskSize(info) > expected+2*allocatedAhead {
			err = f.Truncate(info.Size())
		}
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		note := fmt.Sprintf("[elasticjob: %d bytes of output before this line were dropped]\n", end)
		begin, err = 0, f.Truncate(0)
		_, noteErr := unix.Pwritev2(int(f.Fd()), [][]byte{[]byte(note)}, 0, unix.RWF_APPEND)
		err = errors.Join(err, noteErr)
	}
	if err != nil {
		return begin, fmt.Errorf("drop the beginning of an output: %w", err)
	}
	return begin, nil
}

// lineBefore returns the beginning of the line that contains an offset, and the end of the whole units before that
// line. If the line begins more than longest bytes earlier, both are the end of the units before the offset.
func lineBefore(f *os.File, offset int64) (begin, unit int64) {
	const longest = 16 << 10
	before := make([]byte, min(longest, offset))
	n, _ := f.ReadAt(before, offset-int64(len(before)))
	if i := bytes.LastIndexByte(before[:n], '\n'); i >= 0 {
		begin = offset - int64(len(before)) + int64(i) + 1
		return begin, begin - begin%dropUnit
	}
	begin = offset - offset%dropUnit
	return begin, begin
}

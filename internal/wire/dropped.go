package wire

import (
	"bytes"
	"strconv"
)

// The note at the beginning of an output file whose first bytes were dropped.
const (
	notePrefix = "[elasticjob: the first "
	noteSuffix = " bytes of this output were dropped]\n"
)

const (
	// DroppedNoteBytes is the number of bytes at the beginning of an output file that contain the whole note.
	DroppedNoteBytes = 100
	// DroppedNoteRoom is the offset at which the hole begins. It is the size of a block of the file system, whose first
	// bytes the note replaces.
	DroppedNoteRoom = 4096
)

// DroppedNote returns the note that replaces the beginning of an output file whose first bytes were dropped. From
// DroppedNoteRoom on, the file has a hole up to the offset dropped, where the rest of the output begins.
func DroppedNote(dropped int64) []byte {
	return []byte(notePrefix + strconv.FormatInt(dropped, 10) + noteSuffix)
}

// Dropped returns the number of dropped bytes that the note at the beginning of an output file gives, or 0 without a
// note.
func Dropped(beginning []byte) int64 {
	rest, ok := bytes.CutPrefix(beginning, []byte(notePrefix))
	if !ok {
		return 0
	}
	number, _, ok := bytes.Cut(rest, []byte(noteSuffix))
	dropped, err := strconv.ParseInt(string(number), 10, 64)
	if !ok || err != nil || dropped < 0 {
		return 0
	}
	return dropped
}

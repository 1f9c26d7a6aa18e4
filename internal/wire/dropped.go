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
	// DroppedNoteBytes is the length of the beginning of an output file that has the whole note.
	DroppedNoteBytes = 100
	// DroppedNoteRoom is the offset at which the hole begins: a block of the file system, of which the note replaces the
	// first bytes.
	DroppedNoteRoom = 4096
)

// DroppedNote returns what replaces the beginning of an output file whose first bytes were dropped. Behind it, from
// DroppedNoteRoom on, the file has a hole up to the offset dropped, where the rest of the output begins.
func DroppedNote(dropped int64) []byte {
	return []byte(notePrefix + strconv.FormatInt(dropped, 10) + noteSuffix)
}

// Dropped returns how many bytes were dropped, by the beginning of an output file; 0 if none were.
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

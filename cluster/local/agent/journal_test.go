package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestJournalHasRoom: a journal's blocks are allocated ahead, so a full disk does not prevent the recording of an
// update.
func TestJournalHasRoom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.journal")
	update := record{Kind: recAcked, UUID: bytes.Repeat([]byte("x"), 100_000)}
	j, err := createJournal(path, record{Kind: recRun})
	if err != nil {
		t.Fatal(err)
	}
	hasRoom := func(when string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if ahead := info.Sys().(*syscall.Stat_t).Blocks*512 - j.size; info.Size() != j.size ||
			ahead < preallocateStep/2 {
			t.Errorf("%s: %d bytes, of which %d are written, and room for %d more, want %d", when, info.Size(), j.size,
				ahead, preallocateStep/2)
		}
	}
	hasRoom("new")
	for range 20 {
		if err := j.append(update); err != nil {
			t.Fatal(err)
		}
		hasRoom("grown")
	}
	if err := j.replace([]record{{Kind: recRun}, update}); err != nil {
		t.Fatal(err)
	}
	hasRoom("rewritten")
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	opened, records, err := openJournal(path)
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	j = opened
	hasRoom("opened again")
	if err := j.remove(); err != nil {
		t.Fatal(err)
	}
}

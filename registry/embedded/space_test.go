package embedded

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/elasticjob-go/elasticjob/registry"
)

// TestSpaceIsReserved checks that blocks are allocated before they are needed, so that a disk that fills up stops no
// commit.
func TestSpaceIsReserved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	term, err := r.Campaign(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ahead := func() int64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := r.db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		return info.Sys().(*syscall.Stat_t).Blocks*512 - tx.Size()
	}
	if got := ahead(); got < reserveStep/2 {
		t.Errorf("a new file has space for %d bytes more, want %d", got, reserveStep/2)
	}
	for i := range 15 {
		if err := term.Commit(t.Context(),
			[]registry.Write{{Path: fmt.Sprintf("/a%d", i), Value: bytes.Repeat([]byte("x"), 900_000)}}); err != nil {
			t.Fatal(err)
		}
		if got := ahead(); got < reserveStep/2 {
			t.Errorf("after %d large commits there is space for %d bytes more, want %d", i+1, got, reserveStep/2)
		}
	}
}

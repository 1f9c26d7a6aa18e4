package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/registry"
)

// breakDisk replaces the registry's file by /dev/full, so that every write fails with "no space left on device".
func breakDisk(t *testing.T, r *Registry) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err != nil || target != r.path {
			continue
		}
		var number int
		for _, digit := range fd.Name() {
			number = number*10 + int(digit-'0')
		}
		if err := unix.Dup3(int(full.Fd()), number, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s is not open", r.path)
}

func TestFailedWriteEndsTheTerm(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	term, err := r.Campaign(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := term.Commit(t.Context(), []registry.Write{{Path: "/a", Value: []byte("kept")}}); err != nil {
		t.Fatal(err)
	}
	breakDisk(t, r)
	err = term.Commit(t.Context(), []registry.Write{{Path: "/a", Value: []byte("lost")}})
	if !errors.Is(err, registry.ErrTermEnded) || !errors.Is(err, unix.ENOSPC) ||
		errors.Is(err, registry.ErrOutcomeUnknown) {
		t.Fatalf("commit to a full disk: got %v, want %v with %v and a known outcome", err, registry.ErrTermEnded,
			unix.ENOSPC)
	}
	<-term.Done()
	if !errors.Is(term.Err(), registry.ErrTermEnded) {
		t.Errorf("the term ended with %v", term.Err())
	}
	if err := term.Commit(t.Context(), nil); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("a second commit: got %v, want %v", err, registry.ErrTermEnded)
	}
	if _, err := r.Campaign(t.Context(), ""); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a new term: got %v, want %v", err, unix.ENOSPC)
	}
	_ = r.Close()

	if r, err = Open(path, nil); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if term, err = r.Campaign(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if e, err := term.Get(t.Context(), "/a"); err != nil || string(e.Value) != "kept" {
		t.Errorf("after it: %q, %v", e.Value, err)
	}
}

// TestOutcomeOfACommitThatShows checks that a commit that was answered by an error but is visible in the file has an
// unknown outcome.
func TestOutcomeOfACommitThatShows(t *testing.T) {
	t.Parallel()
	r, err := Open(filepath.Join(t.TempDir(), "registry.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := r.Campaign(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := begun.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[int64]bool{1: true, 2: false} {
		if got := begun.(*term).mayBeCommitted(commit); got != want {
			t.Errorf("commit %d may show: %v, want %v", commit, got, want)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if !begun.(*term).mayBeCommitted(2) {
		t.Error("the commit is ruled out although the file can't be read")
	}
}

// TestFenceIsInTheFile checks that a second commit of a term is refused if its number is not the one in the file (rule
// T2).
func TestFenceIsInTheFile(t *testing.T) {
	t.Parallel()
	r, err := Open(filepath.Join(t.TempDir(), "registry.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	begun, err := r.Campaign(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	copied := &term{registry: r, number: begun.Number(), done: make(chan struct{})}
	if err := begun.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := copied.Commit(t.Context(), []registry.Write{{Path: "/a"}}); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("a commit with an old number: got %v, want %v", err, registry.ErrTermEnded)
	}
	if _, err := begun.Get(t.Context(), "/a"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("it wrote: %v", err)
	}
}

package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/registry"
)

// filled returns a registry with n entries, and the path of its file.
func filled(t *testing.T, n int) (*Registry, registry.Term, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "registry.db")
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	term, err := r.Campaign(t.Context(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	var writes []registry.Write
	for i := range n {
		writes = append(writes, registry.Write{Path: fmt.Sprintf("/config/job/%05d", i),
			Value: bytes.Repeat([]byte{'x'}, 100)})
	}
	if err := term.Commit(t.Context(), writes); err != nil {
		t.Fatal(err)
	}
	return r, term, path
}

// lose lists ways in which a registry in use loses its file.
var lose = map[string]func(*testing.T, string){
	"removed": func(t *testing.T, path string) { must(t, os.Remove(path)) },
	"replaced": func(t *testing.T, path string) {
		content, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path+".copy", content, 0o600))
		must(t, os.Rename(path+".copy", path))
	},
	"emptied":  func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) },
	"cut":      func(t *testing.T, path string) { must(t, os.Truncate(path, 3*4096)) },
	"cut late": func(t *testing.T, path string) { must(t, os.Truncate(path, 100*4096)) },
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostFileTakesNoCommit checks that a removed or truncated file accepts no commit, although the kernel would
// accept the writes: an acknowledged commit must exist after a restart.
func TestLostFileTakesNoCommit(t *testing.T) {
	t.Parallel()
	for name, how := range lose {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, term, path := filled(t, 3000)
			how(t, path)
			err := term.Commit(t.Context(), []registry.Write{{Path: "/config/job/new", Value: []byte("x")}})
			if !errors.Is(err, ErrFileLost) || !errors.Is(err, registry.ErrUnusable) ||
				!errors.Is(err, registry.ErrTermEnded) || errors.Is(err, registry.ErrOutcomeUnknown) {
				t.Errorf("a commit: %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), "stop this server") ||
				!strings.Contains(err.Error(), path)) {
				t.Errorf("it does not say what to do: %v", err)
			}
			<-term.Done()
			if _, err := r.Campaign(t.Context(), ""); !errors.Is(err, ErrFileLost) {
				t.Errorf("a new term: %v", err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// TestLossIsNoticedBetweenCommits checks that the loss is also detected without a commit.
func TestLossIsNoticedBetweenCommits(t *testing.T) {
	t.Parallel()
	for name, how := range lose {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, term, path := filled(t, 3000)
			r.goroutines.Go(func() { r.watch(time.Millisecond) })
			how(t, path)
			select {
			case <-term.Done():
			case <-time.After(20 * time.Second):
				t.Fatal("the term goes on")
			}
			if err := term.Err(); !errors.Is(err, ErrFileLost) || !errors.Is(err, registry.ErrTermEnded) {
				t.Errorf("the term ended with %v", err)
			}
		})
	}
}

// TestRemovedFileIsSaved checks that the content of a removed file is saved, as the message says.
func TestRemovedFileIsSaved(t *testing.T) {
	t.Parallel()
	r, term, path := filled(t, 100)
	must(t, os.Remove(path))
	if err := term.Commit(t.Context(), nil); !strings.Contains(fmt.Sprint(err), "move "+path+".saved to "+path) {
		t.Fatalf("it says %v", err)
	}
	must(t, r.Close())
	if _, err := Open(path, nil); !errors.Is(err, registry.ErrUnusable) ||
		!strings.Contains(err.Error(), "is not there, though") {
		t.Fatalf("opened where a file is missing: %v", err)
	}
	must(t, os.Rename(path+".saved", path))
	saved, err := Open(path, nil)
	must(t, err)
	defer saved.Close()
	next, err := saved.Campaign(t.Context(), "")
	must(t, err)
	if found, err := next.List(t.Context(), "/config"); err != nil || len(found) != 100 {
		t.Errorf("%d entries are back, want 100 (%v)", len(found), err)
	}
}

// TestEmptyFileIsNewOnlyOnce checks that an empty file counts as new only if there was no registry before.
func TestEmptyFileIsNewOnlyOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	must(t, os.WriteFile(path, nil, 0o600)) // left by a first start that was killed early
	r, err := Open(path, nil)
	must(t, err)
	must(t, r.Close())
	must(t, os.Truncate(path, 0))
	must(t, os.WriteFile(holderPath(path), []byte("{}"), 0o600)) // left by kill -9
	if _, err := Open(path, nil); !errors.Is(err, registry.ErrUnusable) ||
		!strings.Contains(err.Error(), "the file is empty, though") {
		t.Errorf("an emptied file: %v", err)
	}
}

// TestDamagedPagesAreReported checks that damaged pages are reported in a sentence, at the latest when they are used,
// and do not end the process.
func TestDamagedPagesAreReported(t *testing.T) {
	t.Parallel()
	r, _, path := filled(t, 3000)
	must(t, r.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	used := bytes.TrimRight(whole, "\x00")
	reported := 0
	const tries = 100
	for i := range tries {
		content := bytes.Clone(used)
		at := random.IntN(len(content)/4096)*4096 + random.IntN(64) // in the header of a page
		if i%4 == 0 {
			at = random.IntN(len(content))
		}
		content[at] ^= 1 << random.IntN(8)
		must(t, os.WriteFile(path, content, 0o600))
		must(t, os.Truncate(path, int64(len(whole))))
		if err := useAll(t, path); err != nil {
			reported++
			if text := err.Error(); strings.Contains(text, "goroutine") ||
				!strings.Contains(text, "bring back a copy") {
				t.Errorf("seed %d, byte %d: %v", seed, at, err)
			}
		}
	}
	if reported < tries/10 {
		t.Errorf("seed %d: only %d of %d were noticed", seed, reported, tries)
	}
}

// TestDamagedBranchesAreReported checks that a branch whose first key is greater than the keys below it does not end
// the process either, although bbolt detects it on a separate goroutine.
func TestDamagedBranchesAreReported(t *testing.T) {
	t.Parallel()
	r, _, path := filled(t, 3000)
	must(t, r.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	damagedBranches := 0
	for page := 2 * 4096; page+4096 <= len(whole); page += 4096 {
		header := whole[page : page+16]
		if native.Uint64(header) != uint64(page/4096) || native.Uint16(header[8:]) != branchPage {
			continue
		}
		content := bytes.Clone(whole)
		first := content[page+16:]
		key := first[native.Uint32(first):][:native.Uint32(first[4:])]
		key[0] |= 0x80
		must(t, os.WriteFile(path, content, 0o600))
		if err := useAll(t, path); err != nil {
			damagedBranches++
			if text := err.Error(); strings.Contains(text, "goroutine") ||
				!strings.Contains(text, "bring back a copy") {
				t.Errorf("page %d: %v", page/4096, err)
			}
		}
	}
	if damagedBranches == 0 {
		t.Error("no branch in use was damaged")
	}
}

// useAll opens, reads and writes the registry.
func useAll(t *testing.T, path string) error {
	r, err := Open(path, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	term, err := r.Campaign(t.Context(), "")
	if err != nil {
		return err
	}
	if _, err := term.List(t.Context(), "/"); err != nil {
		return err
	}
	for i := range 20 {
		err := term.Commit(t.Context(), []registry.Write{{Path: fmt.Sprintf("/config/job/%05d", i*150), Delete: true}})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestPagesThatGoAwayWhileInUse checks that pages that become damaged or disappear while in use cause an error for the
// reader, and end the term.
func TestPagesThatGoAwayWhileInUse(t *testing.T) {
	t.Parallel()
	r, term, path := filled(t, 3000)
	r.mu.Lock() // the file is not checked meanwhile
	must(t, os.Truncate(path, 8192))
	read := make(chan error, 1)
	go func() {
		_, err := term.List(t.Context(), "/")
		read <- err
	}()
	time.AfterFunc(100*time.Millisecond, r.mu.Unlock)
	if err := <-read; !errors.Is(err, registry.ErrUnusable) {
		t.Errorf("a read of pages that are gone: %v", err)
	}
	<-term.Done()
	if err := term.Commit(t.Context(), nil); !errors.Is(err, registry.ErrTermEnded) {
		t.Errorf("a commit after that: %v", err)
	}
	must(t, r.Close())
}

// TestSharedValueOfALostFile checks that the value stays readable while this process runs, and that a write fails.
func TestSharedValueOfALostFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	r, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // it reports that the file is lost
	if _, err := r.WriteShared(t.Context(), "access", []byte("before"), registry.Absent()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteShared(t.Context(), "access", []byte("after"), registry.AtVersion(0)); !errors.Is(err,
		ErrFileLost) || errors.Is(err, registry.ErrOutcomeUnknown) {
		t.Errorf("write: %v", err)
	}
	if e, err := r.ReadShared(t.Context(), "access"); err != nil || string(e.Value) != "before" {
		t.Errorf("read: %s, %v", e.Value, err)
	}
}
